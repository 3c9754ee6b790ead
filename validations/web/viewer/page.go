package viewer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/document"
	"github.com/simplevalidations/simplevalidations/validations/formats"
	"github.com/simplevalidations/simplevalidations/validations/words"
)

const (
	// windowLines and windowRows are how many lines or rows the page of a document shows.
	windowLines = 100
	windowRows  = 40
	// windowHead and windowCell are how many characters of a line or a cell it shows.
	windowHead = 240
	windowCell = 60
	// windowBefore is how many lines come before the one that the page leads to.
	windowBefore = 8
	// rowSpan is how many lines the rows of a window are expected to have at most.
	rowSpan = 10 * windowRows
)

// documentPage is the page of a run's document.
type documentPage struct {
	RunID, ShortID string
	// Run is the address of the run's page, and Here that of this page.
	Run, Here string
	Filename  string
	MediaType string
	Size      string
	SHA256    string
	Kind      documentKind
	// Gone says why there is nothing to show; "" for a document that is kept.
	Gone string
	// Unfinished is set until the run has ended, and FindingsGone if its findings are no longer kept.
	Unfinished, FindingsGone bool
	// AsText and AsTable link to the other view of a table.
	AsText, AsTable string
	Total           int
	Lines           []Line
	Table           *tableView
	Window          documentNav
	Findings        documentNav
	Map             *Minimap
}

// documentNav leads to other windows. Label says where this one is.
type documentNav struct{ Previous, Next, Label string }

// Line is a line of a document with its findings.
type Line struct {
	document.Line

	Notes []noteView
	// Tone is that of the gravest finding; "" for a line without one.
	Tone string
	// Here says that the address of the page names this line.
	Here bool
}

// noteView is a finding in the margin.
type noteView struct {
	Pill    pages.Pill
	Message string
	Code    string
}

// tableView is a window of a table.
type tableView struct {
	document.Table

	Rows  []rowView
	Notes []noteView
	// Width counts the cells of a row, its number included.
	Width int
}

type rowView struct {
	document.Row

	Notes []noteView
	Tone  string
	Here  bool
}

// documentPageQuery is the query of the page: the line that it leads to or the one that it begins with, and the view.
type documentPageQuery struct {
	Line string `query:"line"`
	From string `query:"from"`
	As   string `query:"as" validate:"omitempty,oneof=text table"`
}

// window returns the first line of the window and the line that the page leads to, 0 for none.
func (q documentPageQuery) window() (int, int, error) {
	line, err := wholeNumber("line", q.Line, 0, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	from, err := wholeNumber("from", q.From, max(1, line-windowBefore), math.MaxInt32)
	return from, line, err
}

// Page is GET /app/orgs/{org}/runs/{id}/document/.
func (a *App) Page(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var query documentPageQuery
	if err := core.BindQuery(c, a.check, &query); err != nil {
		return err
	}
	from, line, err := query.window()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	view := documentPage{
		RunID: id.String(), ShortID: words.ID(id), Run: pages.Base(principal.OrgSlug) + "runs/" + id.String() + "/",
	}
	view.Here = view.Run + "document/"
	shown, err := a.openDocument(ctx, principal.OrgID, id)
	if refused := pages.Refusal(err); refused != nil && refused.Code == api.CodeDocumentGone {
		view.Gone = refused.Detail
	} else if err != nil {
		return err
	} else if err := a.fillDocument(ctx, &view, shown, documentWindow{from, line, query.As}); err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "document", pages.Page{
		Title: "Document of run " + view.ShortID, Section: pages.SectionRuns, Data: view,
	})
}

// documentWindow is what part of a document its page is to show: from a line on, with the line that it leads to.
type documentWindow struct {
	from, line int
	as         string
}

