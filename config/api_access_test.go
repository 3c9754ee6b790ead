package config_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// access is one authenticated route and what each member of the organization is answered with.
type access struct {
	call                    call
	viewer, executor, owner int
	// foreign is what the owner of another organization is answered with.
	foreign int
}

// accessTable has a row for every authenticated route.
func (s *stage) accessTable(tb testing.TB) map[string]access {
	tb.Helper()
	ended := s.started(tb, s.start(tb, ""))
	s.work(tb)
	run := s.started(tb, s.start(tb, ""))
	workflow := "/api/workflows/" + s.Harbour.Workflows[1].ID.String() + "/"
	other := "/api/workflows/" + s.Harbour.Workflows[0].ID.String() + "/"
	start := s.start(tb, "").to(workflow + "start/")
	const definition = `"definition":{"accepts":["text/csv"],"steps":[
		{"id":"a","name":"A","type":"json_schema","config":{"schema":{}}}]}}`
	create := start.to("/api/workflows/").withBody("application/json", `{"slug":"made","name":"Made",`+definition)
	version := start.to(workflow+"versions/").withBody("application/json", "{"+definition)
	changed := start.to(workflow).withBody("application/json", `{"name":"Changed"}`).by("")
	changed.method = http.MethodPatch
	imported := start.to("/api/workflows/import/").withBody("application/yaml", siteReport)
	rerun := call{method: http.MethodPost, path: "/api/runs/" + run.ID.String() + "/rerun/"}
	cancel := rerun.to("/api/runs/" + s.started(tb, s.start(tb, "")).ID.String() + "/cancel/")
	key := "/api/idempotency-keys/" + s.abandoned(tb, "accessible").ID.String() + "/"
	release := start.to(key+"release/").withBody("application/json", `{"reason":"why"}`)
	return map[string]access{
		"GET /api/idempotency-keys/":              {call{path: "/api/idempotency-keys/"}, 200, 200, 200, 200},
		"GET /api/idempotency-keys/activity/":     {call{path: "/api/idempotency-keys/activity/"}, 200, 200, 200, 200},
		"GET /api/idempotency-keys/:id/":          {call{path: key}, 200, 200, 200, 404},
		"POST /api/idempotency-keys/:id/release/": {release, 403, 403, 204, 404},
		"POST /api/workflows/":                    {create, 403, 403, 201, 201},
		"POST /api/workflows/:id/versions/":       {version, 403, 403, 201, 404},
		"PATCH /api/workflows/:id/":               {changed, 403, 403, 200, 404},
		"POST /api/workflows/:id/activate/":       {start.to(workflow + "activate/"), 403, 403, 200, 404},
		"POST /api/workflows/:id/deactivate/":     {start.to(other + "deactivate/"), 403, 403, 200, 404},
		"GET /api/workflows/:id/export/":          {call{path: workflow + "export/"}, 200, 200, 200, 404},
		"POST /api/workflows/import/":             {imported, 403, 403, 201, 201},
		"POST /api/runs/:id/rerun/":               {rerun, 403, 201, 201, 404},
		"POST /api/runs/:id/cancel/":              {cancel, 403, 200, 200, 404},
		"GET /api/me/":                            {call{path: "/api/me/"}, 200, 200, 200, 200},
		"GET /api/signing-secret/":                {call{path: "/api/signing-secret/"}, 403, 403, 200, 200},
		"GET /api/usage/":                         {call{path: "/api/usage/"}, 200, 200, 200, 200},
		"GET /api/runs/":                          {call{path: "/api/runs/"}, 200, 200, 200, 200},
		"GET /api/runs/:id/": {
			call{path: "/api/runs/" + run.ID.String() + "/"}, 200, 200, 200, 404,
		},
		"GET /api/runs/:id/events/": {
			call{path: "/api/runs/" + ended.ID.String() + "/events/"}, 200, 200, 200, 404,
		},
		"GET /api/runs/:id/findings/": {
			call{path: "/api/runs/" + run.ID.String() + "/findings/"}, 200, 200, 200, 404,
		},
		"GET /api/workflows/":            {call{path: "/api/workflows/"}, 200, 200, 200, 200},
		"GET /api/workflows/:id/":        {call{path: workflow}, 200, 200, 200, 404},
		"POST /api/workflows/:id/start/": {start, 403, 201, 201, 404},
	}
}

// publicRoutes need no token.
func publicRoutes() []string {
	return []string{
		"POST /api/callbacks/:id/",
		"GET /api/docs/", "GET /api/docs/reference.js", "GET /api/docs/swagger-ui-bundle.js",
		"GET /api/docs/swagger-ui.css", "GET /api/schema/",
	}
}

