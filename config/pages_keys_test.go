package config_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// strandedKey makes a key whose request has stopped before it had a run, and returns its id.
func (s *stage) strandedKey(tb testing.TB, key string) uuid.UUID {
	tb.Helper()
	return one[uuid.UUID](tb, s, `
		INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
			request_hash, target_digest, content_digest, options_digest, request_id, recovery_point, locked_until,
			created_at, expires_at)
		SELECT $1, gen_random_uuid(), $2, 'workflow_start', 'POST', '/', 1,
			whole, target, content, options, 'r', 'started',
			now() - interval '1 minute', now() - interval '2 minutes', now() + interval '1 day'
		FROM sha256('') AS whole, sha256('') AS target, sha256('') AS content, sha256('') AS options
		RETURNING id`, s.Harbour.ID, key)
}

func (s *stage) accessToKeyPages(tb testing.TB) map[string]access {
	tb.Helper()
	s.started(tb, s.start(tb, "seen"))
	reason := url.Values{"reason": {"test"}}
	release := orgForm("keys/"+s.strandedKey(tb, "stranded").String()+"/release/", reason, core.RoleAdmin,
		http.StatusSeeOther)
	// The first to release it deletes it.
	release.but = map[core.Role]int{core.RoleOwner: http.StatusNotFound}
	return map[string]access{
		"GET /app/orgs/:org/keys/":              orgPage("keys/", core.RoleViewer),
		"GET /app/orgs/:org/keys/:id/":          orgPage("keys/"+s.entry(tb, "seen").ID.String()+"/", core.RoleViewer),
		"POST /app/orgs/:org/keys/:id/release/": release,
	}
}

func TestKeysPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"keys/", viewer)), "No request has used a key yet")

	s.started(t, s.start(t, "with <b> & a quote\""))
	s.started(t, s.start(t, "other"))
	for range 2 {
		s.started(t, s.start(t, ""))
	}
	html := s.visit(t, http.StatusOK, page(harbourPages+"keys/", viewer))
	shows(t, html, "with &lt;b&gt; &amp; a quote", "Finished 201", "50 %", "2 of the last 4 runs", "Likely duplicates",
		`Start a run<br><span class="muted mono">workflow_start</span>`,
		`<option value="in_progress">In progress</option>`)
	hides(t, html, "<b> & a")
	html = s.visit(t, http.StatusOK, page(harbourPages+"keys/?key=other&state=finished", viewer))
	shows(t, html, "other", `<option value="finished" selected>Finished</option>`)
	hides(t, html, "a quote")
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"keys/?state=dead", viewer)), "No key matches")
	html = s.visit(t, http.StatusBadRequest, page(harbourPages+"keys/?key=other&state=made-up", viewer))
	shows(t, html, `<a href="#state">state</a> must be one of`, `name="key" maxlength="255" value="other"`,
		`keys/" aria-current="page"`)
	hides(t, html, "Stuck", "No key matches", "No request has used a key yet")
}

func TestKeyPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer, admin := s.visitor(t, core.RoleViewer), s.visitor(t, core.RoleAdmin)
	first := s.start(t, "k")
	run := s.started(t, first)
	for range 3 {
		s.started(t, first)
	}
	s.refused(t, core.CodeKeyReused, first.withBody("text/csv", "other"))
	if _, err := s.Activity.Flush(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	address := harbourPages + "keys/" + s.entry(t, "k").ID.String() + "/"

	html := s.visit(t, http.StatusOK, page(address, viewer))
	shows(t, html, "Replayed 3×", "Received", "Locked", "Finished", "3 times; this was the last",
		"A different request also used this key",
		"once for another request", harbourPages+"runs/"+run.ID.String()+"/")
	hides(t, html, "Stored response", "Release")
	shows(t, s.visit(t, http.StatusOK, page(address, admin)), "Stored response", "HTTP/1.1 201 Created",
		"Location: /api/runs/"+run.ID.String()+"/", "&#34;state&#34;:&#34;PENDING&#34;")
	s.visit(t, http.StatusNotFound, page(harbourPages+"keys/nonsense/", admin))
}

func TestKeyIsReleasedWithAReason(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.visitor(t, core.RoleAdmin)
	address := harbourPages + "keys/" + s.strandedKey(t, "stranded").String() + "/"
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"keys/", admin)),
		"Abandoned", "interrupted requests")
	shows(t, s.visit(t, http.StatusOK, page(address, admin)), "Release this key", "deletes the key")
	shows(t, s.visit(t, http.StatusBadRequest, post(address+"release/", admin, nil)),
		`<a href="#reason">reason</a> must be given`)
	s.visit(t, http.StatusSeeOther, post(address+"release/", admin, url.Values{"reason": {"stopped by hand"}}))
	s.visit(t, http.StatusNotFound, page(address, admin))
	shows(t, s.visit(t, http.StatusOK, page(harbourPages+"audit/?noun=idempotency_key", admin)), "stopped by hand")

	s.started(t, s.start(t, "k"))
	finished := harbourPages + "keys/" + s.entry(t, "k").ID.String() + "/release/"
	shows(t, s.visit(t, http.StatusUnprocessableEntity, post(finished, admin, url.Values{"reason": {"x"}})),
		"Only a key whose request was abandoned can be released")
}
