package pages

import (
	"maps"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestEveryPageThatWritesIsAudited sends a form that succeeds to every page that takes one. They are those of the
// access table, except where an owner of harbour has nothing to do there.
func TestEveryPageThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	// They set a cookie alone, or ask for what the worker does and audits.
	s.WantAudited(t, "/app/", []string{"POST /app/theme/", "POST /app/shortcut/", "POST /app/password/"},
		s.formsThatWrite(t))
}

func TestNoFormLeavesASecret(t *testing.T) {
	t.Parallel()
	fixture.KeepsNoSecret(t, func(served *fixture.Stage) map[string]call {
		return (&stage{Stage: served}).formsThatWrite(t)
	}, fixture.VisitorPassword, "a new password")
}

// formsThatWrite has a form that succeeds for every page that takes one.
func (s *stage) formsThatWrite(t *testing.T) map[string]call {
	t.Helper()
	calls := map[string]call{}
	for name, row := range s.pageAccess(t) {
		// Some end the session or the membership of who sends them.
		calls[name] = row.Call.As("actions").In(s.Visitor(t, api.RoleOwner))
	}
	maps.Copy(calls, s.formsOfPeople(t))
	maps.Copy(calls, s.formsOfSecondFactors(t))
	calls["POST /app/orgs/:org/settings/"] = harbourForm("settings/", s.Visitor(t, api.RoleOwner),
		url.Values{"name": {"Harbour"}})
	calls["POST /app/password/:token/"] = setting(s.passwordLink(t, s.Visitor(t, api.RoleOwner),
		s.AddMember(t, "forgetful", api.RoleViewer)), "a new password")
	calls["POST /app/operations/"] = confirmed(s.operator(t), "retry", s.failedTask(t))
	_, own := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleViewer)
	rotating := coretest.One[uuid.UUID](t, s.DB, `SELECT user_id FROM api_tokens WHERE id = $1`, own)
	calls["POST /app/orgs/:org/tokens/:id/rotate/"] = harbourForm("tokens/"+own.String()+"/rotate/",
		s.Session(t, rotating), nil)
	member := fixture.HarbourPages + "members/" + s.AddMember(t, "removed-by-form", api.RoleViewer).String()
	changed := fixture.HarbourPages + "members/" + s.AddMember(t, "changed-by-form", api.RoleViewer).String()
	owner := s.Visitor(t, api.RoleOwner)
	calls["POST /app/orgs/:org/members/:id/role/"] = fixture.Post(changed+"/role/", owner,
		url.Values{"role": {"author"}})
	calls["POST /app/orgs/:org/members/:id/remove/"] = fixture.Post(member+"/remove/", owner, nil)
	calls["POST /app/orgs/:org/try/:operation/"] = tryStart(t, owner, map[string]string{"path-id": "meter-readings"},
		fixture.SampleText(t, "good/meter-readings.csv"))
	return calls
}

// formsOfSecondFactors are what people do with second factors, each with a user of its own.
func (s *stage) formsOfSecondFactors(tb testing.TB) map[string]call {
	tb.Helper()
	user := func(name string) (uuid.UUID, string) {
		id := s.AddMember(tb, name, api.RoleViewer)
		if err := s.Users.SignIn.SetPassword(tb.Context(), id, fixture.VisitorPassword); err != nil {
			tb.Fatal(err)
		}
		return id, s.Session(tb, id)
	}
	_, renewing := user("renewing")
	s.enrolled(tb, renewing)
	_, confirming := user("confirming")
	app := s.pending(tb, confirming)
	_, removing := user("removing")
	s.enrolled(tb, removing)
	lost, losing := user("losing")
	s.enrolled(tb, losing)
	_, entered := user("entering")
	entry := s.enrolled(tb, entered)
	const page = "/app/account/second-factor/"
	return map[string]call{
		"POST /app/account/second-factor/codes/": fixture.Post(page+"codes/", renewing, nil),
		"POST /app/account/second-factor/confirm/": fixture.Post(page+"confirm/", confirming,
			url.Values{"code": {s.code(tb, app, 1)}}),
		"POST /app/account/second-factor/remove/": fixture.Post(page+"remove/", removing, nil),
		"POST /app/orgs/:org/members/:id/second-factor/remove/": fixture.Post(
			fixture.HarbourPages+"members/"+lost.String()+"/second-factor/remove/", s.Visitor(tb, api.RoleOwner), nil),
		"POST /app/sign-in/code/": entering(s.passedBy(tb, "entering@harbour-energy.example"), s.code(tb, entry, 1)),
	}
}

// formsOfPeople are what people do with their own accounts and invitations.
func (s *stage) formsOfPeople(tb testing.TB) map[string]call {
	tb.Helper()
	const email = "owner@tiny-quota.example"
	stranger, visitorID := s.SessionOf(tb, email), s.WithPassword(tb)
	password := url.Values{"current": {fixture.VisitorPassword}, "new": {"a new password"}, "again": {"a new password"}}
	account := func(rest string) call {
		return fixture.Post("/app/account/invitations/"+s.InvitedElsewhere(tb, email)+rest, stranger, nil)
	}
	linked := func(email, rest, session string, fields url.Values) call {
		return fixture.Post(s.LinkOf(tb, s.Invited(tb, email))+rest, session, fields)
	}
	chosen := url.Values{"name": {"Kim"}, "new": {"a new password"}, "again": {"a new password"}}
	other := s.SessionOf(tb, "executor@tiny-quota.example")
	return map[string]call{
		// The calls are made in the order of their names, so the password is the new one.
		"POST /app/sign-in/": fixture.SignIn(fixture.VisitorEmail, "a new password"),
		"POST /app/account/password/": fixture.Post("/app/account/password/", s.Session(tb, visitorID),
			password),
		"POST /app/account/invitations/:id/accept/":  account("/accept/"),
		"POST /app/account/invitations/:id/decline/": account("/decline/"),
		"POST /app/invitations/:token/join/":         linked("kim@b.example", "join/", "", chosen),
		"POST /app/invitations/:token/accept/":       linked(email, "accept/", stranger, nil),
		"POST /app/invitations/:token/decline/":      linked("executor@tiny-quota.example", "decline/", other, nil),
	}
}
