//go:build slow

package api

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// violations is the header in which Prism lists what contradicts the document.
	violations = "Sl-Violations"
	// spoiling is the header with which a test asks the upstream for its last answer, made wrong in one way.
	spoiling = "Spoil"
)

// violation is one contradiction between an exchange and the document.
type violation struct {
	// Location begins with "request" or "response".
	Location []string `json:"location"`
	Message  string   `json:"message"`
}

func (v violation) in(part string) bool { return len(v.Location) > 0 && v.Location[0] == part }

// TestOpenAPIByPrism sends the exercises through Prism, which compares requests and answers with the document.
func TestOpenAPIByPrism(t *testing.T) {
	t.Parallel()
	agreed, err := fixture.LoadContract()
	if err != nil {
		t.Fatal(err)
	}
	s := setupExternal(t)
	prism := startPrism(t, s.Address)
	limits := prismLimits()
	for _, e := range s.exercises(t) {
		id := s.operationOf(t, agreed, e.call).OperationID
		where := id + ": " + e.call.Method + " " + e.call.Path
		got, found := prism.send(t, e.call)
		if got.Status != e.status {
			t.Errorf("%s: status = %d, want %d; body %s", where, got.Status, e.status, got.Body)
			continue
		}
		mediaType := got.Header.Get("Content-Type")
		inRequest := limit{id, "request", e.call.Header.Get("Content-Type")}
		inResponse := limit{id, "response", mediaType}
		for _, v := range found {
			switch {
			case v.in("response"):
				limits.excuse(t, inResponse, where, v)
			case e.status < http.StatusBadRequest:
				limits.excuse(t, inRequest, where, v)
			}
		}
		if e.status < http.StatusBadRequest {
			_, limited := limits[inResponse]
			prism.wantSpoiledFound(t, where, e.call, mediaType != "" && !limited)
		}
	}
	for l, reason := range limits {
		if reason != "" {
			t.Errorf("Prism finds nothing in %v any more; take the exception off (%s)", l, reason)
		}
	}
}

// limit is a part of an operation of which Prism reports violations that are its own.
type limit struct {
	operationID, part, mediaType string
}

// limits have the reason of each, and an empty one after it was met.
type limits map[limit]string

// prismLimits names what Prism cannot judge. Everything else has to be without a violation.
func prismLimits() limits {
	const (
		yaml  = "Prism reads YAML as text, which is not an object to it."
		sarif = "Prism holds application/sarif+json to the schema of application/json."
	)
	return limits{
		{"importWorkflow", "request", "application/yaml"}:      yaml,
		{"exportWorkflow", "response", "application/yaml"}:     yaml,
		{"readSchema", "response", "application/yaml"}:         yaml,
		{"listFindings", "response", "application/sarif+json"}: sarif,
	}
}

// excuse reports a violation unless it is of a known limit.
func (l limits) excuse(tb testing.TB, of limit, where string, found violation) {
	tb.Helper()
	if _, known := l[of]; !known {
		tb.Errorf("%s contradicts the document: %v (%v)", where, found, of)
		return
	}
	l[of] = ""
}

// prism is a running Prism in front of a service.
type prism struct {
	*stage
}

// startPrism starts Prism. Between it and the service is a proxy that makes answers wrong where a test asks for that.
func startPrism(tb testing.TB, service string) prism {
	tb.Helper()
	folder := setupNode(tb)
	upstream := httptest.NewServer(newSpoiler(service))
	tb.Cleanup(upstream.Close)
	// Node.js alone would refuse headers that the service has to refuse.
	args := append([]string{"--max-http-header-size=131072"},
		folder.tools.Program("prism", "proxy", "openapi.yaml", upstream.URL, "--port=0", "--cors=false")...)
	cmd := exec.CommandContext(tb.Context(), folder.tools.Node(), args...)
	cmd.Dir = string(folder.toolFolder)
	output, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start Prism: %v", err)
	}
	lines := bufio.NewScanner(output)
	var log strings.Builder
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if _, address, found := strings.Cut(lines.Text(), "listening on http://"); found {
			var rest sync.WaitGroup
			rest.Go(func() { _, _ = io.Copy(io.Discard, output) }) // Its log says what the header says.
			tb.Cleanup(func() {
				_ = cmd.Process.Kill() // It may have ended with the test.
				rest.Wait()
				_ = cmd.Wait() // It was killed.
			})
			proxied := &fixture.Stage{Address: strings.TrimSpace(address), Client: http.DefaultClient}
			return prism{&stage{proxied}}
		}
	}
	tb.Fatalf("Prism ended: %v\n%s", cmd.Wait(), log.String())
	return prism{}
}

// send makes a request and returns what contradicts the document.
func (p prism) send(tb testing.TB, c call) (answer, []violation) {
	tb.Helper()
	got, err := p.Send(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	text := got.Header.Get(violations)
	if text == "" {
		return got, nil
	}
	var found []violation
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		// Prism cuts a long list off.
		return got, []violation{{Location: []string{"response"}, Message: text}}
	}
	return got, found
}

// wantSpoiledFound makes sure that Prism compares the answer with the document: it has to find what is made wrong.
func (p prism) wantSpoiledFound(tb testing.TB, where string, c call, hasContent bool) {
	tb.Helper()
	ways := []string{"status"}
	if hasContent {
		ways = append(ways, "content")
	}
	for _, way := range ways {
		_, found := p.send(tb, c.With(spoiling, way))
		if !slices.ContainsFunc(found, func(v violation) bool { return v.in("response") }) {
			tb.Errorf("%s: Prism does not notice an answer with another %s", where, way)
		}
	}
}

// spoiler passes requests on to the service and keeps the last answer. It repeats that, made wrong, where a request
// has the header for it.
type spoiler struct {
	proxy *httputil.ReverseProxy
	last  *httptest.ResponseRecorder
}

func newSpoiler(service string) *spoiler {
	return &spoiler{proxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: service})}
}

func (s *spoiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	way := r.Header.Get(spoiling)
	if way == "" {
		s.last = httptest.NewRecorder()
		// What is spoiled has to be plain.
		r.Header.Del("Accept-Encoding")
		s.proxy.ServeHTTP(s.last, r)
	}
	status, header, body := s.last.Code, s.last.Header().Clone(), s.last.Body.Bytes()
	header.Del("Content-Length")
	switch mediaType := header.Get("Content-Type"); {
	case way == "status":
		const unused = 299
		status = unused
	case way == "content" && (mediaType == "application/json" || mediaType == core.ProblemType):
		body = []byte("{}")
	case way == "content":
		header.Set("Content-Type", "text/spoiled")
	}
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	_, _ = w.Write(body) // Prism says what it has got.
}