func TestEveryRouteChecksItsCaller(t *testing.T) {
	t.Parallel()
	s := setup(t)
	table := s.accessTable(t)
	credentials := s.badCredentials(t)
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, bad := range credentials {
				call := row.call.by("")
				if bad.authorization != nil {
					call = call.with("Accept", "*/*")
					call.header["Authorization"] = bad.authorization
				}
				got := s.do(t, call)
				wantProblem(t, got, bad.code)
				wantHeader(t, got, map[string]string{"WWW-Authenticate": bad.challenge})
				if t.Failed() {
					t.Fatalf("with %s", bad.name)
				}
			}
			for token, want := range map[string]int{
				s.Harbour.Tokens.Viewer: row.viewer, s.Harbour.Tokens.Executor: row.executor,
				s.Harbour.Tokens.Owner: row.owner, s.Tiny.Tokens.Owner: row.foreign,
			} {
				got := s.must(t, want, row.call.by(token))
				if token == s.Tiny.Tokens.Owner && bytes.Contains(got.body, []byte("harbour")) {
					t.Errorf("another organization is shown: %s", got.body)
				}
			}
		})
	}
}

func TestEveryRouteIsInTheAccessTable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var routes []string
	for _, route := range s.router.Routes() {
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
	code          core.Code
	// challenge is the WWW-Authenticate of the answer.
	challenge string
}

