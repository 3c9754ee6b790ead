package api

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// accessTable has a row for every authenticated route.
func (s *stage) accessTable(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	table := s.accessToWorkflows(tb)
	for _, part := range []map[string]fixture.Access{
		s.accessToRuns(tb), s.accessToWebhooks(tb), s.accessToAccount(tb), s.accessOfExistingClient(tb),
	} {
		maps.Copy(table, part)
	}
	return table
}

// readable is a list or a thing that every member reads; a thing is not there for others.
func readable(path string, foreign int) fixture.Access {
	return fixture.Access{Call: call{Path: path}, Least: api.RoleViewer, OK: http.StatusOK, Foreign: foreign}
}

func (s *stage) accessToWorkflows(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	workflow := "/api/workflows/" + s.Harbour.Workflows[1].ID.String() + "/"
	other := "/api/workflows/" + s.Harbour.Workflows[0].ID.String() + "/"
	start := s.Start(tb, "").To(workflow + "start/")
	const definition = `"definition":{"accepts":["text/csv"],"steps":[
		{"id":"a","name":"A","type":"json_schema","config":{"schema":{}}}]}}`
	create := start.To("/api/workflows/").WithBody("application/json", `{"slug":"made-ROLE","name":"Made",`+definition)
	version := start.To(workflow+"versions/").WithBody("application/json", "{"+definition)
	changed := start.To(workflow).WithBody("application/json", `{"name":"Changed"}`).By("")
	changed.Method = http.MethodPatch
	imported := start.To("/api/workflows/import/").
		WithBody("application/yaml", strings.ReplaceAll(siteReport, "from-file", "from-ROLE"))
	author := func(c call, ok, foreign int) fixture.Access {
		return fixture.Access{Call: c, Least: api.RoleAuthor, OK: ok, Foreign: foreign}
	}
	return map[string]fixture.Access{
		"POST /api/workflows/":                author(create, 201, 201),
		"POST /api/workflows/:id/versions/":   author(version, 201, 404),
		"PATCH /api/workflows/:id/":           author(changed, 200, 404),
		"POST /api/workflows/:id/activate/":   author(start.To(workflow+"activate/"), 200, 404),
		"POST /api/workflows/:id/deactivate/": author(start.To(other+"deactivate/"), 200, 404),
		"POST /api/workflows/import/":         author(imported, 201, 201),
		"GET /api/signing-secrets/": {
			Call: call{Path: "/api/signing-secrets/"}, Least: api.RoleAdmin, OK: 200, Foreign: 200,
		},
		"GET /api/workflows/:id/export/": readable(workflow+"export/", 404),
		"GET /api/workflows/":            readable("/api/workflows/", 200),
		"GET /api/workflows/:id/":        readable(workflow, 404),
		"POST /api/workflows/:id/start/": {Call: start, Least: api.RoleExecutor, OK: 201, Foreign: 404},
	}
}

func (s *stage) accessToRuns(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	ended := "/api/runs/" + s.Started(tb, s.Start(tb, "")).ID + "/"
	s.Work(tb)
	run := "/api/runs/" + s.Started(tb, s.Start(tb, "")).ID + "/"
	canceled := "/api/runs/" + s.Started(tb, s.Start(tb, "")).ID + "/"
	key := "/api/idempotency-keys/" + s.Abandoned(tb, "accessible").ID + "/"
	post := call{Method: http.MethodPost}
	rerun, cancel := post.To(run+"rerun/"), post.To(canceled+"cancel/")
	release := post.To(key+"release/").WithBody("application/json", `{"reason":"why"}`)
	s.FlushRequests(tb)
	logged := coretest.One[uuid.UUID](tb, s.DB, `SELECT id FROM request_log WHERE org_id = $1 LIMIT 1`, s.Harbour.ID)
	return map[string]fixture.Access{
		"GET /api/requests/":                      readable("/api/requests/", 200),
		"GET /api/requests/:id/":                  readable("/api/requests/"+logged.String()+"/", 404),
		"GET /api/runs/":                          readable("/api/runs/", 200),
		"GET /api/runs/:id/":                      readable(run, 404),
		"GET /api/runs/:id/comparison/":           readable(run+"comparison/", 404),
		"GET /api/runs/:id/document/":             readable(run+"document/", 404),
		"GET /api/runs/:id/document/content/":     readable(run+"document/content/", 404),
		"GET /api/runs/:id/events/":               readable(ended+"events/", 404),
		"GET /api/runs/:id/findings/":             readable(run+"findings/", 404),
		"POST /api/runs/:id/rerun/":               {Call: rerun, Least: api.RoleExecutor, OK: 201, Foreign: 404},
		"POST /api/runs/:id/cancel/":              {Call: cancel, Least: api.RoleExecutor, OK: 200, Foreign: 404},
		"GET /api/idempotency-keys/":              readable("/api/idempotency-keys/", 200),
		"GET /api/idempotency-keys/activity/":     readable("/api/idempotency-keys/activity/", 200),
		"GET /api/idempotency-keys/:id/":          readable(key, 404),
		"POST /api/idempotency-keys/:id/release/": {Call: release, Least: api.RoleAdmin, OK: 204, Foreign: 404},
	}
}

