package config_test

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
)

// unrecordedRoutes are routes that take more than a GET and leave no audit record, with the reason.
func unrecordedRoutes() map[string]string {
	return map[string]string{
		"POST /api/callbacks/:id/": "an external service answers; the run's steps say what and when",
		"POST /app/theme/":         "sets a cookie",
		"POST /app/shortcut/":      "sets a cookie",
	}
}

// TestEveryRouteThatWritesIsAudited makes a call that succeeds for every route that writes.
func TestEveryRouteThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	deeds := s.deedsByRoute(t)
	var routes []string
	for _, route := range s.router.Routes() {
		name := route.Method + " " + route.Path
		inScope := strings.HasPrefix(route.Path, "/api/") || strings.HasPrefix(route.Path, "/app/")
		if !inScope || route.Method == http.MethodGet || route.Method == "echo_route_not_found" {
			continue
		}
		if unrecordedRoutes()[name] == "" {
			routes = append(routes, name)
		}
	}
	slices.Sort(routes)
	if diff := cmp.Diff(routes, slices.Sorted(maps.Keys(deeds))); diff != "" {
		t.Errorf("routes that write (-routes +deeds):\n%s", diff)
	}
	const records = `SELECT count(*) FROM audit_records`
	for _, name := range slices.Sorted(maps.Keys(deeds)) {
		deed := deeds[name]
		// To repeat what is so already changes nothing.
		s.exec(t, `UPDATE workflows SET is_active = $1`, !strings.HasSuffix(name, "/activate/"))
		before := one[int64](t, s, records)
		got := s.answerTo(t, deed)
		if got.status >= http.StatusBadRequest {
			t.Errorf("%s: status = %d, want a deed; body %s", name, got.status, got.body)
			continue
		}
		if one[int64](t, s, records) == before {
			t.Errorf("%s left no audit record", name)
		}
	}
}

// deedsByRoute has a call that changes something for each route that writes. They are those of the access tables, but
// where an owner of harbour has nothing to do there.
func (s *stage) deedsByRoute(tb testing.TB) map[string]call {
	tb.Helper()
	deeds := map[string]call{}
	for name, row := range s.accessTable(tb) {
		token := s.Harbour.Tokens.Owner
		if row.leaves {
			token = s.tokenOf(tb, s.addMember(tb, "deeds", core.RoleViewer), core.RoleViewer)
		}
		deeds[name] = row.call.as(core.RoleOwner).by(token)
	}
	for name, row := range s.pageAccess(tb) {
		// Some end the session or the membership of who sends them.
		deeds[name] = row.call.as("deeds").in(s.visitor(tb, core.RoleOwner))
	}
	maps.Copy(deeds, s.deedsOfPeople(tb))
	// Making the tables executes the runs that wait.
	waiting := s.started(tb, s.start(tb, "")).ID
	deeds["POST /api/runs/:id/cancel/"] = s.cancel(waiting)
	deeds["POST /app/operations/"] = confirmed(s.operator(tb), "retry", s.failedTask(tb))
	_, own := s.addToken(tb, s.Harbour, core.RoleOwner, core.RoleViewer)
	rotating := one[uuid.UUID](tb, s, `SELECT user_id FROM api_tokens WHERE id = $1`, own)
	deeds["POST /app/orgs/:org/tokens/:id/rotate/"] = post(harbourPages+"tokens/"+own.String()+"/rotate/",
		s.session(tb, rotating), nil)
	member := harbourPages + "members/" + s.addMember(tb, "removed-by-form", core.RoleViewer).String()
	changed := harbourPages + "members/" + s.addMember(tb, "changed-by-form", core.RoleViewer).String()
	owner := s.visitor(tb, core.RoleOwner)
	deeds["POST /app/orgs/:org/members/:id/role/"] = post(changed+"/role/", owner, url.Values{"role": {"author"}})
	deeds["POST /app/orgs/:org/members/:id/remove/"] = post(member+"/remove/", owner, nil)
	for name := range deeds {
		if strings.HasPrefix(name, http.MethodGet) || unrecordedRoutes()[name] != "" {
			delete(deeds, name)
		}
	}
	return deeds
}

