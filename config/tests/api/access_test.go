package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// publicRoutes need no token.
func publicRoutes() []string {
	return []string{
		"POST /api/callbacks/:id/",
		"GET /api/docs/", "GET /api/docs/:operation/", "GET /api/schema/",
	}
}

func TestEveryRouteChecksItsCaller(t *testing.T) {
	t.Parallel()
	s := setup(t)
	table := s.accessTable(t)
	credentials, tokens := s.badCredentials(t), s.tokensOfRoles(t)
	session, names := s.SessionOf(t, "owner@harbour-energy.example"), s.namesOfHarbour(t)
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, bad := range credentials {
				// The cookie of the pages opens nothing here, where other sites may send forms.
				call := row.Call.By("").In(session)
				if bad.authorization != nil {
					call = call.With("Accept", "*/*")
					call.Header["Authorization"] = bad.authorization
				}
				got := s.Do(t, call)
				fixture.WantProblem(t, got, bad.code)
				fixture.WantHeader(t, got, map[string]string{
					"WWW-Authenticate": bad.challenge, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
				})
				if t.Failed() {
					t.Fatalf("with %s", bad.name)
				}
			}
			for _, role := range api.Roles() {
				token := tokens[role]
				if row.Leaves {
					token = s.TokenOf(t, s.AddMember(t, "leaving-"+string(role), role), role)
				}
				got := s.Must(t, row.Status(role), row.Call.As(role).By(token))
				fixture.WantHeader(t, got, map[string]string{
					"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
				})
			}
			foreign := row.Call.As("foreign").By(s.Tiny.Tokens.Owner)
			got := s.Must(t, row.Foreign, foreign)
			for _, name := range names {
				// Every organization of the demonstration has a workflow of that name.
				if bytes.Contains(got.Body, []byte(name)) && name != "meter-readings" {
					t.Errorf("%s of another organization is shown: %s", name, got.Body)
				}
			}
			fixture.WantGhost(t, foreign, s.Do)
		})
	}
}

// Members of a suspended organization read what viewers read, and change nothing, whatever their role.
func TestEveryRouteKnowsSuspendedOrganizations(t *testing.T) {
	t.Parallel()
	s := setup(t)
	table := s.accessTable(t)
	s.Console(t).Must(t, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "a stolen token")
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := row.Call.As(api.RoleOwner).By(s.Harbour.Tokens.Owner)
			if row.Least == api.RoleViewer && strings.HasPrefix(name, http.MethodGet) {
				s.Must(t, row.OK, call)
			} else {
				s.Refused(t, api.CodeOrganizationSuspended, call)
			}
		})
	}
}

func TestEveryRouteIsInTheAccessTable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var routes []string
	for _, route := range s.Router.Routes() {
		name := route.Method + " " + route.Path
		if strings.HasPrefix(route.Path, "/api") && route.Method != "echo_route_not_found" &&
			!slices.Contains(publicRoutes(), name) {
			routes = append(routes, name)
		}
	}
	rows := make([]string, 0, len(routes))
	for name := range s.accessTable(t) {
		rows = append(rows, name)
	}
	slices.Sort(routes)
	slices.Sort(rows)
	if diff := cmp.Diff(routes, rows); diff != "" {
		t.Errorf("rows of accessTable (-routes +rows):\n%s", diff)
	}
}

// badCredential is a way to authenticate that does not work.
type badCredential struct {
	name          string
	authorization []string
	code          api.Code
	// challenge is the WWW-Authenticate of the answer.
	challenge string
}

