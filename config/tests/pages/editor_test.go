package pages

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// changedWorkflow adds a workflow with two versions, and returns the page that compares them.
func (s *stage) changedWorkflow(tb testing.TB) string {
	tb.Helper()
	s.AddTyped(tb, "changed", "application/json")
	s.Must(tb, http.StatusCreated, call{
		Method: http.MethodPost, Path: "/api/workflows/changed/versions/", Token: s.Harbour.Tokens.Owner,
	}.With("Idempotency-Key", "changed").WithBody("application/json", `{"definition":{"accepts":["application/json"],
		"steps":[{"id":"a","name":"A","type":"json_schema","config":{"schema":{"required":["added"]}}}]}}`))
	return workflowsPage + "changed/versions/2/diff/"
}

// sent is the editor's form as a button sends it.
func (s *stage) sent(tb testing.TB, status int, html, text, do string, fields url.Values) (string, string) {
	tb.Helper()
	form := edited(tb, html, text).With("do", do)
	if strings.Contains(html, `name="revision"`) {
		form = form.With("revision", fixture.Hidden(tb, html, "revision"))
	}
	for name, values := range fields {
		form = form.With(name, values[0])
	}
	const address = workflowsPage + "meter-readings/edit/"
	got := s.AnswerTo(tb, form.To(tb, address, s.author(tb)))
	if got.Status != status {
		tb.Fatalf("%s: status = %d, want %d: %s", do, got.Status, status, fixture.MainOf(string(got.Body)))
	}
	return string(got.Body), got.Header.Get("Location")
}

func (s *stage) author(tb testing.TB) string {
	tb.Helper()
	return s.Visitor(tb, api.RoleAuthor)
}

func (s *stage) editor(tb testing.TB) string {
	tb.Helper()
	return s.see(tb, fixture.Page(workflowsPage+"meter-readings/edit/", s.author(tb)))
}

// meters is the demonstration's workflow as its author writes it.
func meters(tb testing.TB, changes ...string) string {
	tb.Helper()
	return strings.NewReplacer(changes...).Replace(fixture.SampleText(tb, "workflows/meter-readings.yaml"))
}

// numberOf is the number of the version that runs are started with.
func (s *stage) numberOf(tb testing.TB) int {
	tb.Helper()
	return coretest.One[int](tb, s.DB, `SELECT latest_version FROM workflows WHERE org_id = $1
		AND slug = 'meter-readings'`, s.Harbour.ID)
}

func TestEditorShowsAllFaultsAtTheirLines(t *testing.T) {
	t.Parallel()
	s := setup(t)
	text := meters(t, "minimum: 0", "minimun: 0", "type: datetime", "type: datetim")
	for _, do := range []string{"", "check"} {
		html, _ := s.sent(t, http.StatusBadRequest, s.editor(t), text, do, nil)
		fixture.Shows(t, html, "2 errors:", "did you mean minimum?", "did you mean datetime?")
		for i, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "minimun") || strings.Contains(line, "datetim") {
				fixture.Shows(t, html, `data-line="`+strconv.Itoa(i+1)+`"`, "<b>"+strconv.Itoa(i+1)+"</b>")
			}
		}
	}
}