func (s *stage) accessToAccount(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	changing := "/api/members/" + s.AddMember(tb, "changing", api.RoleExecutor).String() + "/"
	leaving := "/api/members/" + s.AddMember(tb, "leaving", api.RoleExecutor).String() + "/"
	_, rotating := s.AddToken(tb, s.Harbour, api.RoleOwner, api.RoleViewer)
	_, revoking := s.AddToken(tb, s.Harbour, api.RoleOwner, api.RoleViewer)
	sent := func(method, path, body string) call {
		return call{Method: method, Path: path}.WithBody("application/json", body)
	}
	admin := func(c call, ok, foreign int) fixture.Access {
		return fixture.Access{Call: c, Least: api.RoleAdmin, OK: ok, Foreign: foreign}
	}
	invite := sent(http.MethodPost, "/api/members/", `{"email":"invited-by-ROLE@b.example","role":"viewer"}`)
	linked := "/api/members/invitations/" + s.Invited(tb, "linked@b.example") + "/"
	revoked := "/api/members/invitations/" + s.Invited(tb, "revoked@b.example") + "/"
	// Those who are invited are none of the callers.
	nobodys := func(path string) fixture.Access {
		return fixture.Access{Call: sent(http.MethodPost, path, ""), Least: api.RoleExecutor, OK: 404, Foreign: 404}
	}
	own := "/api/invitations/" + s.Invited(tb, "viewer@tiny-quota.example") + "/"
	change := sent(http.MethodPatch, changing, `{"role":"viewer"}`)
	create := sent(http.MethodPost, "/api/tokens/", `{"label":"made by ROLE","role":"viewer"}`)
	revoke := admin(call{Method: http.MethodDelete, Path: "/api/tokens/" + revoking.String() + "/"}, 204, 404)
	revoke.Below = http.StatusNotFound
	rotate := sent(http.MethodPost, "/api/tokens/"+rotating.String()+"/rotate/", `{}`)
	return map[string]fixture.Access{
		"GET /api/me/":           readable("/api/me/", 200),
		"GET /api/orgs/":         readable("/api/orgs/", 200),
		"GET /api/usage/":        readable("/api/usage/", 200),
		"GET /api/organization/": readable("/api/organization/", 200),
		"PATCH /api/organization/": {
			Call:  sent(http.MethodPatch, "/api/organization/", `{"key_lifetime_ms":86400000}`),
			Least: api.RoleOwner, OK: 200, Foreign: 200,
		},
		"GET /api/audit/":    admin(call{Path: "/api/audit/"}, 200, 200),
		"GET /api/members/":  readable("/api/members/", 200),
		"POST /api/members/": admin(invite, 201, 201),
		// The other organization has one owner.
		"DELETE /api/members/me/": {
			Call: call{Method: http.MethodDelete, Path: "/api/members/me/"}, Least: api.RoleViewer, OK: 204,
			Foreign: 422, Leaves: true,
		},
		"GET /api/members/invitations/":           admin(call{Path: "/api/members/invitations/"}, 200, 200),
		"POST /api/members/invitations/:id/link/": admin(sent(http.MethodPost, linked+"link/", ""), 201, 404),
		"DELETE /api/members/invitations/:id/":    admin(call{Method: http.MethodDelete, Path: revoked}, 204, 204),
		"GET /api/invitations/": {
			Call: call{Path: "/api/invitations/"}, Least: api.RoleExecutor, OK: 200, Foreign: 200,
		},
		"POST /api/invitations/:id/accept/":  nobodys(own + "accept/"),
		"POST /api/invitations/:id/decline/": nobodys(own + "decline/"),
		"PATCH /api/members/:id/":            admin(change, 200, 404),
		"DELETE /api/members/:id/":           admin(call{Method: http.MethodDelete, Path: leaving}, 204, 204),
		"GET /api/tokens/":                   readable("/api/tokens/", 200),
		"POST /api/tokens/":                  {Call: create, Least: api.RoleViewer, OK: 201, Foreign: 201},
		"DELETE /api/tokens/:id/":            revoke,
		// An admin may see the owner's token and not rotate it.
		"POST /api/tokens/:id/rotate/": {
			Call: rotate, Least: api.RoleOwner, OK: 201, Below: 404, But: map[api.Role]int{api.RoleAdmin: 403},
			Foreign: 404,
		},
	}
}

func (s *stage) accessOfExistingClient(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	const org = "/api/v1/orgs/harbour-energy/"
	run := s.Started(tb, s.Start(tb, ""))
	start := s.Start(tb, "").To(org + "workflows/meter-readings/runs/")
	return map[string]fixture.Access{
		"GET /api/v1/auth/me/":                       readable("/api/v1/auth/me/", 200),
		"GET /api/v1/orgs/":                          readable("/api/v1/orgs/", 200),
		"GET /api/v1/orgs/:org/workflows/":           readable(org+"workflows/", 404),
		"GET /api/v1/orgs/:org/workflows/:id/":       readable(org+"workflows/meter-readings/", 404),
		"GET /api/v1/orgs/:org/runs/:id/":            readable(org+"runs/"+run.ID+"/", 404),
		"POST /api/v1/orgs/:org/workflows/:id/runs/": {Call: start, Least: api.RoleExecutor, OK: 201, Foreign: 404},
	}
}

// tokensOfRoles returns a token of a member of harbour for each role.
func (s *stage) tokensOfRoles(tb testing.TB) map[api.Role]string {
	tb.Helper()
	tokens := map[api.Role]string{
		api.RoleViewer: s.Harbour.Tokens.Viewer, api.RoleExecutor: s.Harbour.Tokens.Executor,
		api.RoleOwner: s.Harbour.Tokens.Owner,
	}
	for _, role := range []api.Role{api.RoleAuthor, api.RoleAdmin} {
		tokens[role] = s.TokenOf(tb, s.AddMember(tb, string(role), role), role)
	}
	return tokens
}
