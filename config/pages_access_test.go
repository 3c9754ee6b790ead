package config_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
)

// publicPages need no session.
func publicPages() []string {
	return []string{"GET /app/sign-in/", "POST /app/sign-in/", "POST /app/theme/"}
}

// pageAccess has a row for every page and form that needs a session. Its calls are made by no session, by the owner of
// another organization, and by a member of each role.
func (s *stage) pageAccess(tb testing.TB) map[string]access {
	tb.Helper()
	table := make(map[string]access)
	for _, part := range []map[string]access{s.accessToOwnPages(), s.accessToWorkflowPages(tb)} {
		maps.Copy(table, part)
	}
	return table
}

// accessToOwnPages are the pages that belong to a visitor and not to an organization.
func (s *stage) accessToOwnPages() map[string]access {
	everybody := func(c call, status int) access {
		return access{call: c, least: core.RoleViewer, ok: status, foreign: status}
	}
	return map[string]access{
		"GET /app/":               everybody(page("/app/", ""), http.StatusSeeOther),
		"GET /app/users/api-key/": everybody(page("/app/users/api-key/", ""), http.StatusSeeOther),
		"POST /app/sign-out/":     everybody(post("/app/sign-out/", "", nil), http.StatusSeeOther),
	}
}

func TestEveryPageChecksItsVisitor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, row := range s.pageAccess(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.turnsAway(t, row.call)
			crossSite := row.call.in(s.visitor(t, core.RoleOwner)).with("Sec-Fetch-Site", "cross-site")
			if crossSite.method == http.MethodPost {
				s.visit(t, http.StatusForbidden, crossSite)
			}
			for _, role := range core.Roles() {
				s.visit(t, row.status(role), row.call.as(role).in(s.visitor(t, role)))
			}
			hides(t, s.visit(t, row.foreign, row.call.as("foreign").in(s.stranger(t))), "Harbour Energy")
		})
	}
}

// turnsAway checks that nobody without a valid session gets further than to signing in.
func (s *stage) turnsAway(tb testing.TB, c call) {
	tb.Helper()
	expired := s.visitor(tb, core.RoleOwner)
	s.exec(tb, `UPDATE sessions SET expires_at = now() WHERE digest = sha256($1::bytea)`, []byte(expired))
	for _, session := range []string{"", "sv_made-up", expired, s.Harbour.Tokens.Owner} {
		got := s.answerTo(tb, c.in(session))
		if c.method == http.MethodPost {
			if got.status != http.StatusUnauthorized {
				tb.Fatalf("with session %q: status = %d, want 401", session, got.status)
			}
			continue
		}
		if to := got.header.Get("Location"); got.status != http.StatusSeeOther ||
			!strings.HasPrefix(to, "/app/sign-in/?next=") {
			tb.Fatalf("with session %q: %d to %q, want 303 to sign in", session, got.status, to)
		}
	}
}

func TestEveryPageIsInTheAccessTable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var routes []string
	for _, route := range s.router.Routes() {
		name := route.Method + " " + route.Path
		if strings.HasPrefix(route.Path, "/app") && route.Method != "echo_route_not_found" &&
			!slices.Contains(publicPages(), name) {
			routes = append(routes, name)
		}
	}
	rows := slices.Sorted(maps.Keys(s.pageAccess(t)))
	slices.Sort(routes)
	if diff := cmp.Diff(routes, rows); diff != "" {
		t.Errorf("rows of pageAccess (-routes +rows):\n%s", diff)
	}
}
