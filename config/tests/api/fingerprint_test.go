package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestRetryIsRecognizedByItsMeaning(t *testing.T) {
	t.Parallel()
	s := setup(t)
	raw := s.Start(t, "")
	building := raw.To("/api/workflows/building/start/")
	envelope := building.WithBody("application/json", `{"content": {"a": 1, "b": "ä"}, "metadata": {"x": 1, "y": 2}}`)
	csv := raw.Body
	parts := raw.WithBody(form("one", `name="file"; filename="a.csv"`, "text/csv", csv, `name="name"`, "", "N"))
	for _, tt := range []struct {
		name         string
		first, again call
	}{
		{"SameBytes", raw, raw},
		{"CharsetOfUTF8", raw, raw.With("Content-Type", "TEXT/CSV; charset=UTF-8")},
		{"TracingHeaders", raw, raw.With("Traceparent", "00-1").With("Prefer", "respond-async").With("User-Agent",
			"x")},
		{
			"MemberOrder", envelope,
			envelope.WithBody("application/json", `{"metadata":{"y":2,"x":1},"content":{"b":"\u00e4","a":1}}`),
		},
		{
			"RawDocumentByStructure", building.WithBody("application/json", `{"a":[1,2],"b":null}`),
			building.WithBody("application/json", "{ \"b\": null,\n \"a\": [1, 2] }"),
		},
		{"Boundary", parts, parts.WithBody(form("other-boundary", `name="file"; filename="a.csv"`, "text/csv", csv,
			`name="name"`, "", "N"))},
		{"OrderOfParts", parts, parts.WithBody(form("one", `name="name"`, "", "N", `name="file"; filename="a.csv"`,
			"text/csv", csv))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := s.Must(t, http.StatusCreated, tt.first.With("Idempotency-Key", tt.name))
			fixture.WantReplay(t, first, s.Do(t, tt.again.With("Idempotency-Key", tt.name)))
		})
	}
}

func TestOtherRequestUnderAUsedKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.AddVersion(t)
	raw := s.Start(t, "")
	building := raw.To("/api/workflows/building/start/").WithBody("application/json", `{"a": 1}`)
	for _, tt := range []struct {
		name         string
		first, other call
		differs      []string
	}{
		{"OtherWorkflow", building, building.To(raw.Path), []string{"workflow"}},
		{"PinnedVersion", raw, raw.To(raw.Path + "?version=2"), []string{"workflow"}},
		{"OtherVersion", raw.To(raw.Path + "?version=1"), raw.To(raw.Path + "?version=2"), []string{"workflow"}},
		{"OtherContent", raw, raw.WithBody("text/csv", raw.Body+"\n"), []string{"content"}},
		{"OtherNumberLiteral", building, building.WithBody("application/json", `{"a": 1.0}`), []string{"content"}},
		{"OtherMediaType", raw, raw.With("Content-Type", "text/plain"), []string{"content"}},
		{"OtherForm", raw, raw.WithBody(form("X", `name="file"`, "text/csv", raw.Body)), []string{"content"}},
		{"OtherFilename", raw, raw.With("X-Filename", "b.csv"), []string{"options"}},
		{
			"OtherMetadata", building.WithBody("application/json", `{"content":{},"metadata":{"a":1}}`),
			building.WithBody("application/json", `{"content":{},"metadata":{"a":2}}`),
			[]string{"options"},
		},
		{
			"Everything", raw, raw.To("/api/workflows/building/start/").With("X-Filename", "b").
				WithBody("application/json", "{}"), []string{"workflow", "content", "options"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := tt.first.With("Idempotency-Key", tt.name).With("Request-Id", "first-"+tt.name)
			run := s.Started(t, first)
			got := s.Do(t, tt.other.With("Idempotency-Key", tt.name))
			problem := fixture.WantProblem(t, got, core.CodeKeyReused)
			if diff := cmp.Diff(tt.differs, problem.Differs); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if problem.OriginalRequestID != "first-"+tt.name || problem.Retryable {
				t.Errorf("original_request_id = %q, retryable = %t, want that of the first request and false",
					problem.OriginalRequestID, problem.Retryable)
			}
			if strings.Contains(string(got.Body), run.ID.String()) {
				t.Errorf("the refusal tells the first run: %s", got.Body)
			}
			fixture.WantHeader(t, got,
				map[string]string{"Idempotent-Replayed": "", "Location": "", "Idempotency-Key": tt.name})
			if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM validation_runs WHERE idempotency_key = $1`,
				tt.name); n != 1 {
				t.Errorf("runs of the key = %d, want 1", n)
			}
		})
	}
}
