package config_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/tracing"
)

// receiver takes spans as an OpenTelemetry collector does.
type receiver struct {
	address string

	mu    sync.Mutex
	spans []*trace.Span
}

func startReceiver(tb testing.TB) *receiver {
	tb.Helper()
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		raw, err := io.ReadAll(request.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(raw, &sent)
		}
		if err != nil || request.URL.Path != "/v1/traces" {
			tb.Errorf("spans at %s: %v", request.URL.Path, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
	}))
	tb.Cleanup(server.Close)
	r.address = server.URL
	return r
}

// ofClient returns the spans of the client's trace by name.
func (r *receiver) ofClient(tb testing.TB, s *stage) map[string]*trace.Span {
	tb.Helper()
	if err := s.Project.FlushTraces(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	found := make(map[string]*trace.Span)
	for _, span := range r.spans {
		if hex.EncodeToString(span.GetTraceId()) == clientTrace {
			found[span.GetName()] = span
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
		got, want := spans[name].GetParentSpanId(), spans[parent].GetSpanId()
		if len(want) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%s is below %x, want %s, %x", name, got, parent, want)
		}
	}
	if got := hex.EncodeToString(spans[request].GetParentSpanId()); got != clientSpan {
		t.Errorf("the request is below %s, want the client's span", got)
	}
	waited := time.Duration(spans["run.queue"].GetEndTimeUnixNano() - spans["run.queue"].GetStartTimeUnixNano())
	if waited < time.Hour || waited > 2*time.Hour {
		t.Errorf("run.queue takes %s, want the hour for which the run has waited", waited)
	}
	if links := spans["start.commit"].GetLinks(); len(links) != 1 ||
		!bytes.Equal(links[0].GetSpanId(), spans["start"].GetSpanId()) {
		t.Errorf("links of the commit = %v, want the start", links)
	}
	want := tracing.Origin{
		Traceparent: "00-" + clientTrace + "-" + hex.EncodeToString(spans["validator.call"].GetSpanId()) + "-01",
		Tracestate:  "one=1,two@three=4",
	}
	if got := called(); got != want {
		t.Errorf("trace context that the validator got = %v, want %v", got, want)
	}
	if got := spans["run.execute"].GetTraceState(); got != want.Tracestate {
		t.Errorf("tracestate of run.execute = %q, want %q", got, want.Tracestate)
	}
	attributes := make(map[string]string)
	for _, attribute := range spans[request].GetAttributes() {
		attributes[attribute.GetKey()] = attribute.GetValue().GetStringValue()
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
	var spans map[string]*trace.Span
	dbtest.Eventually(t, func() bool { // The span of the execution ends after the run.
		spans = r.ofClient(t, s)
		return spans["run.execute"] != nil
	})
	if got := spans["run.step"].GetParentSpanId(); !bytes.Equal(got, spans["run.execute"].GetSpanId()) {
		t.Errorf("run.step is below %x, want run.execute", got)
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
	starts, linked := 0, make(map[string]int)
	for _, span := range r.spans {
		switch span.GetName() {
		case "start":
			starts++
		case "start.commit":
			for _, link := range span.GetLinks() {
				linked[string(link.GetTraceId())+string(link.GetSpanId())]++
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
	got := make(map[string]trace.Status_StatusCode)
	for name, span := range r.ofClient(t, s) {
		got[name] = span.GetStatus().GetCode()
	}
	want := map[string]trace.Status_StatusCode{
		"GET /api/runs/:id/": trace.Status_STATUS_CODE_UNSET, "GET /api/runs/": trace.Status_STATUS_CODE_ERROR,
	}
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
