package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestFormsRefuseTextThatCannotBeKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Visitor(t, api.RoleOwner)
	token := url.Values{"id": {uuid.NewString()}, "label": {"ci"}, "role": {"viewer"}, "days": {"7"}}
	member := url.Values{"email": {"new@harbour-energy.example"}, "name": {"New"}, "role": {"viewer"}}
	for _, tt := range []struct {
		path, session, field string
		rest                 url.Values
	}{
		{"/app/sign-in/", "", "email", url.Values{"password": {"guess"}}},
		{fixture.HarbourPages + "tokens/", owner, "label", token},
		{fixture.HarbourPages + "members/", owner, "name", member},
		{"/app/account/password/", owner, "current", url.Values{}},
	} {
		for _, text := range []string{"a\x00b", "\xff\xfe", "\xed\xa0\x80"} {
			fields := url.Values{tt.field: {text}}
			for name, values := range tt.rest {
				if name != tt.field {
					fields[name] = values
				}
			}
			html := s.Visit(t, http.StatusBadRequest, fixture.Post(tt.path, tt.session, fields))
			fixture.Shows(t, html, `<a href="#`+tt.field+`">`)
		}
	}
}

// Every text that the schema lets anybody choose is shown as a text on every page.
func TestEveryPageEscapesWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	s := setup(t)
	table := s.pageAccess(t)
	id := s.AddMember(t, "both", api.RoleOwner)
	if err := s.Users.SetOperator(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	visitor := s.Session(t, id)
	// A column that is not free refuses it. What is JSON has no texts of its own.
	s.Exec(t, `DO $$
		DECLARE c record;
		BEGIN
			FOR c IN SELECT table_name, column_name FROM information_schema.columns
				WHERE table_schema = 'public' AND data_type = 'text'
			LOOP
				BEGIN
					EXECUTE format('UPDATE %I SET %I = ''<script>alert(1)</script>'' || %2$I WHERE %2$I !~ ''^[[{]''',
						c.table_name, c.column_name);
				EXCEPTION WHEN OTHERS THEN NULL;
				END;
			END LOOP;
		END $$`)
	shown := 0
	for name, row := range table {
		if !strings.HasPrefix(name, http.MethodGet) {
			continue
		}
		got := s.AnswerTo(t, row.Call.In(visitor))
		if got.Status >= http.StatusBadRequest {
			t.Errorf("%s: status = %d, want a page: %s", name, got.Status, got.Body)
		}
		html := string(got.Body)
		if strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
			fixture.Hides(t, html, "<script>alert")
		}
		if strings.Contains(html, "&lt;script&gt;alert") {
			shown++
		}
	}
	if shown == 0 {
		t.Error("no page shows the text")
	}
}

func TestRefusedFormsLeadBackToPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Visitor(t, api.RoleOwner)
	html := s.Visit(t, http.StatusBadRequest, fixture.Post("/app/account/password/", owner, url.Values{}))
	_, after, _ := strings.Cut(html, `name="back" value="`)
	back, _, _ := strings.Cut(after, `"`)
	s.Visit(t, http.StatusSeeOther, fixture.Page(back, owner))
}

func TestShortcutIsTurnedOff(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	s.shows(t, fixture.Page("/app/account/", viewer), "data-shortcut", "Turn it off")
	off := s.AnswerTo(t, fixture.Post("/app/shortcut/", viewer, url.Values{"shortcut": {"off"}}))
	if !strings.Contains(strings.Join(off.Header.Values("Set-Cookie"), ";"), "sv_shortcut=off") {
		t.Fatalf("%d %v, want the choice as a cookie", off.Status, off.Header)
	}
	account := fixture.Page("/app/account/", viewer).With("Cookie", "sv_session="+viewer+"; sv_shortcut=off")
	html := s.see(t, account)
	fixture.Shows(t, html, "Turn it on")
	fixture.Hides(t, html, "data-shortcut")
}
