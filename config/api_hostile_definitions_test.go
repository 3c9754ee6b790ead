package config_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations"
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
				create := call{method: http.MethodPost, path: "/api/workflows/", token: s.Harbour.Tokens.Owner}
				got := s.do(t, create.withBody("application/json", body))
				if got.status >= http.StatusInternalServerError {
					t.Errorf("%s in %s = %d %s, want none of the server's errors", name, member, got.status, got.body)
				}
				if got.status == http.StatusCreated && member != "accepts" {
					s.wantUsable(t, name+" in "+member, got.header.Get("Location"))
				}
			}
		})
	}
}

// wantUsable checks that runs of a workflow that was accepted end with a result about the document.
func (s *stage) wantUsable(tb testing.TB, name, address string) {
	tb.Helper()
	start := s.start(tb, "").to(address+"start/").withBody("text/csv", "a\n1\n")
	run := s.started(tb, start)
	s.work(tb)
	got := decoded[validations.RunBody](tb, s.must(tb, http.StatusOK, start.to("/api/runs/"+run.ID.String()+"/").get()))
	if got.Result != validations.ResultPass && got.Result != validations.ResultFail {
		tb.Errorf("%s: run = %s %s %q, want PASS or FAIL", name, got.State, got.Result, got.Error)
	}
}
