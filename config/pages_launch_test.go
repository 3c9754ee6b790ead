package config_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

const launchMeters = harbourPages + "workflows/meter-readings/launch/"

// upload is a form with a file as a browser sends it.
type upload struct {
	fields [][2]string
	// filename and contentType are those of the file; without a file name none was chosen.
	filename, contentType, content string
}

// filledIn is the launch form of a page with a good document.
func filledIn(tb testing.TB, html string) upload {
	tb.Helper()
	return upload{
		fields:   [][2]string{{idempotency.FormField, hidden(tb, html, idempotency.FormField)}},
		filename: "readings.csv", contentType: "text/csv", content: sampleText(tb, "good/meter-readings.csv"),
	}
}

// hidden is the value of a hidden field.
func hidden(tb testing.TB, html, name string) string {
	tb.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(html)
	if found == nil {
		tb.Fatalf("the page has no hidden field %s:\n%s", name, html)
	}
	return found[1]
}

// with returns the form with one more field.
func (u upload) with(name, value string) upload {
	u.fields = append(slices.Clip(u.fields), [2]string{name, value})
	return u
}

// file returns the form with another file.
func (u upload) file(filename, contentType, content string) upload {
	u.filename, u.contentType, u.content = filename, contentType, content
	return u
}

// to is the form as it is sent to a page.
func (u upload) to(tb testing.TB, path, session string) call {
	tb.Helper()
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for _, field := range u.fields {
		if err := writer.WriteField(field[0], field[1]); err != nil {
			tb.Fatal(err)
		}
	}
	header := textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="` + u.filename + `"`},
		"Content-Type":        {u.contentType},
	}
	part, err := writer.CreatePart(header)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := part.Write([]byte(u.content)); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	c := call{method: http.MethodPost, path: path, body: body.String()}.in(session)
	return c.with("Content-Type", writer.FormDataContentType()).with("Sec-Fetch-Site", "same-origin")
}

// launched sends a form and returns the address of the run that it leads to.
func (s *stage) launched(tb testing.TB, c call) string {
	tb.Helper()
	got := s.answerTo(tb, c)
	to := got.header.Get("Location")
	if got.status != http.StatusSeeOther || !strings.HasPrefix(to, harbourPages+"runs/") {
		tb.Fatalf("status = %d to %q, want 303 to a run; body %s", got.status, to, got.body)
	}
	return to
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	html := s.visit(t, http.StatusOK, page(launchMeters, session))
	shows(t, html, "Run Meter readings", "version 1, the latest", "text/csv", "up to 10 MiB",
		"1,000,000 of 1,000,000 runs are left", `enctype="multipart/form-data"`)
	filled := filledIn(t, html).with("name", "March").with("short_description", "All of <b>March</b>.")
	to := s.launched(t, filled.to(t, launchMeters+"?version=1", session))
	got := one[[]string](t, s, `
		SELECT ARRAY[r.source, s.name, s.short_description, s.filename, s.media_type, r.idempotency_key]
		FROM validation_runs AS r JOIN submissions AS s ON s.org_id = r.org_id AND s.id = r.submission_id`)
	want := []string{
		string(validations.SourceDashboard), "March", "All of <b>March</b>.", "readings.csv", "text/csv",
		filled.fields[0][1],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the run (-want +got):\n%s", diff)
	}
	if again := s.launched(t, filled.to(t, launchMeters+"?version=1", session)); again != to {
		t.Errorf("the form sent again leads to %s, want %s", again, to)
	}
	if counts := s.rowCounts(t); counts.Runs != 1 || counts.Used != 1 || counts.Keys != 1 || counts.Audits != 1 {
		t.Errorf("rows = %+v, want one run, one charge, one key, one audit record", counts)
	}
}

func TestLaunchSentByManyAtOnceStartsOneRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	c := filledIn(t, s.visit(t, http.StatusOK, page(launchMeters, session))).to(t, launchMeters, session)
	const clicks = 16
	answers := make([]answer, clicks)
	var group sync.WaitGroup
	for i := range clicks {
		group.Go(func() { answers[i], _ = s.send(t.Context(), c) }) // An error leaves the status 0.
	}
	group.Wait()
	waiting := launchMeters + hiddenKey(t, c) + "/"
	for _, got := range answers {
		to := got.header.Get("Location")
		if got.status != http.StatusSeeOther || (to != waiting && !strings.HasPrefix(to, harbourPages+"runs/")) {
			t.Errorf("status = %d to %q, want 303 to the run, or to wait for it", got.status, to)
		}
	}
	if counts := s.rowCounts(t); counts.Runs != 1 || counts.Used != 1 {
		t.Errorf("rows = %+v, want one run and one charge", counts)
	}
	if got := s.answerTo(t, page(waiting, session)); got.status != http.StatusSeeOther {
		t.Errorf("%s: status = %d, want 303 to the run", waiting, got.status)
	}
}

// hiddenKey is the key in a form as it is sent.
func hiddenKey(tb testing.TB, c call) string {
	tb.Helper()
	found := regexp.MustCompile(`name="key"\r\n\r\n(\S+)`).FindStringSubmatch(c.body)
	if found == nil {
		tb.Fatal("the form has no key")
	}
	return found[1]
}

func TestLaunchWithAnotherDocumentIsTold(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	filled := filledIn(t, s.visit(t, http.StatusOK, page(launchMeters, session)))
	to := s.launched(t, filled.to(t, launchMeters, session))
	other := filled.file("readings.csv", "text/csv", sampleText(t, "bad/meter-readings.csv"))
	html := s.visit(t, http.StatusUnprocessableEntity, other.to(t, launchMeters, session))
	shows(t, html, "This form has been used", `href="`+to+`"`, `href="`+launchMeters+`"`)
	if counts := s.rowCounts(t); counts.Runs != 1 {
		t.Errorf("runs = %d, want 1", counts.Runs)
	}
}

func TestLaunchTakesPastedText(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	blank := filledIn(t, s.visit(t, http.StatusOK, page(launchMeters, session))).
		file("", "application/octet-stream", "")
	pasted := blank.with("text", "a,b\r\n1,2\r\n").with("filename", "pasted.tsv")
	s.launched(t, pasted.to(t, launchMeters, session))
	got := one[[]string](t, s, `SELECT ARRAY[convert_from(content, 'UTF8'), media_type, filename] FROM submissions`)
	if diff := cmp.Diff([]string{"a,b\n1,2\n", "text/tab-separated-values", "pasted.tsv"}, got); diff != "" {
		t.Errorf("the document (-want +got):\n%s", diff)
	}
}

func TestLaunchGuessesTheType(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	for name, tt := range map[string]struct{ filename, declared, want string }{
		"Declared":            {"readings.txt", "text/plain", "text/plain"},
		"OfAnOfficeProgram":   {"readings.csv", "application/vnd.ms-excel", "text/csv"},
		"WithoutAnyType":      {"READINGS.TSV", "application/octet-stream", "text/tab-separated-values"},
		"WithoutTypeAndName":  {"readings", "application/octet-stream", "text/csv"},
		"OfAnUnknownLanguage": {"readings.data", "application/octet-stream", "text/csv"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filled := filledIn(t, s.visit(t, http.StatusOK, page(launchMeters, session)))
			filled = filled.file(tt.filename, tt.declared, filled.content)
			to := s.launched(t, filled.to(t, launchMeters, session))
			id := strings.TrimSuffix(strings.TrimPrefix(to, harbourPages+"runs/"), "/")
			got := one[string](t, s, `SELECT s.media_type FROM submissions AS s JOIN validation_runs AS r
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
	session := s.visitor(t, core.RoleExecutor)
	old := core.FirstIDAt(time.Now().Add(-48 * time.Hour))
	old[6], old[8] = 0x70, 0x80
	fresh := filledIn(t, s.visit(t, http.StatusOK, page(launchMeters, session))).
		with("name", "<script>alert(1)</script>").with("short_description", "keep me")
	unkeyed := upload{fields: fresh.fields[1:], filename: fresh.filename, content: fresh.content}
	for name, tt := range map[string]struct {
		form   upload
		status int
		shown  string
	}{
		"WithoutADocument": {fresh.file("", "application/octet-stream", ""), 400, "Choose a file, or paste a text."},
		"WithAnEmptyFile":  {fresh.file("empty.csv", "text/csv", ""), 400, "its content is empty"},
		"WithTwoDocuments": {fresh.with("text", "a,b\n"), 400, "not both"},
		"OfAnotherType":    {fresh.file("a.png", "image/png", "PNG"), 415, "It accepts text/csv, "},
		"TooLarge":         {fresh.file("a.csv", "text/csv", strings.Repeat("a", 1<<20)), 413, "larger than"},
		"WithALongText":    {fresh.with("text", strings.Repeat("a,b\n", 100_000)), 400, "too long to restore"},
		"WithANUL":         {fresh.with("filename", "a\x00.csv"), 400, "Control characters"},
		"WithALongName":    {fresh.with("filename", strings.Repeat("n", 256)), 400, "longer than 255"},
		"WithoutAKey":      {unkeyed, 400, "The form has no key."},
		"WithAnOldKey":     {unkeyed.with("key", old.String()), 400, "opened too long ago"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := s.visit(t, tt.status, tt.form.to(t, launchMeters, session))
			shows(t, html, tt.shown, `class="problem"`, `id="file"`, "Choose the file again")
			hides(t, html, "<script>alert")
			if key := hidden(t, html, idempotency.FormField); key == "" || key == old.String() {
				t.Errorf("the form's key = %q, want one that can be used", key)
			}
			if tt.status != http.StatusRequestEntityTooLarge {
				shows(t, html, "&lt;script&gt;alert(1)&lt;/script&gt;", "keep me")
			}
			if counts := s.rowCounts(t); counts.Runs != 0 || counts.Keys != 0 {
				t.Errorf("rows = %+v, want no run and no key", counts)
			}
		})
	}
}