func (s *stage) badCredentials(tb testing.TB) []badCredential {
	tb.Helper()
	revoked, revokedID := s.addToken(tb, s.Harbour, core.RoleOwner, core.RoleOwner)
	expired, expiredID := s.addToken(tb, s.Harbour, core.RoleOwner, core.RoleOwner)
	left := s.addFormerMember(tb)
	s.exec(tb, `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, revokedID)
	s.exec(tb, `UPDATE api_tokens SET expires_at = now() WHERE id = $1`, expiredID)
	var credentials []badCredential
	for name, authorization := range map[string][]string{
		"no token": nil, "an empty header": {""}, "the scheme alone": {"Bearer"}, "no secret": {"Bearer  "},
		"another scheme": {"Basic " + s.Harbour.Tokens.Owner}, "a bare token": {s.Harbour.Tokens.Owner},
		"two headers":        {"Bearer " + s.Harbour.Tokens.Owner, "Bearer " + s.Harbour.Tokens.Owner},
		"an unknown token":   {"Bearer sv_" + strings.Repeat("A", 43)},
		"a token cut short":  {"Bearer " + s.Harbour.Tokens.Owner[:40]},
		"a token too long":   {"Bearer " + s.Harbour.Tokens.Owner + strings.Repeat("A", 200)},
		"a token in capital": {"Bearer " + strings.ToUpper(s.Harbour.Tokens.Owner)},
		"bad UTF-8":          {"Bearer \xff\xfe"}, "a revoked token": {"Bearer " + revoked},
		"an expired token": {"Bearer " + expired},
	} {
		credentials = append(credentials, badCredential{name, authorization, core.CodeNotAuthenticated, "Bearer"})
	}
	return append(credentials,
		badCredential{"a former member's token", []string{"Bearer " + left}, core.CodePermissionDenied, ""})
}

// addFormerMember returns a token of somebody who has left harbour.
func (s *stage) addFormerMember(tb testing.TB) string {
	tb.Helper()
	email := string(core.RoleAdmin) + "@harbour-energy.example"
	user, err := s.Users.EnsureUser(tb.Context(), email, "Former")
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Users.SetMembership(tb.Context(), s.Harbour.ID, user.ID, core.RoleAdmin); err != nil {
		tb.Fatal(err)
	}
	secret, _ := s.addToken(tb, s.Harbour, core.RoleAdmin, core.RoleOwner)
	s.must(tb, http.StatusOK, call{path: "/api/me/", token: secret})
	s.exec(tb, `DELETE FROM memberships WHERE user_id = $1`, user.ID)
	return secret
}

func TestTheLesserRoleCounts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, tt := range []struct {
		member, token core.Role
		status        int
	}{
		{core.RoleOwner, core.RoleViewer, http.StatusForbidden},
		{core.RoleViewer, core.RoleOwner, http.StatusForbidden},
		{core.RoleOwner, core.RoleExecutor, http.StatusCreated},
		{core.RoleExecutor, core.RoleOwner, http.StatusCreated},
	} {
		t.Run(fmt.Sprintf("%sWithTokenFor%s", tt.member, tt.token), func(t *testing.T) {
			t.Parallel()
			token, _ := s.addToken(t, s.Harbour, tt.member, tt.token)
			s.must(t, tt.status, s.start(t, "").by(token))
		})
	}
}

func TestOtherOrganizationsObjectsAreAsGoodAsAbsent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.started(t, s.start(t, "theirs").by(s.Tiny.Tokens.Executor))
	for _, tt := range []struct {
		name           string
		theirs, absent call
	}{
		{"Run", call{path: "/api/runs/" + run.ID.String() + "/"}, call{path: "/api/runs/" + unknownID + "/"}},
		{
			"Workflow",
			call{path: "/api/workflows/" + s.Tiny.Workflows[0].ID.String() + "/"},
			call{path: "/api/workflows/" + unknownID + "/"},
		},
		{
			"Start", s.start(t, "theirs").to("/api/workflows/" + s.Tiny.Workflows[1].ID.String() + "/start/"),
			s.start(t, "theirs").to("/api/workflows/" + unknownID + "/start/"),
		},
		{"RunOfNoID", call{path: "/api/runs/" + run.ID.String() + "/"}, call{path: "/api/runs/nonsense/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			theirs := tt.theirs.by(s.Harbour.Tokens.Owner).with("Request-Id", "same")
			absent := tt.absent.by(s.Harbour.Tokens.Owner).with("Request-Id", "same")
			got, want := s.must(t, http.StatusNotFound, theirs), s.must(t, http.StatusNotFound, absent)
			got.header.Del("Date")
			want.header.Del("Date")
			if diff := cmp.Diff(string(want.body), string(got.body)); diff != "" {
				t.Errorf("body (-absent +theirs):\n%s", diff)
			}
			if diff := cmp.Diff(want.header, got.header); diff != "" {
				t.Errorf("header (-absent +theirs):\n%s", diff)
			}
		})
	}
	t.Run("ListsShowOnlyOnesOwn", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{
			"/api/runs/", "/api/runs/?idempotency_key=theirs", "/api/runs/?workflow=" + s.Tiny.Workflows[1].ID.String(),
			"/api/workflows/",
		} {
			got := s.must(t, http.StatusOK, call{path: path, token: s.Harbour.Tokens.Owner})
			for _, id := range []uuid.UUID{run.ID, s.Tiny.ID, s.Tiny.Workflows[0].ID, s.Tiny.Workflows[1].ID} {
				if bytes.Contains(got.body, []byte(id.String())) {
					t.Errorf("%s shows %s of another organization", path, id)
				}
			}
		}
	})
}

func TestMe(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := s.must(t, http.StatusOK, call{path: "/api/me", token: s.Tiny.Tokens.Viewer})
	id := one[uuid.UUID](t, s, `SELECT id FROM users WHERE email = 'viewer@tiny-quota.example'`)
	want := fmt.Sprintf(`{"id":%q,"email":"viewer@tiny-quota.example","name":"Demo viewer",`+
		`"org":{"id":%q,"slug":"tiny-quota","name":"Tiny Quota"},"role":"viewer"}`, id, s.Tiny.ID)
	if body := strings.TrimSpace(string(got.body)); body != want {
		t.Errorf("me = %s, want %s", body, want)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	usage := call{path: "/api/usage/", token: s.Tiny.Tokens.Viewer}
	month := one[string](t, s, `SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')`)
	resets := one[string](t, s, `SELECT to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month',
		'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
	want := func(numbers string) string {
		return `{"metric":"runs",` + numbers + `,"period":"` + month + `","resets_at":"` + resets + `"}`
	}
	for _, step := range []string{
		`"used":0,"quota":3,"remaining":3`, `"used":1,"quota":3,"remaining":2`, `"used":2,"quota":3,"remaining":1`,
		`"used":3,"quota":3,"remaining":0`,
	} {
		got := s.must(t, http.StatusOK, usage)
		if body := strings.TrimSpace(string(got.body)); body != want(step) {
			t.Errorf("usage = %s, want %s", body, want(step))
		}
		s.do(t, s.start(t, "").by(s.Tiny.Tokens.Executor))
	}
	s.exec(t, `UPDATE organizations SET run_quota = NULL`)
	s.exec(t, `UPDATE usage_counters SET quota = NULL`)
	got := s.must(t, http.StatusOK, usage)
	if body := strings.TrimSpace(string(got.body)); body != want(`"used":3,"quota":null,"remaining":null`) {
		t.Errorf("usage without a limit = %s", body)
	}
}

func TestNoSpellingOfAnAddressGoesAroundAuthentication(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.started(t, s.start(t, "secret")).ID.String()
	for _, path := range []string{
		"/%61pi/runs/", "/api%2Fruns/", "/api%2fruns%2f", "//api/runs/", "/./api/runs/", "/api//runs/", "/API/runs/",
		"/api/docs/../runs/", "/api/docs/..%2fruns/", "/api/docs%2f..%2fruns/", "/api/schema/../runs/" + run + "/",
		"/api/schema%2F..%2Fruns/", "/docs/../api/runs/", "/docs/..%2fapi/runs/", "/api/runs", "/api/runs/.",
		"/api;/runs/", "/api/runs/" + run, "/api/runs/" + run + "?x=.", "/livez/../api/runs/",
	} {
		got := s.do(t, call{path: path})
		if got.status < http.StatusBadRequest || bytes.Contains(got.body, []byte(run)) {
			t.Errorf("%s without a token = %d %s, want a refusal", path, got.status, got.body)
		}
	}
}
