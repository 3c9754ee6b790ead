package pages

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func TestLaunch(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	html := s.see(t, fixture.Page(fixture.LaunchMeters, session))
	fixture.Shows(t, html, "Run Meter readings", "version 1, the latest", "text/csv", "up to 10 MiB",
		"1,000,000 of 1,000,000 runs are left", `enctype="multipart/form-data"`)
	filled := fixture.FilledIn(t, html).With("name", "March").With("short_description", "All of <b>March</b>.")
	to := s.Launched(t, filled.To(t, fixture.LaunchMeters+"?version=1", session))
	got := coretest.One[[]string](t, s.DB, `
		SELECT ARRAY[r.source, s.name, s.short_description, s.filename, s.media_type, r.idempotency_key]
		FROM validation_runs AS r JOIN submissions AS s ON s.org_id = r.org_id AND s.id = r.submission_id`)
	want := []string{
		string(api.SourceDashboard), "March", "All of <b>March</b>.", "readings.csv", "text/csv",
		filled.Fields[0][1],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the run (-want +got):\n%s", diff)
	}
	if again := s.Launched(t, filled.To(t, fixture.LaunchMeters+"?version=1", session)); again != to {
		t.Errorf("the form sent again leads to %s, want %s", again, to)
	}
	if counts := s.RowCounts(t); counts.Runs != 1 || counts.Used != 1 || counts.Keys != 1 || counts.Audits != 1 {
		t.Errorf("rows = %+v, want one run, one charge, one key, one audit record", counts)
	}
}

func TestLaunchSentByManyAtOnceStartsOneRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	c := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, session))).To(t, fixture.LaunchMeters, session)
	const clicks = 16
	answers := make([]answer, clicks)
	var group sync.WaitGroup
	for i := range clicks {
		group.Go(func() { answers[i], _ = s.Send(t.Context(), c) }) // An error leaves the status 0.
	}
	group.Wait()
	waiting := fixture.LaunchMeters + hiddenKey(t, c) + "/"
	for _, got := range answers {
		to := got.Header.Get("Location")
		if got.Status != http.StatusSeeOther || (to != waiting && !strings.HasPrefix(to,
			fixture.HarbourPages+"runs/")) {
			t.Errorf("status = %d to %q, want 303 to the run, or to wait for it", got.Status, to)
		}
	}
	if counts := s.RowCounts(t); counts.Runs != 1 || counts.Used != 1 {
		t.Errorf("rows = %+v, want one run and one charge", counts)
	}
	if got := s.AnswerTo(t, fixture.Page(waiting, session)); got.Status != http.StatusSeeOther {
		t.Errorf("%s: status = %d, want 303 to the run", waiting, got.Status)
	}
}

// hiddenKey is the key in a form as it is sent.
func hiddenKey(tb testing.TB, c call) string {
	tb.Helper()
	found := regexp.MustCompile(`name="key"\r\n\r\n(\S+)`).FindStringSubmatch(c.Body)
	if found == nil {
		tb.Fatal("the form has no key")
	}
	return found[1]
}

func TestLaunchWithAnotherDocumentShowsTheFirstRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	filled := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, session)))
	to := s.Launched(t, filled.To(t, fixture.LaunchMeters, session))
	other := filled.File("readings.csv", "text/csv", fixture.SampleText(t, "bad/meter-readings.csv"))
	html := s.Visit(t, http.StatusUnprocessableEntity, other.To(t, fixture.LaunchMeters, session))
	fixture.Shows(t, html, "This form has been used", `href="`+to+`"`, `href="`+fixture.LaunchMeters+`"`)
	if counts := s.RowCounts(t); counts.Runs != 1 {
		t.Errorf("runs = %d, want 1", counts.Runs)
	}
}

