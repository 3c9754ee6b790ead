package pages

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// publicPages need no session.
func publicPages() []string {
	return []string{
		"GET /app/sign-in/", "POST /app/sign-in/", "POST /app/theme/",
		// Whoever has the secret of the link sees its page. To accept takes a session or a new account.
		"GET /app/invitations/:token/", "POST /app/invitations/:token/join/",
		"POST /app/invitations/:token/accept/", "POST /app/invitations/:token/decline/",
		"GET /app/password/", "POST /app/password/", "GET /app/password/:token/", "POST /app/password/:token/",
		// What waits for a second step is bound to a cookie of its own.
		"GET /app/sign-in/code/", "POST /app/sign-in/code/",
		"GET /app/sign-in/provider/", "GET /app/sign-in/provider/callback/",
	}
}

// pageAccess has a row for every page and form that needs a session. Its calls are made by no session, by the owner of
// another organization, and by a member of each role.
func (s *stage) pageAccess(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	table := make(map[string]fixture.Access)
	for _, part := range []map[string]fixture.Access{
		accessToOverview(),
		accessToTrial(),
		accessToOperations(),
		s.accessToKeyPages(tb),
		s.accessToOwnPages(tb),
		s.accessToPagesOfUsers(tb),
		s.accessToRunPages(tb), s.accessToWorkflowPages(tb), s.accessToWebhookPages(tb),
	} {
		maps.Copy(table, part)
	}
	return table
}

// accessToOwnPages are the pages that belong to a visitor and not to an organization.
func (s *stage) accessToOwnPages(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	everybody := func(c call, status int) fixture.Access {
		return fixture.Access{Call: c, Least: api.RoleViewer, OK: status, Foreign: status}
	}
	// Those who are invited are none of the visitors.
	invitation := "/app/account/invitations/" + s.Invited(tb, "invited@b.example") + "/"
	nobodys := func(rest string) fixture.Access {
		return everybody(fixture.Post(invitation+rest, "", nil), http.StatusNotFound)
	}
	leave := orgForm("", nil, api.RoleViewer, http.StatusSeeOther)
	leave.Call.Path = "/app/account/organizations/harbour-energy/leave/"
	return map[string]fixture.Access{
		"POST /app/account/organizations/:org/leave/": leave,
		"POST /app/account/invitations/:id/accept/":   nobodys("accept/"),
		"POST /app/account/invitations/:id/decline/":  nobodys("decline/"),
		"GET /app/":               everybody(fixture.Page("/app/", ""), http.StatusSeeOther),
		"GET /app/users/api-key/": everybody(fixture.Page("/app/users/api-key/", ""), http.StatusSeeOther),
		"POST /app/sign-out/":     everybody(fixture.Post("/app/sign-out/", "", nil), http.StatusSeeOther),
		"GET /app/account/":       everybody(fixture.Page("/app/account/", ""), http.StatusOK),
		// Nobody of the test has a password to change.
		"POST /app/account/password/": everybody(fixture.Post("/app/account/password/", "", nil),
			http.StatusBadRequest),
		"POST /app/account/second-factor/": everybody(fixture.Post("/app/account/second-factor/", "", nil),
			http.StatusSeeOther),
		"GET /app/account/second-factor/": everybody(fixture.Page("/app/account/second-factor/", ""), http.StatusOK),
		"POST /app/account/second-factor/confirm/": everybody(
			fixture.Post("/app/account/second-factor/confirm/", "", nil), http.StatusBadRequest),
		"POST /app/account/second-factor/codes/": everybody(
			fixture.Post("/app/account/second-factor/codes/", "", nil), http.StatusNotFound),
		"POST /app/account/second-factor/remove/": everybody(
			fixture.Post("/app/account/second-factor/remove/", "", nil), http.StatusSeeOther),
		"POST /app/shortcut/": everybody(fixture.Post("/app/shortcut/", "", nil), http.StatusBadRequest),
		"POST /app/account/sessions/:id/end/": everybody(
			fixture.Post("/app/account/sessions/"+uuid.NewString()+"/end/", "", nil), http.StatusSeeOther),
		"POST /app/account/sessions/end/": everybody(fixture.Post("/app/account/sessions/end/", "", nil),
			http.StatusSeeOther),
	}
}