func (s *stage) badCredentials(tb testing.TB) []badCredential {
	tb.Helper()
	revoked, revokedID := s.AddToken(tb, s.Harbour, api.RoleOwner, api.RoleOwner)
	expired, expiredID := s.AddToken(tb, s.Harbour, api.RoleOwner, api.RoleOwner)
	left := s.addFormerMember(tb)
	disabledID := s.AddMember(tb, "disabled", api.RoleOwner)
	disabled := s.TokenOf(tb, disabledID, api.RoleOwner)
	s.Exec(tb, `UPDATE users SET disabled_at = now() WHERE id = $1`, disabledID)
	s.Exec(tb, `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, revokedID)
	s.Exec(tb, `UPDATE api_tokens SET expires_at = now() WHERE id = $1`, expiredID)
	var credentials []badCredential
	for name, authorization := range map[string][]string{
		"no token": nil, "an empty header": {""}, "the scheme alone": {"Bearer"}, "no secret": {"Bearer  "},
		"another scheme": {"Basic " + s.Harbour.Tokens.Owner}, "a bare token": {s.Harbour.Tokens.Owner},
		"two headers":        {"Bearer " + s.Harbour.Tokens.Owner, "Bearer " + s.Harbour.Tokens.Owner},
		"an unknown token":   {"Bearer sv_" + strings.Repeat("A", 43)},
		"a token cut short":  {"Bearer " + s.Harbour.Tokens.Owner[:40]},
		"a token too long":   {"Bearer " + s.Harbour.Tokens.Owner + strings.Repeat("A", 200)},
		"a damaged token":    {"Bearer " + s.Harbour.Tokens.Owner[:47] + "000000"},
		"a token in capital": {"Bearer " + strings.ToUpper(s.Harbour.Tokens.Owner)},
		"bad UTF-8":          {"Bearer \xff\xfe"}, "a revoked token": {"Bearer " + revoked},
		"a session":        {"Bearer " + s.SessionOf(tb, "owner@harbour-energy.example")},
		"an expired token": {"Bearer " + expired}, "a disabled user's token": {"Bearer " + disabled},
	} {
		credentials = append(credentials, badCredential{name, authorization, api.CodeNotAuthenticated, "Bearer"})
	}
	return append(credentials,
		badCredential{"a former member's token", []string{"Bearer " + left}, api.CodePermissionDenied, ""})
}

// addFormerMember returns a token of a user who has left harbour.
func (s *stage) addFormerMember(tb testing.TB) string {
	tb.Helper()
	userID := s.AddMember(tb, "former", api.RoleAdmin)
	secret := s.TokenOf(tb, userID, api.RoleOwner)
	s.Must(tb, http.StatusOK, call{Path: "/api/me/", Token: secret})
	s.Exec(tb, `DELETE FROM memberships WHERE user_id = $1`, userID)
	return secret
}

func TestTheLesserRoleCounts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, tt := range []struct {
		member, token api.Role
		status        int
	}{
		{api.RoleOwner, api.RoleViewer, http.StatusForbidden},
		{api.RoleViewer, api.RoleOwner, http.StatusForbidden},
		{api.RoleOwner, api.RoleExecutor, http.StatusCreated},
		{api.RoleExecutor, api.RoleOwner, http.StatusCreated},
	} {
		t.Run(fmt.Sprintf("%sWithTokenFor%s", tt.member, tt.token), func(t *testing.T) {
			t.Parallel()
			token, _ := s.AddToken(t, s.Harbour, tt.member, tt.token)
			s.Must(t, tt.status, s.Start(t, "").By(token))
		})
	}
}

func TestMe(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := s.Must(t, http.StatusOK, call{Path: "/api/me", Token: s.Tiny.Tokens.Viewer})
	id := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM users WHERE email = 'viewer@tiny-quota.example'`)
	token := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM api_tokens WHERE user_id = $1`, id)
	want := fmt.Sprintf(`{"id":%q,"email":"viewer@tiny-quota.example","name":"Demo viewer",`+
		`"org":{"id":%q,"slug":"tiny-quota","name":"Tiny Quota"},"role":"viewer","token":%q}`, id, s.Tiny.ID, token)
	if body := strings.TrimSpace(string(got.Body)); body != want {
		t.Errorf("me = %s, want %s", body, want)
	}
}

func TestNoSpellingOfAnAddressGoesAroundAuthentication(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "secret")).ID
	for _, path := range []string{
		"/%61pi/runs/", "/api%2Fruns/", "/api%2fruns%2f", "//api/runs/", "/./api/runs/", "/api//runs/", "/API/runs/",
		"/api/docs/../runs/", "/api/docs/..%2fruns/", "/api/docs%2f..%2fruns/", "/api/schema/../runs/" + run + "/",
		"/api/schema%2F..%2Fruns/", "/docs/../api/runs/", "/docs/..%2fapi/runs/", "/api/runs", "/api/runs/.",
		"/api;/runs/", "/api/runs/" + run, "/api/runs/" + run + "?x=.", "/livez/../api/runs/",
	} {
		got := s.Do(t, call{Path: path})
		if got.Status < http.StatusBadRequest || bytes.Contains(got.Body, []byte(run)) {
			t.Errorf("%s without a token = %d %s, want a refusal", path, got.Status, got.Body)
		}
	}
}