func TestLaunchTakesPastedText(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	blank := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, session))).
		File("", "application/octet-stream", "")
	pasted := blank.With("text", "a,b\r\n1,2\r\n").With("filename", "pasted.tsv")
	s.Launched(t, pasted.To(t, fixture.LaunchMeters, session))
	got := coretest.One[[]string](t, s.DB,
		`SELECT ARRAY[convert_from(content, 'UTF8'), media_type, filename] FROM submissions`)
	if diff := cmp.Diff([]string{"a,b\n1,2\n", "text/tab-separated-values", "pasted.tsv"}, got); diff != "" {
		t.Errorf("the document (-want +got):\n%s", diff)
	}
}

func TestLaunchGuessesTheType(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	for name, tt := range map[string]struct{ filename, declared, want string }{
		"Declared":            {"readings.txt", "text/plain", "text/plain"},
		"OfAnOfficeProgram":   {"readings.csv", "application/vnd.ms-excel", "text/csv"},
		"WithoutAnyType":      {"READINGS.TSV", "application/octet-stream", "text/tab-separated-values"},
		"WithoutTypeAndName":  {"readings", "application/octet-stream", "text/csv"},
		"OfAnUnknownLanguage": {"readings.data", "application/octet-stream", "text/csv"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filled := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, session)))
			filled = filled.File(tt.filename, tt.declared, filled.Content)
			to := s.Launched(t, filled.To(t, fixture.LaunchMeters, session))
			id := strings.TrimSuffix(strings.TrimPrefix(to, fixture.HarbourPages+"runs/"), "/")
			got := coretest.One[string](t, s.DB, `SELECT s.media_type FROM submissions AS s JOIN validation_runs AS r
				ON r.org_id = s.org_id AND r.submission_id = s.id WHERE r.id = $1`, id)
			if got != tt.want {
				t.Errorf("media type = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLaunchRefused(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.MaxBodyBytes = 1 << 20 })
	session := s.Visitor(t, api.RoleExecutor)
	old := core.FirstIDAt(time.Now().Add(-48 * time.Hour))
	old[6], old[8] = 0x70, 0x80
	fresh := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, session))).
		With("name", "<script>alert(1)</script>").With("short_description", "keep me")
	unkeyed := fixture.Upload{Fields: fresh.Fields[1:], Filename: fresh.Filename, Content: fresh.Content}
	for name, tt := range map[string]struct {
		form   fixture.Upload
		status int
		shown  string
	}{
		"WithoutADocument": {fresh.File("", "application/octet-stream", ""), 400, "Choose a file, or paste a text."},
		"WithAnEmptyFile":  {fresh.File("empty.csv", "text/csv", ""), 400, "its content is empty"},
		"WithTwoDocuments": {fresh.With("text", "a,b\n"), 400, "not both"},
		"OfAnotherType":    {fresh.File("a.png", "image/png", "PNG"), 415, "It accepts text/csv, "},
		"TooLarge":         {fresh.File("a.csv", "text/csv", strings.Repeat("a", 1<<20)), 413, "larger than"},
		"WithALongText":    {fresh.With("text", strings.Repeat("a,b\n", 100_000)), 400, "too long to restore"},
		"WithANUL":         {fresh.With("filename", "a\x00.csv"), 400, "control characters"},
		"WithALongName":    {fresh.With("filename", strings.Repeat("n", 256)), 400, "longer than 255"},
		"WithoutAKey":      {unkeyed, 400, "The form has no key."},
		"WithAnOldKey":     {unkeyed.With("key", old.String()), 400, "opened too long ago"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := s.Visit(t, tt.status, tt.form.To(t, fixture.LaunchMeters, session))
			fixture.Shows(t, html, tt.shown, `class="problem"`, `id="file"`, "Choose the file again")
			fixture.Hides(t, html, "<script>alert")
			if key := fixture.Hidden(t, html, idempotency.FormField); key == "" || key == old.String() {
				t.Errorf("the form's key = %q, want one that can be used", key)
			}
			if tt.status != http.StatusRequestEntityTooLarge {
				fixture.Shows(t, html, "&lt;script&gt;alert(1)&lt;/script&gt;", "keep me")
			}
			if counts := s.RowCounts(t); counts.Runs != 0 || counts.Keys != 0 {
				t.Errorf("rows = %+v, want no run and no key", counts)
			}
		})
	}
}

