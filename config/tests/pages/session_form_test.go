package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// TestFormOfAnEndedSession sends what the page of the error has kept, after another sign-in.
func TestFormOfAnEndedSession(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.Visitor(t, api.RoleAuthor)

	t.Run("SavesTheTextOfTheEditor", func(t *testing.T) {
		t.Parallel()
		const address = workflowsPage + "legacy-import/edit/"
		form := edited(t, s.see(t, fixture.Page(address, author)), written("legacy-import", "<id>"))
		kept := s.Visit(t, http.StatusUnauthorized, form.To(t, address, ""))
		fixture.Shows(t, kept, `action="`+address+`" enctype="multipart/form-data"`,
			`href="/app/sign-in/?next=`+url.QueryEscape(fixture.HarbourPages)+`" target="_blank"`)
		text := strings.ReplaceAll(strings.ReplaceAll(fixture.Hidden(t, kept, "text"), "&lt;", "<"), "&gt;", ">")
		s.Visit(t, http.StatusSeeOther, edited(t, kept, text).To(t, address, author))
		s.shows(t, fixture.Page(address, author), "&lt;id&gt;", "Save as version 3")
	})
	t.Run("StartsARunOfThePastedText", func(t *testing.T) {
		t.Parallel()
		form := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, author)))
		text := strings.ReplaceAll(form.Content, "\n", "\r\n")
		form = form.File("", "application/octet-stream", "").With("text", text).With("filename", "a.csv")
		kept := s.Visit(t, http.StatusUnauthorized, form.To(t, fixture.LaunchMeters, ""))
		fixture.Hides(t, kept, `name="file"`)
		again := fixture.Upload{}
		for _, name := range []string{"filename", "key", "text"} {
			again = again.With(name, fixture.Hidden(t, kept, name))
		}
		s.Launched(t, again.To(t, fixture.LaunchMeters, author))
	})
	t.Run("AsksForAFileAgain", func(t *testing.T) {
		t.Parallel()
		form := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, author)))
		kept := s.Visit(t, http.StatusUnauthorized, form.With("name", "Of March").To(t, fixture.LaunchMeters, ""))
		fixture.Shows(t, kept, `name="name" value="Of March"`, "you will be asked for it again")
		fixture.Hides(t, kept, form.Content)
		again := fixture.Upload{Fields: form.Fields}.With("name", fixture.Hidden(t, kept, "name"))
		fixture.Shows(t, s.Visit(t, http.StatusBadRequest, again.To(t, fixture.LaunchMeters, author)),
			"Choose a file", `name="name" maxlength="255" value="Of March"`)
	})
	t.Run("IsNotKeptWhereItHoldsAPassword", func(t *testing.T) {
		t.Parallel()
		html := s.Visit(t, http.StatusUnauthorized, fixture.Post("/app/account/password/", "",
			url.Values{"current": {"an old password"}, "new": {"a new password"}, "again": {"a new password"}}))
		fixture.Hides(t, html, "an old password", "a new password", "Send again")
	})
	t.Run("IsNotKeptWhereItIsTooLarge", func(t *testing.T) {
		t.Parallel()
		form := fixture.Upload{}.With("text", strings.Repeat("a", 3<<20))
		fixture.Hides(t, s.Visit(t, http.StatusUnauthorized, form.To(t, workflowsPage+"building/edit/", "")),
			"aaaa", "Send again")
	})
	t.Run("IsNotKeptForAnotherSite", func(t *testing.T) {
		t.Parallel()
		foreign := fixture.Post(workflowsPage+"building/deactivate/", "", url.Values{"reason": {"planted"}})
		fixture.Hides(t, s.Visit(t, http.StatusForbidden, foreign.With("Sec-Fetch-Site", "cross-site")), "planted")
	})
}