func TestLaunchBeyondTheQuota(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.stranger(t)
	const launch = "/app/orgs/tiny-quota/workflows/meter-readings/launch/"
	for range 3 {
		filled := filledIn(t, s.visit(t, http.StatusOK, page(launch, session)))
		s.visit(t, http.StatusSeeOther, filled.to(t, launch, session))
	}
	html := s.visit(t, http.StatusOK, page(launch, session))
	shows(t, html, "0 of 3 runs are left")
	filled := filledIn(t, html).with("name", "kept")
	refused := s.answerTo(t, filled.to(t, launch, session))
	if refused.status != http.StatusTooManyRequests || refused.header.Get("Retry-After") == "" {
		t.Errorf("status = %d, Retry-After %q, want 429 and a time", refused.status, refused.header.Get("Retry-After"))
	}
	shows(t, string(refused.body), "3 of 3 runs are used this month; the count resets at", `value="kept"`)
}

func TestLaunchOfAnInactiveWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const launch = harbourPages + "workflows/legacy-import/launch/"
	html := s.visit(t, http.StatusOK, page(launch, s.visitor(t, core.RoleExecutor)))
	shows(t, html, "The workflow is inactive.", "A member with the role author can activate it.")
	hides(t, html, `type="file"`)
	shows(t, s.visit(t, http.StatusOK, page(launch, s.visitor(t, core.RoleAuthor))), "Activate it")
	sent := upload{filename: "a.json", contentType: "application/json", content: "{}"}.with("key", newFormKey(t))
	html = s.visit(t, http.StatusUnprocessableEntity, sent.to(t, launch, s.visitor(t, core.RoleExecutor)))
	shows(t, html, "The workflow is inactive and starts no new runs.")
}

