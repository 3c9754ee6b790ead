package pages

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// TestEditorWarnsOfWhatChecksNothing saves a schema with a slip: the editor and the page after it say so.
func TestEditorWarnsOfWhatChecksNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.author(t)
	const address = fixture.HarbourPages + "new-workflow/"
	const detail = "&#34;requird&#34; is not a keyword of JSON Schema, so it is ignored; did you mean required?"
	html := s.see(t, fixture.Page(address, author))
	text := strings.Replace(written("slip", "site"), "required", "requird", 1)
	got := s.AnswerTo(t, edited(t, html, text).With("do", "check").To(t, address, author))
	fixture.Shows(t, string(got.Body), "The workflow has no errors.", "1 warning", `data-line="10"`, detail)

	got = s.AnswerTo(t, edited(t, html, text).To(t, address, author))
	if got.Status != http.StatusSeeOther {
		t.Fatalf("save = %d, want it saved: %s", got.Status, fixture.MainOf(string(got.Body)))
	}
	cookies := author
	var cookiesSb28 strings.Builder
	for _, cookie := range got.Header.Values("Set-Cookie") {
		pair, _, _ := strings.Cut(cookie, ";")
		cookiesSb28.WriteString("; " + pair)
	}
	cookies += cookiesSb28.String()
	html = s.see(t, fixture.Page(got.Header.Get("Location"), cookies))
	fixture.Shows(t, html, "Created Written. 1 warning, the first in line 10: "+detail)
	html = s.see(t, fixture.Page(workflowsPage+"slip/edit/", author))
	fixture.Shows(t, html, "1 warning", detail)
}
