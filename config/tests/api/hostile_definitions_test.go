package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestHostileDefinitions(t *testing.T) {
	t.Parallel()
	const good = `{"slug":"SLUG","name":"Name","description":"Text","is_active":true,` +
		`"definition":{"accepts":["text/csv"],"steps":[{"id":"step-1","name":"Step","type":"json_schema",` +
		`"config":{"schema":{"type":"object"}}}]}}`
	for name, text := range map[string]string{
		"NUL": `\u0000`, "LoneSurrogate": `\ud800`, "BadUTF8": "\xff", "Control": `\u001b`, "Quote": `\"`,
		"Newline": `\n`,
		"Long":    strings.Repeat("ä", 3000), "Empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			for member, value := range map[string]string{
				"slug": "SLUG", "name": "Name", "description": "Text", "accepts": "text/csv", "id": "step-1",
				"step": "Step", "type": "json_schema", "schema": "object",
			} {
				slug := strings.ToLower(name + "-" + member)
				body := strings.Replace(strings.Replace(good, `"`+value+`"`, `"`+text+`"`, 1), "SLUG", slug, 1)
				create := call{Method: http.MethodPost, Path: "/api/workflows/", Token: s.Harbour.Tokens.Owner}
				got := s.Do(t, create.WithBody("application/json", body))
				if got.Status >= http.StatusInternalServerError {
					t.Errorf("%s in %s = %d %s, want none of the server's errors", name, member, got.Status, got.Body)
				}
				if got.Status == http.StatusCreated && member != "accepts" {
					s.wantUsable(t, name+" in "+member, got.Header.Get("Location"))
				}
			}
		})
	}
}

// wantUsable checks that runs of a workflow that was accepted end with a result about the document.
func (s *stage) wantUsable(tb testing.TB, name, address string) {
	tb.Helper()
	start := s.Start(tb, "").To(address+"start/").WithBody("text/csv", "a\n1\n")
	run := s.Started(tb, start)
	s.Work(tb)
	got := fixture.Decoded[api.Run](tb, s.Must(tb, http.StatusOK,
		start.To("/api/runs/"+run.ID+"/").Get()))
	if got.Result != api.RunResultPass && got.Result != api.RunResultFail {
		tb.Errorf("%s: run = %s %s %q, want PASS or FAIL", name, got.State, got.Result, got.Error)
	}
}
