package config_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// hostile is a name that would be a script if a page showed it as it is.
const hostile = `<script>alert(1)</script>"'&`

func TestTokensPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.visitor(t, core.RoleOwner)
	form := url.Values{"id": {uuid.NewString()}, "label": {hostile}, "role": {"executor"}, "days": {"30"}}

	created := s.answerTo(t, post(harbourPages+"tokens/", owner, form))
	if created.status != http.StatusCreated {
		t.Fatalf("status = %d, want 201: %s", created.status, created.body)
	}
	wantHeader(t, created, map[string]string{"Cache-Control": "no-store"})
	secret := regexp.MustCompile(`sv_[A-Za-z0-9_-]{43}`).FindString(string(created.body))
	s.must(t, http.StatusOK, call{path: "/api/me/", token: secret})

	list := s.visit(t, http.StatusOK, page(harbourPages+"tokens/", owner))
	shows(t, list, "&lt;script&gt;alert(1)&lt;/script&gt;", secret[:9])
	hides(t, list, "<script>alert", secret)

	again := s.visit(t, http.StatusBadRequest, post(harbourPages+"tokens/", owner, form))
	shows(t, again, "This form has made its token already")
	if n := one[int64](t, s, `SELECT count(*) FROM api_tokens WHERE label = $1`, hostile); n != 1 {
		t.Errorf("the form made %d tokens, want 1", n)
	}
	another := url.Values{"id": {hidden(t, again, "id")}, "label": {"another"}, "role": {"viewer"}, "days": {"30"}}
	s.visit(t, http.StatusCreated, post(harbourPages+"tokens/", owner, another))

	id := form.Get("id")
	rotated := s.visit(t, http.StatusCreated, post(harbourPages+"tokens/"+id+"/rotate/", owner, nil))
	shows(t, rotated, "stays valid for 24 hours")
	s.visit(t, http.StatusUnprocessableEntity, post(harbourPages+"tokens/"+id+"/rotate/", owner, nil))
	s.visit(t, http.StatusSeeOther, post(harbourPages+"tokens/"+id+"/revoke/", owner, nil))
	s.refused(t, core.CodeNotAuthenticated, call{path: "/api/me/", token: secret})
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"tokens/?state=revoked", owner)), id)
	hides(t, s.visit(t, http.StatusOK, page(harbourPages+"tokens/?state=active", owner)), `id="`+id+`"`)
}

func TestTokenFormKeepsWhatWasEntered(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	fields := url.Values{"id": {uuid.NewString()}, "label": {"mine"}, "role": {"owner"}, "days": {"30"}}
	html := s.visit(t, http.StatusForbidden, post(harbourPages+"tokens/", viewer, fields))
	shows(t, html, `value="mine"`, "Your role (viewer) may not create such a token")
	fields.Set("label", strings.Repeat("x", 101))
	fields.Set("role", "viewer")
	shows(t, s.visit(t, http.StatusBadRequest, post(harbourPages+"tokens/", viewer, fields)),
		`<a href="#label">label</a> must be at most 100`)
}

func TestMembersPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.visitor(t, core.RoleAdmin)
	id := s.addMember(t, "new", core.RoleAuthor)
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"members/", admin)), "new@harbour-energy.example",
		"above your role")
	invite := url.Values{"email": {"new@harbour-energy.example"}, "role": {"author"}}
	shows(t, s.visit(t, http.StatusBadRequest, post(harbourPages+"members/", admin, invite)), "is a member already")

	member := harbourPages + "members/" + id.String()
	s.visit(t, http.StatusSeeOther, post(member+"/role/", admin, url.Values{"role": {"viewer"}}))
	s.visit(t, http.StatusForbidden, post(member+"/role/", admin, url.Values{"role": {"owner"}}))
	if got := s.roleOf(t, id); got != core.RoleViewer {
		t.Errorf("role = %s, want viewer", got)
	}
	s.visit(t, http.StatusSeeOther, post(member+"/remove/", admin, nil))
	hides(t, s.visit(t, http.StatusOK, page(harbourPages+"members/", admin)), "new@harbour-energy.example")
}

func TestLastOwnerStays(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner, err := s.Users.User(t.Context(), "owner@harbour-energy.example")
	if err != nil {
		t.Fatal(err)
	}
	html := s.visit(t, http.StatusUnprocessableEntity,
		post(harbourPages+"members/"+owner.ID.String()+"/remove/", s.session(t, owner.ID), nil))
	shows(t, html, "This is the only owner of the organization")
}

func TestUsagePage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner, err := s.Users.User(t.Context(), "owner@tiny-quota.example")
	if err != nil {
		t.Fatal(err)
	}
	session := s.session(t, owner.ID)
	const tiny = "/app/orgs/tiny-quota/usage/"
	shows(t, s.visit(t, http.StatusOK, page(tiny, session)), "0 of 3 runs used", "No run this month.")
	for _, key := range []string{"a", "b", "c"} {
		s.started(t, s.start(t, key).by(s.Tiny.Tokens.Executor))
	}
	shows(t, s.visit(t, http.StatusOK, page(tiny, session)),
		"3 of 3 runs used", "quota used up", "meter-readings", "demonstration")
}

func TestAuditPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.visitor(t, core.RoleAdmin)
	run := s.started(t, s.start(t, "k")).ID
	fields := url.Values{"id": {uuid.NewString()}, "label": {"audited"}, "role": {"viewer"}, "days": {"1"}}
	s.visit(t, http.StatusCreated, post(harbourPages+"tokens/", admin, fields))

	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"audit/", admin)), "run.start", "token.create",
		`href="`+pageOfRun(run)+`"`)
	actions := s.visit(t, http.StatusOK, page(harbourPages+"audit/?noun=all", admin))
	shows(t, actions, "token.create")
	hides(t, actions, "run.start")
	hides(t, s.visit(t, http.StatusOK, page(harbourPages+"audit/?noun=member", admin)), "token.create")
	s.visit(t, http.StatusBadRequest, page(harbourPages+"audit/?noun=nonsense", admin))
	s.visit(t, http.StatusBadRequest, page(harbourPages+"audit/?cursor=nonsense", admin))
}