func TestSampleIsCheckedByTheTextThatIsWritten(t *testing.T) {
	t.Parallel()
	s := setup(t)
	before := s.RowCounts(t)
	bad := url.Values{"sample": {fixture.SampleText(t, "bad/meter-readings.csv")}, "sample_name": {"bad.csv"}}
	html, _ := s.sent(t, http.StatusOK, s.editor(t), meters(t), "check", bad)
	fixture.Shows(t, html, "The workflow has no errors.", "8 errors", "<b>Line 5, column 31:</b> kwh &#34;n/a&#34;",
		"csv.row.field_count", "MTR-1001,2026-03-01T03:00:00Z,n/a")
	html, _ = s.sent(t, http.StatusOK, s.editor(t), meters(t, "minimum: 0", "minimum: -50"), "check", bad)
	fixture.Shows(t, html, "7 errors", "minimum: -50")
	good := url.Values{"sample": {fixture.SampleText(t, "good/meter-readings.csv")}}
	html, _ = s.sent(t, http.StatusOK, s.editor(t), meters(t), "check", good)
	fixture.Shows(t, html, "Passed", "0 errors")
	html, _ = s.sent(t, http.StatusOK, s.editor(t), meters(t), "check", nil)
	fixture.Hides(t, html, `id="checked"`)
	other := url.Values{"sample": {"{}"}, "sample_name": {"x.json"}}
	html, _ = s.sent(t, http.StatusOK, s.editor(t), meters(t), "check", other)
	fixture.Shows(t, html, "Not checked", "accepts text/csv")
	large := url.Values{"sample": {strings.Repeat("x", 256<<10+1)}}
	html, _ = s.sent(t, http.StatusRequestEntityTooLarge, s.editor(t), meters(t), "check", large)
	fixture.Shows(t, html, "larger than 256 KiB")
	if after := s.RowCounts(t); after != before {
		t.Errorf("rows = %+v, want %+v: nothing is stored", after, before)
	}
	for range 40 {
		form := edited(t, html, meters(t)).With("do", "check").With("sample", "a")
		got := s.AnswerTo(t, form.To(t, workflowsPage+"meter-readings/edit/", s.author(t)))
		if got.Status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("40 samples were checked at once, want a limit")
}

func TestWorkflowIsWrittenFromASample(t *testing.T) {
	t.Parallel()
	s := setup(t)
	before := s.RowCounts(t)
	sample := url.Values{
		"sample": {fixture.SampleText(t, "good/meter-readings.csv")}, "sample_name": {"readings of march.csv"},
	}
	html, _ := s.sent(t, http.StatusOK, s.editor(t), "nothing", "infer", sample)
	written := fixture.TextArea(t, html, "text")
	fixture.Shows(t, html, "The YAML was written from the sample")
	for _, want := range []string{"slug: meter-readings\n", "type: table", "name: kwh", "type: datetime"} {
		if !strings.Contains(written, want) {
			t.Errorf("the YAML has no %q:\n%s", want, written)
		}
	}
	html, _ = s.sent(t, http.StatusOK, s.editor(t), written, "check", sample)
	fixture.Shows(t, html, "Passed", "0 errors")
	html, _ = s.sent(t, http.StatusBadRequest, s.editor(t), meters(t), "infer", nil)
	fixture.Shows(t, html, "Paste a sample document and give its file name", "minimum: 0")
	for name, say := range map[string]string{
		"picture.png": "nothing can be inferred from documents of this type", "broken.json": "cannot be written from",
	} {
		html, _ = s.sent(t, http.StatusBadRequest, s.editor(t), meters(t), "infer",
			url.Values{"sample": {"{"}, "sample_name": {name}})
		fixture.Shows(t, html, say, "minimum: 0")
	}
	if after := s.RowCounts(t); after != before {
		t.Errorf("rows = %+v, want %+v: nothing is stored", after, before)
	}
}

func TestDrafts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	number := s.numberOf(t)
	broken := meters(t, "minimum: 0", "minimun: 0")
	html := s.editor(t)
	_, to := s.sent(t, http.StatusSeeOther, html, broken, "draft", nil)
	if to != workflowsPage+"meter-readings/edit/" {
		t.Errorf("leads to %q, want the editor", to)
	}
	shown := s.editor(t)
	fixture.Shows(t, shown, "minimun: 0", "There is a draft of this workflow", "Discard the draft")
	run := s.Started(t, s.Start(t, ""))
	if got := s.numberOf(t); got != number || run.WorkflowVersion != number {
		t.Errorf("version = %d, started with %d, want %d: a draft starts no runs", got, run.WorkflowVersion, number)
	}

	refused, _ := s.sent(t, http.StatusBadRequest, html, meters(t, "minimum: 0", "minimum: 7"), "draft", nil)
	fixture.Shows(t, refused, "The draft was changed in the meantime.", "minimum: 7")
	s.sent(t, http.StatusSeeOther, refused, meters(t, "minimum: 0", "minimum: 7"), "draft", nil)
	fixture.Shows(t, s.editor(t), "minimum: 7")

	stale := s.editor(t)
	s.sent(t, http.StatusSeeOther, s.editor(t), meters(t, "minimum: 0", "minimum: 8"), "", nil)
	fixture.Hides(t, s.editor(t), "There is a draft")
	if got := s.numberOf(t); got != number+1 {
		t.Errorf("version = %d, want %d: the draft was published", got, number+1)
	}
	conflict, _ := s.sent(t, http.StatusBadRequest, stale, meters(t, "minimum: 0", "minimum: 9"), "", nil)
	fixture.Shows(t, conflict, "was saved in the meantime", "See what has changed")
	diff := s.see(t, fixture.Page(linkOf(t, conflict, "See what has changed"), s.author(t)))
	fixture.Shows(t, diff, "minimum: 8", `<tr class="ok">`, `<tr class="fail">`)

	s.sent(t, http.StatusSeeOther, s.editor(t), "anything", "draft", nil)
	s.sent(t, http.StatusSeeOther, s.editor(t), "", "discard", nil)
	fixture.Hides(t, s.editor(t), "anything", "There is a draft")
	s.sent(t, http.StatusBadRequest, s.editor(t), "a\x00b", "draft", nil)
	s.sent(t, http.StatusBadRequest, s.editor(t), meters(t), "other", nil)
}

// linkOf is the address of the link with a text.
func linkOf(tb testing.TB, html, text string) string {
	tb.Helper()
	before, _, found := strings.Cut(html, ">"+text+"</a>")
	if !found {
		tb.Fatalf("the page has no link %q", text)
	}
	_, address, _ := strings.Cut(before[strings.LastIndex(before, "<a "):], `href="`)
	address, _, _ = strings.Cut(address, `"`)
	return address
}

func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	s := setup(t)
	path := s.changedWorkflow(t)
	viewer := s.Visitor(t, api.RoleViewer)
	s.shows(t, fixture.Page(path, viewer), "version 1 to 2", "- added")
	s.shows(t, fixture.Page(path+"?with=2", viewer), "the same text")
	s.Visit(t, http.StatusBadRequest, fixture.Page(path+"?with=x", viewer))
	s.Visit(t, http.StatusNotFound, fixture.Page(path+"?with=9", viewer))
	s.Visit(t, http.StatusNotFound, fixture.Page(workflowsPage+"changed/versions/1/diff/", viewer))
}
