package config_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const key = `ci <1842> "a" & b`
	run := s.started(t, s.start(t, key).with("Request-Id", "req-from.ci_7")).ID
	ours := s.started(t, s.start(t, "")).ID
	entry := one[uuid.UUID](t, s, `SELECT id FROM idempotency_keys WHERE key = $1`, key).String()
	workflow := one[uuid.UUID](t, s,
		`SELECT id FROM workflows WHERE org_id = $1 AND slug = 'meter-readings'`, s.Harbour.ID).String()
	request := one[string](t, s, `SELECT request_id FROM validation_runs WHERE id = $1`, ours)
	token := one[uuid.UUID](t, s, `SELECT id FROM api_tokens WHERE org_id = $1 LIMIT 1`, s.Harbour.ID).String()
	owner, viewer, stranger := s.visitor(t, core.RoleOwner), s.visitor(t, core.RoleViewer), s.stranger(t)
	search := func(base, text, session string) answer {
		return s.answerTo(t, page(base+"search/?"+url.Values{"q": {text}}.Encode(), session))
	}

	for text, want := range map[string]string{
		run.String():       pageOfRun(run),
		" " + entry + "\n": harbourPages + "keys/" + entry + "/",
		key:                harbourPages + "keys/" + entry + "/",
		`"` + key + `"`:    harbourPages + "keys/" + entry + "/",
		"req-from.ci_7":    pageOfRun(run),
		request:            pageOfRun(ours),
		workflow:           harbourPages + "workflows/meter-readings/",
		"meter-readings":   harbourPages + "workflows/meter-readings/",
		token:              harbourPages + "tokens/#" + token,
	} {
		if got := search(harbourPages, text, owner); got.header.Get("Location") != want {
			t.Errorf("%q leads to %d %q, want %s", text, got.status, got.header.Get("Location"), want)
		}
		if text == "meter-readings" {
			continue // Every organization of the demonstration has a workflow of that name.
		}
		if got := search("/app/orgs/tiny-quota/", text, stranger); got.status != http.StatusOK {
			t.Errorf("%q of another organization leads to %d %q", text, got.status, got.header.Get("Location"))
		}
	}
	for _, text := range []string{"", "ci", hostile, uuid.NewString(), token} {
		html := s.visit(t, http.StatusOK, page(harbourPages+"search/?q="+url.QueryEscape(text), viewer))
		shows(t, html, "Enter one of these in full")
		hides(t, html, "<script>alert")
	}
	s.visit(t, http.StatusBadRequest, page(harbourPages+"search/?q=%00", viewer))

	s.started(t, s.start(t, "meter-readings"))
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"search/?q=meter-readings", viewer)),
		"2 results", "idempotency key: Start a run", "workflows/meter-readings/")
}