// orgPage is a page of harbour that its members with the least role see, and that is not there for others.
func orgPage(path string, least api.Role) fixture.Access {
	return fixture.Access{
		Call: harbour(path, ""), Least: least, OK: http.StatusOK,
		Foreign: http.StatusNotFound,
	}
}

// orgForm is a form of harbour's pages that its members with the least role may send.
func orgForm(path string, fields url.Values, least api.Role, ok int) fixture.Access {
	return fixture.Access{
		Call: harbourForm(path, "", fields), Least: least, OK: ok, Foreign: http.StatusNotFound,
	}
}

func (s *stage) accessToPagesOfUsers(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	_, owned := s.AddToken(tb, s.Harbour, api.RoleOwner, api.RoleExecutor)
	member := s.AddMember(tb, "somebody", api.RoleViewer).String()
	removed := s.AddMember(tb, "leaving", api.RoleViewer).String()
	token := url.Values{"id": {uuid.NewString()}, "label": {"x"}, "role": {"viewer"}, "days": {"1"}}
	// Which token it is decides, not the role: others than admins do not see it.
	revoke := orgForm("tokens/"+owned.String()+"/revoke/", nil, api.RoleAdmin, http.StatusSeeOther)
	rotate := orgForm("tokens/"+owned.String()+"/rotate/", nil, api.RoleAdmin, http.StatusForbidden)
	revoke.Below, rotate.Below = http.StatusNotFound, http.StatusNotFound
	// A token's form is sent by each role here, and makes one token all the same.
	create := orgForm("tokens/", token, api.RoleViewer, http.StatusBadRequest)
	create.But = map[api.Role]int{api.RoleViewer: http.StatusCreated}
	add := url.Values{"email": {"ROLE@new.example"}, "role": {"viewer"}}
	invite := orgForm("members/", add, api.RoleAdmin, http.StatusCreated)
	linked := "members/invitations/" + s.Invited(tb, "linked@new.example")
	revoked := "members/invitations/" + s.Invited(tb, "revoked@new.example")
	managed := func(path string, fields url.Values) fixture.Access {
		return orgForm(path, fields, api.RoleAdmin, http.StatusSeeOther)
	}
	return map[string]fixture.Access{
		"GET /app/orgs/:org/tokens/":             orgPage("tokens/", api.RoleViewer),
		"POST /app/orgs/:org/tokens/":            create,
		"POST /app/orgs/:org/tokens/:id/rotate/": rotate,
		"POST /app/orgs/:org/tokens/:id/revoke/": revoke,
		"GET /app/orgs/:org/members/":            orgPage("members/", api.RoleViewer),
		"POST /app/orgs/:org/members/":           invite,
		"POST /app/orgs/:org/members/invitations/:id/link/": orgForm(linked+"/link/", nil, api.RoleAdmin,
			http.StatusCreated),
		"POST /app/orgs/:org/members/invitations/:id/revoke/": managed(revoked+"/revoke/", nil),
		"POST /app/orgs/:org/members/:id/role/":               managed("members/"+member+"/role/", add),
		"POST /app/orgs/:org/members/:id/password/": orgForm("members/"+member+"/password/",
			url.Values{"hours": {"24"}}, api.RoleAdmin, http.StatusCreated),
		"POST /app/orgs/:org/members/:id/second-factor/remove/": managed("members/"+member+"/second-factor/remove/",
			nil),
		"POST /app/orgs/:org/members/:id/remove/": managed("members/"+removed+"/remove/", nil),
		"GET /app/orgs/:org/settings/":            orgPage("settings/", api.RoleViewer),
		"POST /app/orgs/:org/settings/": orgForm("settings/", url.Values{"name": {"Harbour Energy"}}, api.RoleOwner,
			http.StatusSeeOther),
		"POST /app/orgs/:org/settings/secrets/": orgForm("settings/secrets/", nil, api.RoleAdmin, http.StatusCreated),
		"POST /app/orgs/:org/settings/secrets/rotate/": orgForm("settings/secrets/rotate/", nil, api.RoleOwner,
			http.StatusSeeOther),
		"GET /app/orgs/:org/usage/": orgPage("usage/", api.RoleViewer),
		"GET /app/orgs/:org/audit/": orgPage("audit/", api.RoleAdmin),
	}
}

