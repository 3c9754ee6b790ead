package config_test

import (
	"maps"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// TestEveryPageThatWritesIsAudited sends a form that succeeds to every page that takes one. They are those of the access
// table, except where an owner of harbour has nothing to do there.
func TestEveryPageThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	calls := map[string]call{}
	for name, row := range s.pageAccess(t) {
		// Some end the session or the membership of who sends them.
		calls[name] = row.call.as("deeds").in(s.visitor(t, core.RoleOwner))
	}
	maps.Copy(calls, s.formsOfPeople(t))
	calls["POST /app/operations/"] = confirmed(s.operator(t), "retry", s.failedTask(t))
	_, own := s.addToken(t, s.Harbour, core.RoleOwner, core.RoleViewer)
	rotating := one[uuid.UUID](t, s, `SELECT user_id FROM api_tokens WHERE id = $1`, own)
	calls["POST /app/orgs/:org/tokens/:id/rotate/"] = post(harbourPages+"tokens/"+own.String()+"/rotate/",
		s.session(t, rotating), nil)
	member := harbourPages + "members/" + s.addMember(t, "removed-by-form", core.RoleViewer).String()
	changed := harbourPages + "members/" + s.addMember(t, "changed-by-form", core.RoleViewer).String()
	owner := s.visitor(t, core.RoleOwner)
	calls["POST /app/orgs/:org/members/:id/role/"] = post(changed+"/role/", owner, url.Values{"role": {"author"}})
	calls["POST /app/orgs/:org/members/:id/remove/"] = post(member+"/remove/", owner, nil)
	// They set a cookie alone.
	s.wantAudited(t, "/app/", []string{"POST /app/theme/", "POST /app/shortcut/"}, calls)
}

// formsOfPeople are what people do with their own accounts and invitations.
func (s *stage) formsOfPeople(tb testing.TB) map[string]call {
	tb.Helper()
	const email = "owner@tiny-quota.example"
	stranger, visitorID := s.stranger(tb), s.withPassword(tb)
	password := url.Values{"current": {visitorPassword}, "new": {"a new password"}, "again": {"a new password"}}
	account := func(rest string) call {
		return post("/app/account/invitations/"+s.invitedElsewhere(tb, email)+rest, stranger, nil)
	}
	linked := func(email, rest, session string, fields url.Values) call {
		return post(s.linkOf(tb, s.invited(tb, email))+rest, session, fields)
	}
	chosen := url.Values{"name": {"Kim"}, "new": {"a new password"}, "again": {"a new password"}}
	other := s.session(tb, one[uuid.UUID](tb, s, `SELECT id FROM users WHERE email = 'executor@tiny-quota.example'`))
	return map[string]call{
		// The calls are made in the order of their names, so the password is the new one.
		"POST /app/sign-in/":                         signIn(visitorEmail, "a new password"),
		"POST /app/account/password/":                post("/app/account/password/", s.session(tb, visitorID), password),
		"POST /app/account/invitations/:id/accept/":  account("/accept/"),
		"POST /app/account/invitations/:id/decline/": account("/decline/"),
		"POST /app/invitations/:token/join/":         linked("kim@b.example", "join/", "", chosen),
		"POST /app/invitations/:token/accept/":       linked(email, "accept/", stranger, nil),
		"POST /app/invitations/:token/decline/":      linked("executor@tiny-quota.example", "decline/", other, nil),
	}
}
