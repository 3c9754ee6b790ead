package pages

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
)

// checkedDocument starts a run on a document and executes it.
func (s *stage) checkedDocument(tb testing.TB, document string) string {
	tb.Helper()
	run := s.Started(tb, s.Start(tb, "").WithBody("text/csv", document))
	s.Work(tb)
	return run.ID
}

func pageOfDocument(id string) string { return pageOfRun(id) + "document/" }

func TestDocumentPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	id := s.checkedDocument(t, fixture.SampleText(t, "bad/meter-readings.csv"))
	visit := func(query string) string {
		return fixture.MainOf(s.see(t, fixture.Page(pageOfDocument(id)+query, viewer)))
	}
	table := visit("")
	fixture.Shows(t, table,
		`<tr id="L5" class="fail"><th scope="row" class="n">5</th><td>MTR-1001</td>`,
		`<td class="bad"><mark>n/a</mark></td>`,
		`kwh &#34;n/a&#34; is not a number`, `<tr id="L22" class="fail whole">`, "row has 4 fields, header has 5",
		"Lines 1 to 25 of 25", "8 lines with findings", "document/?line=5#L5", `data-key="n"`)
	fixture.Shows(t, visit("?line=9"), `<tr id="L9" class="fail here">`, "2 of 8 lines with findings",
		`document/?line=5#L5" data-window data-key="p"`, `document/?line=12#L12" data-window data-key="n"`)
	lines := visit("?as=text&line=5")
	fixture.Shows(t, lines, `<li id="L5" value="5" class="fail here">`,
		"<code>MTR-1001,2026-03-01T03:00:00Z,<mark>n/a</mark>,A,night</code>", `class="fail whole"`, "as=text#L9")
	fixture.Hides(t, lines, "<td")
	for _, query := range []string{"?line=0", "?line=x", "?from=99999999999", "?as=pdf"} {
		s.Visit(t, http.StatusBadRequest, fixture.Page(pageOfDocument(id)+query, viewer))
	}
	run := fixture.MainOf(s.see(t, fixture.Page(pageOfRun(id), viewer)))
	fixture.Shows(t, run, "<h2>Document</h2>", `<li id="L5" value="5" class="fail">`, "Open the document",
		`href="`+pageOfDocument(id)+`?line=5#L5">5:31</a>`,
		`<a href="`+pageOfDocument(id)+`?line=5#L5" tabindex="-1"><rect`)
}

func TestDocumentPageSaysWhatItCannotShow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	visit := func(id string) string { return s.see(t, fixture.Page(pageOfDocument(id), viewer)) }
	spreadsheet := s.checkedDocument(t, "PK\x03\x04 a spreadsheet")
	fixture.Shows(t, visit(spreadsheet), "The document is not text", "content/\" download>Download")
	s.Exec(t, `UPDATE submissions SET content = NULL`)
	s.Exec(t, `UPDATE validation_runs SET content_purged_at = now()`)
	gone := visit(spreadsheet)
	fixture.Shows(t, gone, "no longer kept")
	fixture.Hides(t, gone, "Download<")
	run := s.see(t, fixture.Page(pageOfRun(spreadsheet), viewer))
	fixture.Hides(t, run, "Open the document", "document/?line=")
}

// largeFaultyTable is a table of some ten thousand rows for each MiB, with a fault in the first row and in the last.
func largeFaultyTable(size int) (string, int) {
	var text strings.Builder
	text.WriteString("meter_id,read_at,kwh,quality,tariff\nMTR-0001,2026-03-01T00:00:00Z,first,A,day\n")
	rows := 2
	for ; text.Len() < size; rows++ {
		fmt.Fprintf(&text, "MTR-%04d,2026-03-01T00:00:00.%09dZ,1.5,A,day\n", rows%10_000, rows)
	}
	text.WriteString("MTR-0001,2026-03-02T00:00:00Z,last,A,day\n")
	return text.String(), rows + 1
}

func TestWindowsOfALargeDocument(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	document, last := largeFaultyTable(2 * validations.MaxInlineBytes)
	id := s.checkedDocument(t, document)
	for query, want := range map[string][]string{
		"":                              {"<mark>first</mark>", fmt.Sprintf("document/?line=%d#L%[1]d", last)},
		fmt.Sprintf("?line=%d", last):   {"<mark>last</mark>", "2 of 2 lines with findings"},
		"?as=text":                      {"<mark>first</mark>", "Later lines"},
		"?as=text&line=5000":            {`<li id="L5000" value="5000" class=" here">`, "Lines 4,992 to 5,091"},
		fmt.Sprintf("?from=%d", 2*last): {"The document has"},
	} {
		html := s.see(t, fixture.Page(pageOfDocument(id)+query, viewer))
		fixture.Shows(t, html, want...)
		if len(html) > 60_000 {
			t.Errorf("%s: the page has %d bytes, want at most 60,000", query, len(html))
		}
	}
}

func TestHostileDocumentIsEscaped(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	hostile := []string{
		"<script>alert(1)</script>", "</code></li><img src=x onerror=alert(1)>", "\x00\x1b]0;title\x07",
		"\u202egpj.exe",
		"\xff\xfe", "{{.Data}}", strings.Repeat("\"<b>", 1<<18),
	}
	id := s.checkedDocument(t, "meter_id,read_at,kwh,quality,tariff\n"+strings.Join(hostile, "\n"))
	for _, query := range []string{"", "?as=text", "?as=text&line=8"} {
		html := s.see(t, fixture.Page(pageOfDocument(id)+query, viewer))
		fixture.Hides(t, html, "<script>alert", "<img src=x", "\x00", "\x1b", "\u202e", "<b>")
		fixture.Shows(t, html, "&lt;script&gt;alert(1)&lt;/script&gt;", "\ufffdgpj.exe", "{{.Data}}")
		if len(html) > 60_000 {
			t.Errorf("%s: the page has %d bytes, want at most 60,000", query, len(html))
		}
	}
	s.shows(t, fixture.Page(pageOfDocument(id)+"?as=text", viewer), "1,048,336 characters …",
		"<mark>␀␛</mark>]0;title␇")
}
