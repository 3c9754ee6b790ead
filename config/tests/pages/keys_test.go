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

// strandedKey makes a key whose request has stopped before it had a run, and returns its id.
func (s *stage) strandedKey(tb testing.TB, key string) uuid.UUID {
	tb.Helper()
	return coretest.One[uuid.UUID](tb, s.DB, `
		INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
			request_hash, target_digest, content_digest, options_digest, request_id, recovery_point, locked_until,
			created_at, expires_at)
		SELECT $1, gen_random_uuid(), $2, 'workflow_start', 'POST', '/', 1,
			whole, target, content, options, 'r', 'started',
			now() - interval '1 minute', now() - interval '2 minutes', now() + interval '1 day'
		FROM sha256('') AS whole, sha256('') AS target, sha256('') AS content, sha256('') AS options
		RETURNING id`, s.Harbour.ID, key)
}

func (s *stage) accessToKeyPages(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	s.Started(tb, s.Start(tb, "seen"))
	reason := url.Values{"reason": {"test"}}
	release := orgForm("keys/"+s.strandedKey(tb, "stranded").String()+"/release/", reason, api.RoleAdmin,
		http.StatusSeeOther)
	// The first to release it deletes it.
	release.But = map[api.Role]int{api.RoleOwner: http.StatusNotFound}
	return map[string]fixture.Access{
		"GET /app/orgs/:org/requests/":          orgPage("requests/", api.RoleViewer),
		"GET /app/orgs/:org/requests/:id/":      orgPage("requests/"+s.loggedStart(tb, "seen")+"/", api.RoleViewer),
		"GET /app/orgs/:org/keys/":              orgPage("keys/", api.RoleViewer),
		"GET /app/orgs/:org/export-keys/":       orgPage("export-keys/", api.RoleViewer),
		"GET /app/orgs/:org/keys/:id/":          orgPage("keys/"+s.Entry(tb, "seen").ID+"/", api.RoleViewer),
		"POST /app/orgs/:org/keys/:id/release/": release,
	}
}

func TestKeysPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	s.shows(t, harbour("keys/", viewer), "No request has used a key yet")

	s.Started(t, s.Start(t, "with <b> & a quote\""))
	s.Started(t, s.Start(t, "other"))
	for range 2 {
		s.Started(t, s.Start(t, ""))
	}
	html := s.see(t, harbour("keys/", viewer))
	fixture.Shows(t, html, "with &lt;b&gt; &amp; a quote", "Finished 201", "50 %", "2 of the last 4 runs",
		"Likely duplicates", `<td><span>Start a run</span></td>`, `">run</a>`,
		`<option value="in_progress">In progress</option>`)
	fixture.Hides(t, html, "<b> & a")
	html = s.see(t, harbour("keys/?key=other&state=finished", viewer))
	fixture.Shows(t, html, "other", `<option value="finished" selected>Finished</option>`)
	fixture.Hides(t, html, "a quote")
	s.shows(t, harbour("keys/?state=dead", viewer), "No key matches")
	html = s.Visit(t, http.StatusBadRequest, harbour("keys/?key=other&state=made-up", viewer))
	fixture.Shows(t, html, `<a href="#state">state</a> must be one of`,
		`name="key" class="mono" size="22" maxlength="255" value="other"`,
		`keys/" aria-current="page"`)
	fixture.Hides(t, html, "Stuck", "No key matches", "No request has used a key yet")
}

func TestKeyPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer, admin := s.Visitor(t, api.RoleViewer), s.Visitor(t, api.RoleAdmin)
	first := s.Start(t, "k")
	run := s.Started(t, first)
	for range 3 {
		s.Started(t, first)
	}
	s.Refused(t, api.CodeKeyReused, first.WithBody("text/csv", "other"))
	s.Do(t, first.By(s.Harbour.Tokens.Viewer))
	s.Flush(t)
	s.FlushRequests(t)
	address := fixture.HarbourPages + "keys/" + s.Entry(t, "k").ID + "/"

	html := s.see(t, fixture.Page(address, viewer))
	fixture.Shows(t, html, "Replayed 3×", "sent this key", "got the stored answer",
		"a different request (422)", "<b>Request 6</b>", "other document",
		"Refused: ", "key locked", "answer stored", ", 127.0.0.1",
		`<li class="first">`, `<li class="replay">`, ">Refresh</a>", // They are there without a script.
		fixture.HarbourPages+"runs/"+run.ID+"/", fixture.HarbourPages+"requests/"+s.loggedStart(t, "k")+"/")
	fixture.Hides(t, html, "are not listed")
	fixture.Hides(t, html, "Stored response", "Release")
	s.shows(t, fixture.Page(address, admin), "Stored response", "HTTP/1.1 201 Created",
		"Location: /api/runs/"+run.ID+"/", "&#34;state&#34;: &#34;PENDING&#34;")
	s.Visit(t, http.StatusNotFound, harbour("keys/nonsense/", admin))
}

func TestKeyIsReleasedWithAReason(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.Visitor(t, api.RoleAdmin)
	address := fixture.HarbourPages + "keys/" + s.strandedKey(t, "stranded").String() + "/"
	s.shows(t, harbour("keys/", admin), "Abandoned", "interrupted requests")
	s.shows(t, fixture.Page(address, admin), "Release this key", "deletes the key")
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, fixture.Post(address+"release/", admin, nil)),
		`<a href="#reason">reason</a> must be given`)
	s.Visit(t, http.StatusSeeOther, fixture.Post(address+"release/", admin, url.Values{"reason": {"stopped by hand"}}))
	s.Visit(t, http.StatusNotFound, fixture.Page(address, admin))
	s.shows(t, harbour("audit/?noun=idempotency_key", admin), "stopped by hand")

	s.Started(t, s.Start(t, "k"))
	finished := fixture.HarbourPages + "keys/" + s.Entry(t, "k").ID + "/release/"
	fixture.Shows(t, s.Visit(t, http.StatusUnprocessableEntity,
		fixture.Post(finished, admin, url.Values{"reason": {"x"}})),
		"Only a key whose request was abandoned can be released")
}
