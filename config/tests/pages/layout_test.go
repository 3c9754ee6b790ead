package pages

import (
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
