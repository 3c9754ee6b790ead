package config_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
)

// access is one authenticated route and what its callers are answered with.
type access struct {
	// call may have the word ROLE in its body where each caller needs one of its own.
	call call
	// least is the lowest role that is answered with ok. Those below it are answered with below, or 403 where it is 0.
	least core.Role
	ok    int
	below int
	// but has the roles that are answered with something else.
	but map[core.Role]int
	// foreign is what the owner of another organization is answered with.
	foreign int
	// leaves says that the call ends the membership of its caller.
	leaves bool
}

func (a access) status(role core.Role) int {
	switch {
	case a.but[role] != 0:
		return a.but[role]
	case role.Allows(a.least):
		return a.ok
	case a.below != 0:
		return a.below
	default:
		return http.StatusForbidden
	}
}

// formKey stands for the key of a form of which every caller has one of its own.
const formKey = "FORM-KEY"

// as returns the call for a caller of the role.
func (c call) as(role core.Role) call {
	key := uuid.Must(uuid.NewV7()).String()
	c.body = strings.NewReplacer("ROLE", string(role), formKey, key).Replace(c.body)
	return c
}

// accessTable has a row for every authenticated route.
func (s *stage) accessTable(tb testing.TB) map[string]access {
	tb.Helper()
	table := s.accessToWorkflows(tb)
	for _, part := range []map[string]access{s.accessToRuns(tb), s.accessToAccount(tb), s.accessOfExistingClient(tb)} {
		maps.Copy(table, part)
	}
	return table
}

// readable is a list or a thing that every member reads; a thing is not there for others.
func readable(path string, foreign int) access {
	return access{call: call{path: path}, least: core.RoleViewer, ok: http.StatusOK, foreign: foreign}
}

func (s *stage) accessToWorkflows(tb testing.TB) map[string]access {
	tb.Helper()
	workflow := "/api/workflows/" + s.Harbour.Workflows[1].ID.String() + "/"
	other := "/api/workflows/" + s.Harbour.Workflows[0].ID.String() + "/"
	start := s.start(tb, "").to(workflow + "start/")
	const definition = `"definition":{"accepts":["text/csv"],"steps":[
		{"id":"a","name":"A","type":"json_schema","config":{"schema":{}}}]}}`
	create := start.to("/api/workflows/").withBody("application/json", `{"slug":"made-ROLE","name":"Made",`+definition)
	version := start.to(workflow+"versions/").withBody("application/json", "{"+definition)
	changed := start.to(workflow).withBody("application/json", `{"name":"Changed"}`).by("")
	changed.method = http.MethodPatch
	imported := start.to("/api/workflows/import/").
		withBody("application/yaml", strings.ReplaceAll(siteReport, "from-file", "from-ROLE"))
	author := func(c call, ok, foreign int) access {
		return access{call: c, least: core.RoleAuthor, ok: ok, foreign: foreign}
	}
	return map[string]access{
		"POST /api/workflows/":                author(create, 201, 201),
		"POST /api/workflows/:id/versions/":   author(version, 201, 404),
		"PATCH /api/workflows/:id/":           author(changed, 200, 404),
		"POST /api/workflows/:id/activate/":   author(start.to(workflow+"activate/"), 200, 404),
		"POST /api/workflows/:id/deactivate/": author(start.to(other+"deactivate/"), 200, 404),
		"POST /api/workflows/import/":         author(imported, 201, 201),
		"GET /api/signing-secrets/": {
			call: call{path: "/api/signing-secrets/"}, least: core.RoleAdmin, ok: 200, foreign: 200,
		},
		"GET /api/workflows/:id/export/": readable(workflow+"export/", 404),
		"GET /api/workflows/":            readable("/api/workflows/", 200),
		"GET /api/workflows/:id/":        readable(workflow, 404),
		"POST /api/workflows/:id/start/": {call: start, least: core.RoleExecutor, ok: 201, foreign: 404},
	}
}