// deedsOfPeople are what people do with their own accounts and invitations.
func (s *stage) deedsOfPeople(tb testing.TB) map[string]call {
	tb.Helper()
	stranger, token := s.stranger(tb), s.Tiny.Tokens.Owner
	const email = "owner@tiny-quota.example"
	// One address has one open invitation, so the next is made by another organization.
	invitation := func() string {
		org, err := s.Users.CreateOrganization(tb.Context(), "o-"+newFormKey(tb), "Other", nil)
		if err != nil {
			tb.Fatal(err)
		}
		s.exec(tb, `INSERT INTO memberships (org_id, user_id, role) SELECT $1, created_by, 'owner' FROM (
			SELECT user_id AS created_by FROM memberships WHERE org_id = $2 AND role = 'owner' LIMIT 1) AS o`,
			org.ID, s.Harbour.ID)
		return one[string](tb, s, `INSERT INTO invitations (org_id, id, email, role, invited_by)
			SELECT org_id, gen_random_uuid(), $2, 'viewer', user_id FROM memberships WHERE org_id = $1
			RETURNING id::text`, org.ID, email)
	}
	visitorID := s.withPassword(tb)
	password := url.Values{"current": {visitorPassword}, "new": {"a new password"}, "again": {"a new password"}}
	own := func(rest string) call {
		return call{method: http.MethodPost, path: "/api/invitations/" + invitation() + rest, token: token}
	}
	account := func(rest string) call {
		return post("/app/account/invitations/"+invitation()+rest, stranger, nil)
	}
	linked := func(email, rest, session string, fields url.Values) call {
		return post(s.linkOf(tb, s.invited(tb, email))+rest, session, fields)
	}
	chosen := url.Values{"name": {"Kim"}, "new": {"a new password"}, "again": {"a new password"}}
	other := s.session(tb, one[uuid.UUID](tb, s, `SELECT id FROM users WHERE email = 'executor@tiny-quota.example'`))
	return map[string]call{
		// The deeds are done in the order of their names, so the password is the new one.
		"POST /app/sign-in/": signIn(visitorEmail, "a new password"),
		"POST /app/account/password/": post("/app/account/password/",
			s.session(tb, visitorID), password),
		"POST /api/invitations/:id/accept/":          own("/accept/"),
		"POST /api/invitations/:id/decline/":         own("/decline/"),
		"POST /app/account/invitations/:id/accept/":  account("/accept/"),
		"POST /app/account/invitations/:id/decline/": account("/decline/"),
		"POST /app/invitations/:token/join/":         linked("kim@b.example", "join/", "", chosen),
		"POST /app/invitations/:token/accept/":       linked(email, "accept/", stranger, nil),
		"POST /app/invitations/:token/decline/":      linked("executor@tiny-quota.example", "decline/", other, nil),
	}
}

// unrecordedCommands are commands that leave no audit record of their own, by the reason.
func unrecordedCommands() map[string]string {
	return map[string]string{
		"they read": `check, config show, doctor, errors, idempotency explain, idempotency list, idempotency show,
			migrate plan, migrate status, openapi, org list, org show, runs list,
			signing-secret show, user list, version, workflows lint`,
		"the API records what they ask for": `audit list, invitations accept, invitations decline, invitations list,
			members invitations, members invite, members leave, members link, members list, members remove,
			members revoke, members role, run, runs cancel, runs get, runs rerun, runs watch, smoke, token list,
			token revoke, token rotate, usage, whoami, workflows export, workflows import, workflows list,
			workflows show`,
		"the settings decide what is deleted, and no person": `idempotency purge, runs purge`,
		"TestDeleteOrganization looks for its record":        `org delete`,
		"they change no organization":                        `migrate up, serve`,
		"TestResealSigningKeys looks for its records":        `secrets rotate`,
	}
}

// TestEveryCommandThatWritesIsAudited runs every command of the operator's that writes.
func TestEveryCommandThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.started(t, s.start(t, "")).ID.String()
	s.exec(t, `DELETE FROM staged_jobs`)
	key := s.abandoned(t, "audited").ID.String()
	const org, user = "harbour-energy", "owner@harbour-energy.example"
	deeds := map[string][]string{
		"idempotency release":   {key, "--org", org, "--reason", "why"},
		"org create":            {"made-by-the-operator"},
		"org suspend":           {org, "--reason", "why"},
		"org resume":            {org, "--reason", "why"},
		"user delete":           {"viewer@harbour-energy.example"},
		"org set-keys":          {org, "--required", "--lifetime", "1h"},
		"org set-overage":       {org, "on"},
		"org set-quota":         {org, "10"},
		"org set-tokens":        {org, "20"},
		"org set-retention":     {org, "--content", "24h", "--findings", "24h"},
		"runs requeue":          {run, "--org", org},
		"seed":                  {"--demo"},
		"signing-secret rotate": {"--org", org},
		"token create":          {"--org", org, "--user", user},
		"user add":              {"owner@tiny-quota.example", "--org", org, "--role", "viewer"},
		"user create":           {"shadow@b.example", "--org", org},
		"user set-operator":     {user, "on"},
		"user set-password":     {user, "--password-stdin"},
	}
	known := slices.Collect(maps.Keys(deeds))
	for _, commands := range unrecordedCommands() {
		for name := range strings.SplitSeq(commands, ",") {
			known = append(known, strings.Join(strings.Fields(name), " "))
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(leaves(config.Program{}.Command()), known); diff != "" {
		t.Errorf("commands (-program +known):\n%s", diff)
	}
	const records = `SELECT count(*) FROM audit_records WHERE actor_id IS NULL`
	for name, args := range deeds {
		before := one[int64](t, s, records)
		var complaint bytes.Buffer
		code := config.Program{
			Environ: s.console(t).environ, Stdin: strings.NewReader("a long new password\n"), Stdout: &bytes.Buffer{},
			Stderr: &complaint,
		}.Run(t.Context(), append(strings.Fields(name), args...))
		if code != 0 {
			t.Errorf("%s = %d, want 0: %s", name, code, complaint.String())
			continue
		}
		if one[int64](t, s, records) == before {
			t.Errorf("%s left no audit record", name)
		}
	}
}

// leaves are the commands that do something, in their order.
func leaves(root *cobra.Command) []string {
	var names []string
	for _, child := range root.Commands() {
		switch {
		case child.Name() == "completion" || child.Name() == "help":
		case child.HasSubCommands():
			names = append(names, leaves(child)...)
		default:
			names = append(names, strings.TrimPrefix(child.CommandPath(), "simplevalidations "))
		}
	}
	slices.Sort(names)
	return names
}
