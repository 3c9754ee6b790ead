package pages

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const key = `ci <1842> "a" & b`
	run := s.Started(t, s.Start(t, key).With("Request-Id", "req-from.ci_7")).ID
	ours := s.Started(t, s.Start(t, "")).ID
	entry := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM idempotency_keys WHERE key = $1`, key).String()
	workflow := coretest.One[uuid.UUID](t, s.DB,
		`SELECT id FROM workflows WHERE org_id = $1 AND slug = 'meter-readings'`, s.Harbour.ID).String()
	request := coretest.One[string](t, s.DB, `SELECT request_id FROM validation_runs WHERE id = $1`, ours)
	token := coretest.One[uuid.UUID](t, s.DB, `SELECT id FROM api_tokens WHERE org_id = $1 LIMIT 1`,
		s.Harbour.ID).String()
	owner, viewer, stranger := s.Visitor(t, api.RoleOwner), s.Visitor(t, api.RoleViewer), s.Stranger(t)
	search := func(base, text, session string) answer {
		return s.AnswerTo(t, fixture.Page(base+"search/?"+url.Values{"q": {text}}.Encode(), session))
	}

	for text, want := range map[string]string{
		run:                pageOfRun(run),
		" " + entry + "\n": fixture.HarbourPages + "keys/" + entry + "/",
		key:                fixture.HarbourPages + "keys/" + entry + "/",
		`"` + key + `"`:    fixture.HarbourPages + "keys/" + entry + "/",
		"req-from.ci_7":    pageOfRun(run),
		request:            pageOfRun(ours),
		workflow:           fixture.HarbourPages + "workflows/meter-readings/",
		"meter-readings":   fixture.HarbourPages + "workflows/meter-readings/",
		token:              fixture.HarbourPages + "tokens/#" + token,
	} {
		if got := search(fixture.HarbourPages, text, owner); got.Header.Get("Location") != want {
			t.Errorf("%q leads to %d %q, want %s", text, got.Status, got.Header.Get("Location"), want)
		}
		if text == "meter-readings" {
			continue // Every organization of the demonstration has a workflow of that name.
		}
		if got := search("/app/orgs/tiny-quota/", text, stranger); got.Status != http.StatusOK {
			t.Errorf("%q of another organization leads to %d %q", text, got.Status, got.Header.Get("Location"))
		}
	}
	for _, text := range []string{"", "ci", hostile, uuid.NewString(), token} {
		html := s.see(t, harbour("search/?q="+url.QueryEscape(text), viewer))
		fixture.Shows(t, html, "Enter one of these in full")
		fixture.Hides(t, html, "<script>alert")
	}
	s.Visit(t, http.StatusBadRequest, harbour("search/?q=%00", viewer))

	s.Started(t, s.Start(t, "meter-readings"))
	s.shows(t, harbour("search/?q=meter-readings", viewer), "2 results", "idempotency key: Start a run",
		"workflows/meter-readings/")
}