func TestEveryPageChecksItsVisitor(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, row := range s.pageAccess(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.turnsAway(t, row.Call)
			for _, role := range api.Roles() {
				s.Visit(t, row.Status(role), row.Call.As(role).In(s.Visitor(t, role)))
			}
			for _, session := range []string{s.Stranger(t), s.formerMember(t)} {
				foreign := row.Call.As("foreign").In(session)
				fixture.Hides(t, s.Visit(t, row.Foreign, foreign), "Harbour Energy")
				fixture.WantGhost(t, foreign, s.AnswerTo)
				// The ids of one organization are nothing on the pages of another.
				own := foreign.To(strings.Replace(foreign.Path, s.Harbour.Slug, s.Tiny.Slug, 1))
				fixture.WantGhost(t, own, s.AnswerTo)
			}
		})
	}
}

// turnsAway checks that nobody without a valid session gets further than to signing in.
func (s *stage) turnsAway(tb testing.TB, c call) {
	tb.Helper()
	expired := s.Visitor(tb, api.RoleOwner)
	s.Exec(tb, `UPDATE sessions SET expires_at = now() WHERE digest = sha256($1::bytea)`, []byte(expired))
	signedOut, disabledID := s.Visitor(tb, api.RoleOwner), s.AddMember(tb, "disabled-"+uuid.NewString(), api.RoleOwner)
	s.Visit(tb, http.StatusSeeOther, fixture.Post("/app/sign-out/", signedOut, nil))
	disabled := s.Session(tb, disabledID)
	s.Exec(tb, `UPDATE users SET disabled_at = now() WHERE id = $1`, disabledID)
	for _, session := range []string{"", "sv_made-up", expired, signedOut, disabled, s.Harbour.Tokens.Owner} {
		got := s.AnswerTo(tb, c.In(session))
		if c.Method == http.MethodPost {
			if got.Status != http.StatusUnauthorized {
				tb.Fatalf("with session %q: status = %d, want 401", session, got.Status)
			}
			continue
		}
		if to := got.Header.Get("Location"); got.Status != http.StatusSeeOther ||
			!strings.HasPrefix(to, "/app/sign-in/?next=") {
			tb.Fatalf("with session %q: %d to %q, want 303 to sign in", session, got.Status, to)
		}
	}
}

// formerMember signs in a user who has been a member of harbour, and still is one of another organization.
func (s *stage) formerMember(tb testing.TB) string {
	tb.Helper()
	userID := s.AddMember(tb, "former-"+uuid.NewString(), api.RoleOwner)
	if err := s.Users.SetMembership(tb.Context(), s.Tiny.ID, userID, api.RoleOwner); err != nil {
		tb.Fatal(err)
	}
	session := s.Session(tb, userID)
	s.Visit(tb, http.StatusOK, harbour("", session))
	s.Exec(tb, `DELETE FROM memberships WHERE user_id = $1 AND org_id = $2`, userID, s.Harbour.ID)
	return session
}

func TestEveryPageIsInTheAccessTable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var routes []string
	for _, route := range s.Router.Routes() {
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