func newFormKey(tb testing.TB) string {
	tb.Helper()
	key, err := idempotency.NewFormKey()
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func TestLaunchOfAPinnedVersion(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	s.addVersion(t)
	html := s.visit(t, http.StatusOK, page(launchMeters+"?version=1", session))
	shows(t, html, "This is not the latest version.", `launch/?version=1"`)
	s.launched(t, filledIn(t, html).to(t, launchMeters+"?version=1", session))
	if got := one[int](t, s, `SELECT workflow_version FROM validation_runs`); got != 1 {
		t.Errorf("version = %d, want 1, which the page has shown", got)
	}
}

func TestLaunchedTellsWhatBecameOfAForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.visitor(t, core.RoleExecutor)
	key := newFormKey(t)
	shows(t, s.visit(t, http.StatusOK, page(launchMeters+key+"/", session)), "This form has started no run")
	s.exec(t, `INSERT INTO idempotency_keys (org_id, id, endpoint, key, request_method, request_path,
			fingerprint_version, request_hash, target_digest, content_digest, options_digest, request_id,
			recovery_point, locked_until, created_at, expires_at)
		SELECT $1, gen_random_uuid(), 'workflow_start', $2, 'POST', '/', 1, whole, target, content, options, 'r',
			'charging', now() + interval '1 minute', now(), now() + interval '1 day'
		FROM sha256('') AS whole, sha256('') AS target, sha256('') AS content, sha256('') AS options`,
		s.Harbour.ID, key)
	got := s.answerTo(t, page(launchMeters+key+"/", session))
	if got.status != http.StatusOK || got.header.Get("Refresh") == "" {
		t.Errorf("status = %d, Refresh %q, want a page that looks again", got.status, got.header.Get("Refresh"))
	}
	shows(t, string(got.body), "Your form is being processed", "Check again")
	s.visit(t, http.StatusNotFound, page(launchMeters+"made-up/", session))
}
