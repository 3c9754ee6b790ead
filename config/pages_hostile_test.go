package config_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestFormsRefuseTextThatCannotBeKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.visitor(t, core.RoleOwner)
	token := url.Values{"id": {uuid.NewString()}, "label": {"ci"}, "role": {"viewer"}, "days": {"7"}}
	member := url.Values{"email": {"new@harbour-energy.example"}, "name": {"New"}, "role": {"viewer"}}
	for _, tt := range []struct {
		path, session, field string
		rest                 url.Values
	}{
		{"/app/sign-in/", "", "email", url.Values{"password": {"guess"}}},
		{harbourPages + "tokens/", owner, "label", token},
		{harbourPages + "members/", owner, "name", member},
		{"/app/account/password/", owner, "current", url.Values{}},
	} {
		for _, text := range []string{"a\x00b", "\xff\xfe", "\xed\xa0\x80"} {
			fields := url.Values{tt.field: {text}}
			for name, values := range tt.rest {
				if name != tt.field {
					fields[name] = values
				}
			}
			html := s.visit(t, http.StatusBadRequest, post(tt.path, tt.session, fields))
			shows(t, html, `<a href="#`+tt.field+`">`)
		}
	}
}

func TestRefusedFormsLeadBackToPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.visitor(t, core.RoleOwner)
	html := s.visit(t, http.StatusBadRequest, post("/app/account/password/", owner, url.Values{}))
	_, after, _ := strings.Cut(html, `name="back" value="`)
	back, _, _ := strings.Cut(after, `"`)
	s.visit(t, http.StatusSeeOther, page(back, owner))
}

func TestShortcutIsTurnedOff(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	shows(t, s.visit(t, http.StatusOK, page("/app/account/", viewer)), "data-shortcut", "Turn it off")
	off := s.answerTo(t, post("/app/shortcut/", viewer, url.Values{"shortcut": {"off"}}))
	if !strings.Contains(strings.Join(off.header.Values("Set-Cookie"), ";"), "sv_shortcut=off") {
		t.Fatalf("%d %v, want the choice as a cookie", off.status, off.header)
	}
	account := page("/app/account/", viewer).with("Cookie", "sv_session="+viewer+"; sv_shortcut=off")
	html := s.visit(t, http.StatusOK, account)
	shows(t, html, "Turn it on")
	hides(t, html, "data-shortcut")
}