func (a *App) fillDocument(
	ctx context.Context, view *documentPage, shown shownDocument, window documentWindow,
) error {
	view.Filename, view.MediaType = words.Document(shown.Filename), shown.MediaType
	view.Size, view.SHA256 = pages.Size(shown.Size), hex.EncodeToString(shown.SHA256)
	view.Kind = shown.kind
	view.Unfinished = shown.run.State != api.RunStateCompleted
	view.FindingsGone = shown.run.FindingsPurgedAt != nil
	if !shown.hasWindows() {
		return nil
	}
	leave, err := a.enterDocument(ctx, shown)
	if err != nil {
		return err
	}
	defer leave()
	isTable := shown.kind == documentTable && window.as != "text"
	read, last := readLines, window.from+windowLines-1
	if isTable {
		read, last = readRows, window.from+rowSpan
	}
	findings, err := a.runs.FindingsOnLines(ctx, shown.run, window.from, last)
	if err != nil {
		return err
	}
	shownTo, err := read(view, shown, window, findings)
	if err != nil {
		return err
	}
	places, err := a.runs.FindingPlaces(ctx, shown.run)
	if err != nil {
		return err
	}
	view.lead(places, shown, window, shownTo)
	return nil
}

// readLines fills the page with lines, and returns the last one.
func readLines(
	view *documentPage, shown shownDocument, window documentWindow, findings []validations.Finding,
) (int, error) {
	text, err := document.ReadText(shown.source(), document.Window{
		From: window.from, Count: windowLines, Head: windowHead, Marks: marksOf(findings),
	})
	if err != nil {
		return 0, err
	}
	view.Total = text.Total
	view.Lines = lineViews(text, findings, window.line)
	return window.from + len(text.Lines) - 1, nil
}

// lineViews adds their findings to lines. The address of the page may name one of them.
func lineViews(text document.Text, findings []validations.Finding, here int) []Line {
	views := make([]Line, len(text.Lines))
	for i, line := range text.Lines {
		notes, tone := notesOf(findings, line.Number, line.Number)
		views[i] = Line{Line: line, Notes: notes, Tone: tone, Here: line.Number == here}
	}
	return views
}

// readRows fills the page with the rows of a table, and returns the last line of them.
func readRows(
	view *documentPage, shown shownDocument, window documentWindow, findings []validations.Finding,
) (int, error) {
	table, err := document.ReadTable(shown.source(), shown.config, shown.engineDocument(), document.Window{
		From: window.from, Count: windowRows, Head: windowCell, Marks: marksOf(findings),
	})
	if err != nil {
		return 0, err
	}
	view.Total = table.Total
	view.Table = &tableView{Table: table, Width: len(table.Columns) + 1}
	if table.HasHeader {
		view.Table.Notes, _ = notesOf(findings, 1, 1)
	}
	last := window.from - 1
	for _, row := range table.Rows {
		notes, tone := notesOf(findings, row.Line, row.Last)
		view.Table.Rows = append(view.Table.Rows, rowView{
			Row: row, Notes: notes, Tone: tone, Here: row.Line <= window.line && window.line <= row.Last,
		})
		last = row.Last
	}
	return last, nil
}

func marksOf(findings []validations.Finding) []document.Mark {
	marks := make([]document.Mark, len(findings))
	for i, finding := range findings {
		marks[i] = findingMark(finding)
	}
	return marks
}

// lineNotes bounds the findings beside one line.
const lineNotes = 3

// notesOf returns the findings on some lines, and the tone of the gravest.
func notesOf(findings []validations.Finding, first, last int) ([]noteView, string) {
	var notes []noteView
	tones := make(map[string]bool)
	n := 0
	for _, finding := range findings {
		if finding.Line < first || finding.Line > last {
			continue
		}
		n++
		if n > lineNotes {
			continue
		}
		pill := words.Severity(finding.Severity)
		tones[pill.Tone] = true
		notes = append(notes, noteView{
			Pill: pill, Message: formats.Clean(finding.Message), Code: formats.Clean(finding.Code),
		})
	}
	if n > lineNotes {
		more := words.Counted(int64(n-lineNotes), "more finding") + " here"
		notes = append(notes, noteView{Pill: pages.NewPill("idle", ""), Message: more})
	}
	for _, tone := range []string{"fail", "warn", "idle"} {
		if tones[tone] {
			return notes, tone
		}
	}
	return notes, ""
}

