package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// hostile is a name that would be a script if a page showed it as it is.
const hostile = `<script>alert(1)</script>"'&`

func TestTokensPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Visitor(t, api.RoleOwner)
	form := url.Values{"id": {uuid.NewString()}, "label": {hostile}, "role": {"executor"}, "days": {"30"}}

	created := s.AnswerTo(t, harbourForm("tokens/", owner, form))
	if created.Status != http.StatusCreated {
		t.Fatalf("status = %d, want 201: %s", created.Status, created.Body)
	}
	fixture.WantHeader(t, created, map[string]string{"Cache-Control": "no-store"})
	secret := regexp.MustCompile(`svt_[A-Za-z0-9]{49}`).FindString(string(created.Body))
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: secret})

	list := s.see(t, harbour("tokens/", owner))
	fixture.Shows(t, list, "&lt;script&gt;alert(1)&lt;/script&gt;", secret[:10])
	fixture.Hides(t, list, "<script>alert", secret)

	again := s.Visit(t, http.StatusBadRequest, harbourForm("tokens/", owner, form))
	fixture.Shows(t, again, "This form has made its token already")
	if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM api_tokens WHERE label = $1`, hostile); n != 1 {
		t.Errorf("the form made %d tokens, want 1", n)
	}
	another := url.Values{
		"id": {fixture.Hidden(t, again, "id")}, "label": {"another"}, "role": {"viewer"}, "days": {"30"},
	}
	s.Visit(t, http.StatusCreated, harbourForm("tokens/", owner, another))

	id := form.Get("id")
	rotated := s.Visit(t, http.StatusCreated, harbourForm("tokens/"+id+"/rotate/", owner, nil))
	fixture.Shows(t, rotated, "stays valid for 24 hours")
	s.Visit(t, http.StatusUnprocessableEntity, harbourForm("tokens/"+id+"/rotate/", owner, nil))
	s.Visit(t, http.StatusSeeOther, harbourForm("tokens/"+id+"/revoke/", owner, nil))
	s.Refused(t, api.CodeNotAuthenticated, call{Path: "/api/me/", Token: secret})
	s.shows(t, harbour("tokens/?state=revoked", owner), id)
	s.hides(t, harbour("tokens/?state=active", owner), `id="`+id+`"`)
}

func TestTokenFormKeepsWhatWasEntered(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	fields := url.Values{"id": {uuid.NewString()}, "label": {"mine"}, "role": {"owner"}, "days": {"30"}}
	html := s.Visit(t, http.StatusForbidden, harbourForm("tokens/", viewer, fields))
	fixture.Shows(t, html, `value="mine"`, "Your role (viewer) may not create such a token")
	fields.Set("label", strings.Repeat("x", 101))
	fields.Set("role", "viewer")
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, harbourForm("tokens/", viewer, fields)),
		`<a href="#label">label</a> must have at most 100 characters`)
}

func TestMembersPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.Visitor(t, api.RoleAdmin)
	id := s.AddMember(t, "new", api.RoleAuthor)
	s.shows(t, harbour("members/", admin), "new@harbour-energy.example", "above your role")
	invite := url.Values{"email": {"new@harbour-energy.example"}, "role": {"author"}}
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, harbourForm("members/", admin, invite)), "is a member already")

	member := fixture.HarbourPages + "members/" + id.String()
	s.Visit(t, http.StatusSeeOther, fixture.Post(member+"/role/", admin, url.Values{"role": {"viewer"}}))
	s.Visit(t, http.StatusForbidden, fixture.Post(member+"/role/", admin, url.Values{"role": {"owner"}}))
	if got := s.RoleOf(t, id); got != api.RoleViewer {
		t.Errorf("role = %s, want viewer", got)
	}
	s.Visit(t, http.StatusSeeOther, fixture.Post(member+"/remove/", admin, nil))
	s.hides(t, harbour("members/", admin), "new@harbour-energy.example")
}

func TestUsagePage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner, err := s.Users.Accounts.User(t.Context(), "owner@tiny-quota.example")
	if err != nil {
		t.Fatal(err)
	}
	session := s.Session(t, owner.ID)
	const tiny = "/app/orgs/tiny-quota/usage/"
	s.shows(t, fixture.Page(tiny, session), "0 of 3 runs used", "No run this month.")
	for _, key := range []string{"a", "b", "c"} {
		s.Started(t, s.Start(t, key).By(s.Tiny.Tokens.Executor))
	}
	s.shows(t, fixture.Page(tiny, session), "3 of 3 runs used", "quota used up", "meter-readings", "demo-executor")
}

func TestAuditPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.Visitor(t, api.RoleAdmin)
	run := s.Started(t, s.Start(t, "k")).ID
	fields := url.Values{"id": {uuid.NewString()}, "label": {"audited"}, "role": {"viewer"}, "days": {"1"}}
	s.Visit(t, http.StatusCreated, harbourForm("tokens/", admin, fields))

	// Tokens have their labels, and starts of runs are shown when they are asked for.
	s.shows(t, harbour("audit/?noun=everything", admin), "run.start", "token.create", `href="`+pageOfRun(run)+`"`,
		`">demo-executor</a>`)
	for _, query := range []string{"", "?noun=all"} {
		actions := s.see(t, harbour("audit/"+query, admin))
		fixture.Shows(t, actions, "token.create", `<option value="all" selected>`)
		fixture.Hides(t, actions, "run.start")
	}
	// Subjects have names, and an address is not said twice.
	token := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM api_tokens WHERE label = 'audited'`)
	member := s.AddMember(t, "audited-member", api.RoleViewer)
	address := fixture.HarbourPages + "members/" + member.String() + "/role/"
	s.Visit(t, http.StatusSeeOther, fixture.Post(address, admin, url.Values{"role": {"executor"}}))
	s.Visit(t, http.StatusSeeOther,
		harbourForm("settings/", s.Visitor(t, api.RoleOwner), url.Values{"name": {"Old Harbour"}}))
	actions := s.see(t, harbour("audit/", admin))
	fixture.Shows(t, actions, `<a href="`+fixture.HarbourPages+`tokens/#`+token.String()+`">audited</a>`,
		`<span class="muted">organization</span> Old Harbour`, "audited-member@harbour-energy.example")
	fixture.Hides(t, actions, ">"+member.String()+"<", ">"+token.String()+"<", ">"+s.Harbour.ID.String()+"<")
	s.hides(t, harbour("audit/?noun=member", admin), "token.create")
	s.Visit(t, http.StatusBadRequest, harbour("audit/?noun=nonsense", admin))
	s.Visit(t, http.StatusBadRequest, harbour("audit/?cursor=nonsense", admin))
}
