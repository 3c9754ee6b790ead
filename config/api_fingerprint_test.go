package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestRetryIsRecognizedByItsMeaning(t *testing.T) {
	t.Parallel()
	s := setup(t)
	raw := s.start(t, "")
	building := raw.to("/api/workflows/building/start/")
	envelope := building.withBody("application/json", `{"content": {"a": 1, "b": "ä"}, "metadata": {"x": 1, "y": 2}}`)
	csv := raw.body
	parts := raw.withBody(form("one", `name="file"; filename="a.csv"`, "text/csv", csv, `name="name"`, "", "N"))
	for _, tt := range []struct {
		name         string
		first, again call
	}{
		{"SameBytes", raw, raw},
		{"CharsetOfUTF8", raw, raw.with("Content-Type", "TEXT/CSV; charset=UTF-8")},
		{"TracingHeaders", raw, raw.with("Traceparent", "00-1").with("Prefer", "respond-async").with("User-Agent",
			"x")},
		{"OtherQueryParameters", raw, raw.to(raw.path + "?trace=1")},
		{
			"MemberOrder", envelope,
			envelope.withBody("application/json", `{"metadata":{"y":2,"x":1},"content":{"b":"\u00e4","a":1}}`),
		},
		{
			"RawDocumentByStructure", building.withBody("application/json", `{"a":[1,2],"b":null}`),
			building.withBody("application/json", "{ \"b\": null,\n \"a\": [1, 2] }"),
		},
		{"Boundary", parts, parts.withBody(form("other-boundary", `name="file"; filename="a.csv"`, "text/csv", csv,
			`name="name"`, "", "N"))},
		{"OrderOfParts", parts, parts.withBody(form("one", `name="name"`, "", "N", `name="file"; filename="a.csv"`,
			"text/csv", csv))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := s.must(t, http.StatusCreated, tt.first.with("Idempotency-Key", tt.name))
			wantReplay(t, first, s.do(t, tt.again.with("Idempotency-Key", tt.name)))
		})
	}
}

func TestOtherRequestUnderAUsedKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.addVersion(t)
	raw := s.start(t, "")
	building := raw.to("/api/workflows/building/start/").withBody("application/json", `{"a": 1}`)
	for _, tt := range []struct {
		name         string
		first, other call
		differs      []string
	}{
		{"OtherWorkflow", building, building.to(raw.path), []string{"workflow"}},
		{"PinnedVersion", raw, raw.to(raw.path + "?version=2"), []string{"workflow"}},
		{"OtherVersion", raw.to(raw.path + "?version=1"), raw.to(raw.path + "?version=2"), []string{"workflow"}},
		{"OtherContent", raw, raw.withBody("text/csv", raw.body+"\n"), []string{"content"}},
		{"OtherNumberLiteral", building, building.withBody("application/json", `{"a": 1.0}`), []string{"content"}},
		{"OtherMediaType", raw, raw.with("Content-Type", "text/plain"), []string{"content"}},
		{"OtherForm", raw, raw.withBody(form("X", `name="file"`, "text/csv", raw.body)), []string{"content"}},
		{"OtherFilename", raw, raw.with("X-Filename", "b.csv"), []string{"options"}},
		{
			"OtherMetadata", building.withBody("application/json", `{"content":{},"metadata":{"a":1}}`),
			building.withBody("application/json", `{"content":{},"metadata":{"a":2}}`),
			[]string{"options"},
		},
		{
			"Everything", raw, raw.to("/api/workflows/building/start/").with("X-Filename", "b").
				withBody("application/json", "{}"), []string{"workflow", "content", "options"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := tt.first.with("Idempotency-Key", tt.name).with("Request-Id", "first-"+tt.name)
			run := s.started(t, first)
			got := s.do(t, tt.other.with("Idempotency-Key", tt.name))
			problem := wantProblem(t, got, core.CodeKeyReused)
			if diff := cmp.Diff(tt.differs, problem.Differs); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if problem.OriginalRequestID != "first-"+tt.name || problem.Retryable {
				t.Errorf("original_request_id = %q, retryable = %t, want that of the first request and false",
					problem.OriginalRequestID, problem.Retryable)
			}
			if strings.Contains(string(got.body), run.ID.String()) {
				t.Errorf("the refusal tells the first run: %s", got.body)
			}
			wantHeader(t, got, map[string]string{"Idempotent-Replayed": "", "Location": "", "Idempotency-Key": tt.name})
			if n := one[int64](t, s, `SELECT count(*) FROM validation_runs WHERE idempotency_key = $1`,
				tt.name); n != 1 {
				t.Errorf("runs of the key = %d, want 1", n)
			}
		})
	}
}