func (s *stage) accessToRuns(tb testing.TB) map[string]access {
	tb.Helper()
	ended := "/api/runs/" + s.started(tb, s.start(tb, "")).ID.String() + "/"
	s.work(tb)
	run := "/api/runs/" + s.started(tb, s.start(tb, "")).ID.String() + "/"
	canceled := "/api/runs/" + s.started(tb, s.start(tb, "")).ID.String() + "/"
	key := "/api/idempotency-keys/" + s.abandoned(tb, "accessible").ID.String() + "/"
	post := call{method: http.MethodPost}
	rerun, cancel := post.to(run+"rerun/"), post.to(canceled+"cancel/")
	release := post.to(key+"release/").withBody("application/json", `{"reason":"why"}`)
	return map[string]access{
		"GET /api/runs/":                          readable("/api/runs/", 200),
		"GET /api/runs/:id/":                      readable(run, 404),
		"GET /api/runs/:id/events/":               readable(ended+"events/", 404),
		"GET /api/runs/:id/findings/":             readable(run+"findings/", 404),
		"POST /api/runs/:id/rerun/":               {call: rerun, least: core.RoleExecutor, ok: 201, foreign: 404},
		"POST /api/runs/:id/cancel/":              {call: cancel, least: core.RoleExecutor, ok: 200, foreign: 404},
		"GET /api/idempotency-keys/":              readable("/api/idempotency-keys/", 200),
		"GET /api/idempotency-keys/activity/":     readable("/api/idempotency-keys/activity/", 200),
		"GET /api/idempotency-keys/:id/":          readable(key, 404),
		"POST /api/idempotency-keys/:id/release/": {call: release, least: core.RoleAdmin, ok: 204, foreign: 404},
	}
}

func (s *stage) accessToAccount(tb testing.TB) map[string]access {
	tb.Helper()
	changing := "/api/members/" + s.addMember(tb, "changing", core.RoleExecutor).String() + "/"
	leaving := "/api/members/" + s.addMember(tb, "leaving", core.RoleExecutor).String() + "/"
	_, rotating := s.addToken(tb, s.Harbour, core.RoleOwner, core.RoleViewer)
	_, revoking := s.addToken(tb, s.Harbour, core.RoleOwner, core.RoleViewer)
	sent := func(method, path, body string) call {
		return call{method: method, path: path}.withBody("application/json", body)
	}
	admin := func(c call, ok, foreign int) access {
		return access{call: c, least: core.RoleAdmin, ok: ok, foreign: foreign}
	}
	invite := sent(http.MethodPost, "/api/members/", `{"email":"invited-by-ROLE@b.example","role":"viewer"}`)
	linked := "/api/members/invitations/" + s.invited(tb, "linked@b.example").String() + "/"
	revoked := "/api/members/invitations/" + s.invited(tb, "revoked@b.example").String() + "/"
	// Those who are invited are none of the callers.
	nobodys := func(path string) access {
		return access{call: sent(http.MethodPost, path, ""), least: core.RoleViewer, ok: 404, foreign: 404}
	}
	own := "/api/invitations/" + s.invited(tb, "viewer@tiny-quota.example").String() + "/"
	change := sent(http.MethodPatch, changing, `{"role":"viewer"}`)
	create := sent(http.MethodPost, "/api/tokens/", `{"label":"made by ROLE","role":"viewer"}`)
	revoke := admin(call{method: http.MethodDelete, path: "/api/tokens/" + revoking.String() + "/"}, 204, 404)
	revoke.below = http.StatusNotFound
	rotate := sent(http.MethodPost, "/api/tokens/"+rotating.String()+"/rotate/", `{}`)
	return map[string]access{
		"GET /api/me/":       readable("/api/me/", 200),
		"GET /api/orgs/":     readable("/api/orgs/", 200),
		"GET /api/usage/":    readable("/api/usage/", 200),
		"GET /api/audit/":    admin(call{path: "/api/audit/"}, 200, 200),
		"GET /api/members/":  readable("/api/members/", 200),
		"POST /api/members/": admin(invite, 201, 201),
		// The other organization has one owner.
		"DELETE /api/members/me/": {
			call: call{method: http.MethodDelete, path: "/api/members/me/"}, least: core.RoleViewer, ok: 204,
			foreign: 422, leaves: true,
		},
		"GET /api/members/invitations/":           admin(call{path: "/api/members/invitations/"}, 200, 200),
		"POST /api/members/invitations/:id/link/": admin(sent(http.MethodPost, linked+"link/", ""), 201, 404),
		"DELETE /api/members/invitations/:id/":    admin(call{method: http.MethodDelete, path: revoked}, 204, 204),
		"GET /api/invitations/":                   readable("/api/invitations/", 200),
		"POST /api/invitations/:id/accept/":       nobodys(own + "accept/"),
		"POST /api/invitations/:id/decline/":      nobodys(own + "decline/"),
		"PATCH /api/members/:id/":                 admin(change, 200, 404),
		"DELETE /api/members/:id/":                admin(call{method: http.MethodDelete, path: leaving}, 204, 204),
		"GET /api/tokens/":                        readable("/api/tokens/", 200),
		"POST /api/tokens/":                       {call: create, least: core.RoleViewer, ok: 201, foreign: 201},
		"DELETE /api/tokens/:id/":                 revoke,
		// An admin may see the owner's token and not rotate it.
		"POST /api/tokens/:id/rotate/": {
			call: rotate, least: core.RoleOwner, ok: 201, below: 404, but: map[core.Role]int{core.RoleAdmin: 403},
			foreign: 404,
		},
	}
}

