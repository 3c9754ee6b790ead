package pages

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
)

// TestAccountPageLeadsBack demands the navigation of the organization that the visitor used last.
func TestAccountPageLeadsBack(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, role := range []core.Role{core.RoleViewer, core.RoleAdmin} {
		session := s.Visitor(t, role)
		s.Visit(t, http.StatusOK, fixture.Page(fixture.HarbourPages, session))
		html := s.Visit(t, http.StatusOK, fixture.Page("/app/account/", session))
		fixture.Shows(t, html, `<a href="`+fixture.HarbourPages+`runs/">Runs</a>`)
		if audit := `<a href="` + fixture.HarbourPages + `audit/">`; role == core.RoleAdmin {
			fixture.Shows(t, html, audit)
		} else {
			fixture.Hides(t, html, audit)
		}
	}
}