// lead adds the links to other parts of the document.
func (p *documentPage) lead(
	places []validations.FindingPlace, shown shownDocument, window documentWindow, last int,
) {
	as := ""
	if shown.kind == documentTable {
		as = p.leadToViews(window)
	}
	p.leadToWindows(window, last, as)
	address := func(line int) string {
		n := strconv.Itoa(line)
		return p.Here + "?line=" + n + as + "#L" + n
	}
	p.Map = drawMap(places, p.Total, address)
	if lines := linesOf(places); len(lines) > 0 {
		p.leadToFindings(lines, window, address)
	}
}

// leadToViews adds the link to the other view of a table, and returns what keeps this one in other links.
func (p *documentPage) leadToViews(window documentWindow) string {
	at := p.Here + "?from=" + strconv.Itoa(window.from)
	if window.as == "text" {
		p.AsTable = at + "&as=table"
	} else {
		p.AsText = at + "&as=text"
	}
	if window.as == "" {
		return ""
	}
	return "&as=" + window.as
}

// leadToWindows adds the links to the windows before and after this one.
func (p *documentPage) leadToWindows(window documentWindow, last int, as string) {
	begin := func(from int) string { return p.Here + "?from=" + strconv.Itoa(from) + as + "#document" }
	size := windowLines
	if p.Table != nil {
		size = windowRows
	}
	if window.from > 1 {
		p.Window.Previous = begin(max(1, min(window.from, p.Total+1)-size))
	}
	if last < p.Total && last >= window.from {
		p.Window.Next = begin(last + 1)
	}
	p.Window.Label = linesLabel(window.from, last, p.Total)
}

// leadToFindings adds the links to the nearest of the lines that have findings.
func (p *documentPage) leadToFindings(lines []int, window documentWindow, address func(line int) string) {
	at := window.line
	if at == 0 {
		at = window.from - 1
	}
	i, found := slices.BinarySearch(lines, at)
	if i > 0 {
		p.Findings.Previous = address(lines[i-1])
	}
	p.Findings.Label = words.Counted(int64(len(lines)), "line") + " with findings"
	if found {
		p.Findings.Label = fmt.Sprintf("%s of %s", pages.Number(i+1), p.Findings.Label)
		i++
	}
	if i < len(lines) {
		p.Findings.Next = address(lines[i])
	}
}

func linesLabel(from, last, total int) string {
	if last < from {
		return "The document has " + words.Counted(int64(total), "line") + "."
	}
	return fmt.Sprintf("Lines %s to %s of %s", pages.Number(from), pages.Number(last), pages.Number(total))
}

// linesOf lists the lines that have findings.
func linesOf(places []validations.FindingPlace) []int {
	var lines []int
	for _, place := range places {
		if place.Line > 0 {
			lines = append(lines, place.Line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// previewLines is how many lines the page of a run shows of the document.
const previewLines = 9

// Preview reads the lines around the first finding of a run that has ended. Large documents are shown on their own page
// only.
func (a *App) Preview(
	ctx context.Context, run validations.Run, size int64, places []validations.FindingPlace,
) ([]Line, error) {
	lines := linesOf(places)
	if run.State != api.RunStateCompleted || run.ContentPurgedAt != nil || len(lines) == 0 ||
		size > validations.MaxInlineBytes {
		return nil, nil
	}
	shown, err := a.openDocument(ctx, run.OrgID, run.ID)
	if errors.Is(err, api.CodeDocumentGone) || err == nil && !shown.hasWindows() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	from := max(1, lines[0]-previewLines/2)
	findings, err := a.runs.FindingsOnLines(ctx, run, from, from+previewLines-1)
	if err != nil {
		return nil, err
	}
	text, err := document.ReadText(shown.source(), document.Window{
		From: from, Count: previewLines, Head: windowHead, Marks: marksOf(findings),
	})
	return lineViews(text, findings, 0), err
}
