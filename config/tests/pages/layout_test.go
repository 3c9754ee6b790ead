package pages

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// TestAccountPageLeadsBack demands the navigation of the organization that the visitor used last.
func TestAccountPageLeadsBack(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, role := range []api.Role{api.RoleViewer, api.RoleAdmin} {
		session := s.Visitor(t, role)
		s.see(t, harbour("", session))
		html := s.see(t, fixture.Page("/app/account/", session))
		fixture.Shows(t, html, `<a href="`+fixture.HarbourPages+`runs/">`)
		if audit := `<a href="` + fixture.HarbourPages + `audit/">`; role == api.RoleAdmin {
			fixture.Shows(t, html, audit)
		} else {
			fixture.Hides(t, html, audit)
		}
	}
}

func TestProblemOfAFormIsShownOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.Visitor(t, api.RoleExecutor)
	form := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, executor)))
	form = form.File("", "application/octet-stream", "")
	html := s.Visit(t, http.StatusBadRequest, form.To(t, fixture.LaunchMeters, executor))
	fixture.Shows(t, html,
		`Choose a file, or paste a text. <a href="/docs/errors/invalid_payload/">Help with this error</a>`)
	fixture.Hides(t, html, `<a href="#file">`)
	html = s.Visit(t, http.StatusUnauthorized, fixture.SignIn("nobody@harbour-energy.example", "wrong"))
	fixture.Shows(t, html, `<a href="/docs/errors/not_authenticated/">Help with this error</a>`)
}