func (s *stage) accessOfExistingClient(tb testing.TB) map[string]access {
	tb.Helper()
	const org = "/api/v1/orgs/harbour-energy/"
	run := s.started(tb, s.start(tb, ""))
	start := s.start(tb, "").to(org + "workflows/meter-readings/runs/")
	return map[string]access{
		"GET /api/v1/auth/me/":                       readable("/api/v1/auth/me/", 200),
		"GET /api/v1/orgs/":                          readable("/api/v1/orgs/", 200),
		"GET /api/v1/orgs/:org/workflows/":           readable(org+"workflows/", 404),
		"GET /api/v1/orgs/:org/workflows/:id/":       readable(org+"workflows/meter-readings/", 404),
		"GET /api/v1/orgs/:org/runs/:id/":            readable(org+"runs/"+run.ID.String()+"/", 404),
		"POST /api/v1/orgs/:org/workflows/:id/runs/": {call: start, least: core.RoleExecutor, ok: 201, foreign: 404},
	}
}

// invited invites somebody to harbour and returns the id of the invitation.
func (s *stage) invited(tb testing.TB, email string) uuid.UUID {
	tb.Helper()
	invite := adding(s.Harbour.Tokens.Owner, `{"email":"`+email+`","name":"Invited","role":"viewer"}`)
	return decoded[invitationAnswer](tb, s.must(tb, http.StatusCreated, invite)).ID
}

// invitedElsewhere invites an address to a new organization, since one address has one open invitation of each.
func (s *stage) invitedElsewhere(tb testing.TB, email string) string {
	tb.Helper()
	org, err := s.Users.CreateOrganization(tb.Context(), uuid.NewString(), "Other", nil)
	if err != nil {
		tb.Fatal(err)
	}
	s.exec(tb, `INSERT INTO memberships (org_id, user_id, role)
		SELECT $1, user_id, 'owner' FROM memberships WHERE org_id = $2 AND role = 'owner' LIMIT 1`,
		org.ID, s.Harbour.ID)
	return one[string](tb, s, `INSERT INTO invitations (org_id, id, email, role, invited_by)
		SELECT org_id, gen_random_uuid(), $2, 'viewer', user_id FROM memberships WHERE org_id = $1
		RETURNING id::text`, org.ID, email)
}

// addMember makes a member of harbour who is not of the demonstration.
func (s *stage) addMember(tb testing.TB, name string, role core.Role) uuid.UUID {
	tb.Helper()
	user, err := s.Users.EnsureUser(tb.Context(), name+"@harbour-energy.example", name)
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Users.SetMembership(tb.Context(), s.Harbour.ID, user.ID, role); err != nil {
		tb.Fatal(err)
	}
	return user.ID
}

// tokenOf makes a token of a member of harbour.
func (s *stage) tokenOf(tb testing.TB, userID uuid.UUID, role core.Role) string {
	tb.Helper()
	secret, err := s.Users.CreateToken(tb.Context(), users.TokenRequest{
		OrgID: s.Harbour.ID, UserID: userID, Label: "test", Role: role,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return secret
}

// tokensOfRoles returns a token of a member of harbour for each role.
func (s *stage) tokensOfRoles(tb testing.TB) map[core.Role]string {
	tb.Helper()
	tokens := map[core.Role]string{
		core.RoleViewer: s.Harbour.Tokens.Viewer, core.RoleExecutor: s.Harbour.Tokens.Executor,
		core.RoleOwner: s.Harbour.Tokens.Owner,
	}
	for _, role := range []core.Role{core.RoleAuthor, core.RoleAdmin} {
		tokens[role] = s.tokenOf(tb, s.addMember(tb, string(role), role), role)
	}
	return tokens
}