func TestLaunchBeyondTheQuota(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Stranger(t)
	const launch = "/app/orgs/tiny-quota/workflows/meter-readings/launch/"
	for range 3 {
		filled := fixture.FilledIn(t, s.see(t, fixture.Page(launch, session)))
		s.Visit(t, http.StatusSeeOther, filled.To(t, launch, session))
	}
	html := s.see(t, fixture.Page(launch, session))
	fixture.Shows(t, html, "The quota of this month is used up.")
	filled := fixture.FilledIn(t, html).With("name", "kept")
	refused := s.AnswerTo(t, filled.To(t, launch, session))
	if refused.Status != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" {
		t.Errorf("status = %d, Retry-After %q, want 429 and a time", refused.Status, refused.Header.Get("Retry-After"))
	}
	fixture.Shows(t, string(refused.Body), "3 of 3 runs are used this month; the count resets at", `value="kept"`)
}

func TestLaunchOfAnInactiveWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const launch = fixture.HarbourPages + "workflows/legacy-import/launch/"
	html := s.see(t, fixture.Page(launch, s.Visitor(t, api.RoleExecutor)))
	fixture.Shows(t, html, "The workflow is inactive.", "A member with the role author can activate it.")
	fixture.Hides(t, html, `type="file"`)
	s.shows(t, fixture.Page(launch, s.Visitor(t, api.RoleAuthor)), "Activate it")
	sent := fixture.Upload{Filename: "a.json", ContentType: "application/json", Content: "{}"}.With("key",
		idempotency.NewFormKey())
	html = s.Visit(t, http.StatusUnprocessableEntity, sent.To(t, launch, s.Visitor(t, api.RoleExecutor)))
	fixture.Shows(t, html, "The workflow is inactive and starts no new runs.")
}

func TestLaunchOfAPinnedVersion(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	s.AddVersion(t)
	html := s.see(t, fixture.Page(fixture.LaunchMeters+"?version=1", session))
	fixture.Shows(t, html, "This is not the latest version.", `launch/?version=1"`)
	s.Launched(t, fixture.FilledIn(t, html).To(t, fixture.LaunchMeters+"?version=1", session))
	if got := coretest.One[int](t, s.DB, `SELECT workflow_version FROM validation_runs`); got != 1 {
		t.Errorf("version = %d, want 1, which the page has shown", got)
	}
}

func TestLaunchedShowsWhatAFormHasStarted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	key := idempotency.NewFormKey()
	s.shows(t, fixture.Page(fixture.LaunchMeters+key+"/", session), "This form has started no run")
	s.Exec(t, `INSERT INTO idempotency_keys (org_id, id, endpoint, key, request_method, request_path,
			fingerprint_version, request_hash, target_digest, content_digest, options_digest, request_id,
			recovery_point, locked_until, created_at, expires_at)
		SELECT $1, gen_random_uuid(), 'workflow_start', $2, 'POST', '/', 1, whole, target, content, options, 'r',
			'charging', now() + interval '1 minute', now(), now() + interval '1 day'
		FROM sha256('') AS whole, sha256('') AS target, sha256('') AS content, sha256('') AS options`,
		s.Harbour.ID, key)
	got := s.AnswerTo(t, fixture.Page(fixture.LaunchMeters+key+"/", session))
	if got.Status != http.StatusOK || got.Header.Get("Refresh") == "" {
		t.Errorf("status = %d, Refresh %q, want a page that looks again", got.Status, got.Header.Get("Refresh"))
	}
	fixture.Shows(t, string(got.Body), "Your form is being processed", "Check again")
	s.Visit(t, http.StatusNotFound, fixture.Page(fixture.LaunchMeters+"made-up/", session))
}
