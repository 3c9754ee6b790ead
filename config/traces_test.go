package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/tracing"
)

// receiver takes spans as an OpenTelemetry collector does, in JSON: TestMain asks for that.
type receiver struct {
	address string

	mu    sync.Mutex
	spans []span
}

// span is what a test needs of a span in OTLP/JSON.
type span struct {
	Name       string `json:"name"`
	TraceID    spanID `json:"traceId"`
	ID         spanID `json:"spanId"`
	Parent     spanID `json:"parentSpanId"`
	TraceState string `json:"traceState"`
	Begun      int64  `json:"startTimeUnixNano,string"`
	Ended      int64  `json:"endTimeUnixNano,string"`
	Attributes []struct {
		Key   string `json:"key"`
		Value struct {
			Text string `json:"stringValue"`
		} `json:"value"`
	} `json:"attributes"`
	Links []struct {
		TraceID spanID `json:"traceId"`
		ID      spanID `json:"spanId"`
	} `json:"links"`
	Status struct {
		Code int `json:"code"`
	} `json:"status"`
}

// spanID is an id in small letters, whose case OTLP/JSON leaves open.
type spanID string

func (id *spanID) UnmarshalText(text []byte) error {
	*id = spanID(bytes.ToLower(text))
	return nil
}

func startReceiver(tb testing.TB) *receiver {
	tb.Helper()
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var sent struct {
			Resources []struct {
				Scopes []struct {
					Spans []span `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		err := json.NewDecoder(request.Body).Decode(&sent)
		if err != nil || request.URL.Path != "/v1/traces" {
			tb.Errorf("spans at %s: %v", request.URL.Path, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, resource := range sent.Resources {
			for _, scope := range resource.Scopes {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}))
	tb.Cleanup(server.Close)
	r.address = server.URL
	return r
}

// ofClient returns the spans of the client's trace by name.
func (r *receiver) ofClient(tb testing.TB, s *stage) map[string]span {
	tb.Helper()
	if err := s.Project.FlushTraces(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	found := make(map[string]span)
	for _, span := range r.spans {
		if span.TraceID == clientTrace {
			found[span.Name] = span
		}
	}
	return found
}

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
)

// A trace leads from the client's span through the request, the commit, the queue and the steps to the validator.
func TestTraceOfARun(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	s, called := setupTraced(t, r)
	start := s.Start(t, "traced").To("/api/workflows/external/start/")
	s.Must(t, http.StatusCreated, start.With("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-01").
		With("Tracestate", "one=1,two@three=4"))
	s.Exec(t, "UPDATE validation_runs SET created_at = created_at - interval '1 hour'")
	s.Work(t)
	spans := r.ofClient(t, s)
	const request = "POST /api/workflows/:id/start/"
	for name, parent := range map[string]string{
		"start": request, "run.queue": "start", "run.execute": "start", "run.step": "run.execute",
		"validator.call": "run.step", "start.commit": "start",
	} {
		got, want := spans[name].Parent, spans[parent].ID
		if want == "" || got != want {
			t.Errorf("%s is below %q, want %s, %q", name, got, parent, want)
		}
	}
	if got := spans[request].Parent; got != clientSpan {
		t.Errorf("the request is below %s, want the client's span", got)
	}
	waited := time.Duration(spans["run.queue"].Ended - spans["run.queue"].Begun)
	if waited < time.Hour || waited > 2*time.Hour {
		t.Errorf("run.queue takes %s, want the hour for which the run has waited", waited)
	}
	if links := spans["start.commit"].Links; len(links) != 1 || links[0].ID != spans["start"].ID {
		t.Errorf("links of the commit = %v, want the start", links)
	}
	want := tracing.Origin{
		Traceparent: "00-" + clientTrace + "-" + string(spans["validator.call"].ID) + "-01",
		Tracestate:  "one=1,two@three=4",
	}
	if got := called(); got != want {
		t.Errorf("trace context that the validator got = %v, want %v", got, want)
	}
	if got := spans["run.execute"].TraceState; got != want.Tracestate {
		t.Errorf("tracestate of run.execute = %q, want %q", got, want.Tracestate)
	}
	attributes := make(map[string]string)
	for _, attribute := range spans[request].Attributes {
		attributes[attribute.Key] = attribute.Value.Text
	}
	if attributes["sv.org"] != s.Harbour.Slug || attributes["sv.outcome"] != "new" || attributes["sv.run"] == "" {
		t.Errorf("attributes of the request = %v, want who and what came of it", attributes)
	}
}

// Who does not sample a trace gets none of its spans recorded, in no process.
func TestCallersDecideAboutSampling(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	s, called := setupTraced(t, r)
	start := s.Start(t, "").To("/api/workflows/external/start/")
	s.Must(t, http.StatusCreated, start.With("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-00"))
	s.Work(t)
	if spans := r.ofClient(t, s); len(spans) > 0 {
		t.Errorf("spans = %v, want none", spans)
	}
	if got := called().Traceparent; !strings.HasPrefix(got, "00-"+clientTrace) || !strings.HasSuffix(got, "-00") {
		t.Errorf("traceparent that the validator got = %s, want the trace, not sampled", got)
	}
}

// A run that is executed where it was started is a part of the same trace.
func TestTraceOfALocalRun(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	s, _ := setupTraced(t, r)
	s.ExecutesLocally(t)
	start := s.Start(t, "").With("Prefer", "wait=60").With("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-01")
	s.Must(t, http.StatusCreated, start)
	var spans map[string]span
	dbtest.Eventually(t, func() bool { // The span of the execution ends after the run.
		spans = r.ofClient(t, s)
		return spans["run.execute"].ID != ""
	})
	if got := spans["run.step"].Parent; got != spans["run.execute"].ID {
		t.Errorf("run.step is below %q, want run.execute", got)
	}
}

// Starts that share a commit are linked from it.
func TestCommitsLinkTheirStarts(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	s, _ := setupTraced(t, r)
	const sampled = 16
	calls := make([]call, 2*sampled)
	for i := range calls {
		calls[i] = s.Start(t, "")
		if i >= sampled { // Whoever reads the trace could not follow a link to these.
			calls[i] = calls[i].With("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-00")
		}
	}
	s.Together(t, calls)
	r.ofClient(t, s)
	starts, linked := 0, make(map[spanID]int)
	for _, span := range r.spans {
		switch span.Name {
		case "start":
			starts++
		case "start.commit":
			for _, link := range span.Links {
				linked[link.TraceID+link.ID]++
			}
		}
	}
	if starts != sampled || len(linked) != sampled {
		t.Errorf("%d starts, %d of them linked, want %d", starts, len(linked), sampled)
	}
}

// Spans of requests that fail say so, and probes, which come all the time, have none.
func TestSpansOfFailuresAndProbes(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	s, _ := setupTraced(t, r)
	ask := func(path string) {
		s.Do(t, call{Path: path, Token: s.Harbour.Tokens.Viewer}.
			With("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-01"))
	}
	ask("/livez/")
	ask("/readyz/")
	ask("/api/runs/nowhere/")
	s.Exec(t, "ALTER TABLE validation_runs RENAME TO renamed")
	ask("/api/runs/")
	got := make(map[string]int)
	for name, span := range r.ofClient(t, s) {
		got[name] = span.Status.Code
	}
	const statusError = 2
	want := map[string]int{"GET /api/runs/:id/": 0, "GET /api/runs/": statusError}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans and their states (-want +got):\n%s", diff)
	}
}

// A tracestate that nobody may pass on does not hinder the start, and leaves the rest of the trace as it is.
func TestTracestateIsBounded(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	s, called := setupTraced(t, r)
	long := strings.Repeat("v", 200)
	for name, tt := range map[string]struct{ sent, want string }{
		"None":          {"", ""},
		"Invalid":       {"one=1,Two=2", ""},
		"TooMany":       {strings.Join(numbered(33), ","), ""},
		"LongOnesFirst": {"a=" + long + ",b=" + long + ",c=" + long + ",d=1", "a=" + long + ",b=" + long + ",d=1"},
		"TheEndThen":    {strings.Join(filled(8), ","), strings.Join(filled(5), ",")},
	} {
		start := s.Start(t, name).To("/api/workflows/external/start/").
			With("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-01").With("Tracestate", tt.sent)
		s.Must(t, http.StatusCreated, start)
		s.Work(t)
		got := called()
		if got.Tracestate != tt.want || !strings.HasPrefix(got.Traceparent, "00-"+clientTrace) {
			t.Errorf("%s: trace context that the validator got = %v, want the trace with %q", name, got, tt.want)
		}
	}
}

// numbered returns entries of a tracestate.
func numbered(n int) []string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf("key%d=1", i)
	}
	return entries
}

// filled returns entries of a hundred characters.
func filled(n int) []string {
	entries := numbered(n)
	for i := range entries {
		entries[i] += strings.Repeat("v", 100-len(entries[i]))
	}
	return entries
}

// setupTraced has a workflow with an external validator. The function returns the trace context of its last call.
func setupTraced(tb testing.TB, r *receiver) (*stage, func() tracing.Origin) {
	tb.Helper()
	s := fixture.Setup(tb, func(settings *config.Settings) {
		settings.OTLPEndpoint = r.address
		settings.ExternalAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	listener := httptest.NewUnstartedServer(nil)
	s.Must(tb, http.StatusCreated, call{
		Method: http.MethodPost, Path: "/api/workflows/", Token: s.Harbour.Tokens.Owner,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body: `{"slug":"external","name":"External","is_active":true,"definition":{"accepts":["text/csv"],"steps":[
			{"id":"check","name":"Check","type":"http","config":{"url":"http://` + listener.Listener.Addr().String() +
			`/roofs"}}]}}`,
	})
	secrets := fixture.Decoded[api.SigningSecrets](tb, s.Must(tb, http.StatusOK,
		call{Path: "/api/signing-secrets/", Token: s.Harbour.Tokens.Owner}))
	answer := outside.NewValidator(secrets.Validators[0].Secret)
	var mu sync.Mutex
	var got tracing.Origin
	listener.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		got = tracing.Origin{
			Traceparent: request.Header.Get("Traceparent"), Tracestate: request.Header.Get("Tracestate"),
		}
		mu.Unlock()
		answer.ServeHTTP(w, request)
	})
	listener.Start()
	tb.Cleanup(listener.Close)
	return s, func() tracing.Origin {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}
