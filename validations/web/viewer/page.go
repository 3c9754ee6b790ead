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
	"github.com/simplevalidations/simplevalidations/validations/formats"
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
	Table           *Table
	Window          documentNav
	Findings        documentNav
	Map             *Minimap
}

// documentNav leads to other windows. Label says where this one is.
type documentNav struct{ Previous, Next, Label string }

// documentPageQuery is the query of the page: the line that it leads to or the one that it begins with, and the view.
type documentPageQuery struct {
	Line string `query:"line"`
	From string `query:"from"`
	As   string `query:"as" validate:"omitempty,oneof=text table"`
}

// Page is GET /app/orgs/{org}/runs/{id}/document/.
func (a *App) Page(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var query documentPageQuery
	if err := core.BindQuery(c, a.check, &query); err != nil {
		return err
	}
	line, err := wholeNumber("line", query.Line, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	from, err := wholeNumber("from", query.From, max(1, line-windowBefore), math.MaxInt32)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	view := documentPage{
		RunID: id.String(), ShortID: validations.ShortID(id),
		Run: pages.Base(principal.OrgSlug) + "runs/" + id.String() + "/",
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
	view.Filename, view.MediaType = validations.DocumentName(shown.Filename), shown.MediaType
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
	last := window.from + windowLines - 1
	if isTable {
		last = window.from + rowSpan
	}
	findings, err := a.runs.FindingsOnLines(ctx, shown.run, window.from, last)
	if err != nil {
		return err
	}
	if isTable {
		last, err = readRows(view, shown, window, findings)
	} else {
		var text Text
		text, err = readLines(shown, Window{From: window.from, Count: windowLines}, window.line, findings)
		view.Total, view.Lines, last = text.Total, text.Lines, window.from+len(text.Lines)-1
	}
	if err != nil {
		return err
	}
	places, err := a.runs.FindingPlaces(ctx, shown.run)
	if err != nil {
		return err
	}
	view.lead(places, shown, window, last)
	return nil
}

// readLines reads lines with their findings. The address of the page may name one of them.
func readLines(shown shownDocument, window Window, here int, findings []validations.Finding) (Text, error) {
	window.Head, window.Marks = windowHead, marksOf(findings)
	text, err := readText(shown.source(), window)
	for i := range text.Lines {
		line := &text.Lines[i]
		line.Notes, line.Tone = notesOf(findings, line.Number, line.Number)
		line.Here = line.Number == here
	}
	return text, err
}

// readRows fills the page with the rows of a table, and returns the last line of them.
func readRows(
	view *documentPage, shown shownDocument, window documentWindow, findings []validations.Finding,
) (int, error) {
	table, err := readTable(shown.source(), shown.config, shown.engineDocument(), Window{
		From: window.from, Count: windowRows, Head: windowCell, Marks: marksOf(findings),
	})
	if err != nil {
		return 0, err
	}
	if table.HasHeader {
		table.Notes, _ = notesOf(findings, 1, 1)
	}
	last := window.from - 1
	for i := range table.Rows {
		row := &table.Rows[i]
		row.Notes, row.Tone = notesOf(findings, row.Line, row.Last)
		row.Here = row.Line <= window.line && window.line <= row.Last
		last = row.Last
	}
	view.Table, view.Total = &table, table.Total
	return last, nil
}

// marksOf are the places of findings in their document.
func marksOf(findings []validations.Finding) []Mark {
	marks := make([]Mark, len(findings))
	for i, f := range findings {
		marks[i] = Mark{Line: f.Line, Path: f.Path}
		if !formats.WholeLine(f.Finding) {
			marks[i].Column = f.Column
			_, marks[i].Length = formats.Mark(f.Finding)
		}
	}
	return marks
}

// lineNotes bounds the findings beside one line.
const lineNotes = 3

// notesOf returns the findings on some lines, and the tone of the gravest.
func notesOf(findings []validations.Finding, first, last int) ([]validations.ShownFinding, string) {
	var notes []validations.ShownFinding
	n := 0
	for _, finding := range findings {
		if finding.Line < first || finding.Line > last {
			continue
		}
		n++
		if n <= lineNotes {
			notes = append(notes, validations.NewShownFinding(finding.Finding))
		}
	}
	tone := ""
	for _, graver := range []string{"idle", "warn", "fail"} {
		if slices.ContainsFunc(notes, func(f validations.ShownFinding) bool { return f.Tone == graver }) {
			tone = graver
		}
	}
	if n > lineNotes {
		more := pages.Counted(int64(n-lineNotes), "more finding") + " here"
		notes = append(notes, validations.ShownFinding{Tone: "idle", Sign: "–", Message: more})
	}
	return notes, tone
}

// lead adds the links to other parts of the document, and to the other view of a table.
func (p *documentPage) lead(
	places []validations.FindingPlace, shown shownDocument, window documentWindow, last int,
) {
	here := p.Here + "?from=" + strconv.Itoa(window.from)
	// as keeps the view in other links.
	as := ""
	if shown.kind == documentTable {
		if window.as == "text" {
			p.AsTable = here + "&as=table"
		} else {
			p.AsText = here + "&as=text"
		}
		if window.as != "" {
			as = "&as=" + window.as
		}
	}
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
	p.Window.Label = "The document has " + pages.Counted(int64(p.Total), "line") + "."
	if last >= window.from {
		p.Window.Label = fmt.Sprintf("Lines %s to %s of %s",
			pages.Number(window.from), pages.Number(last), pages.Number(p.Total))
	}
	address := func(line int) string {
		n := strconv.Itoa(line)
		return p.Here + "?line=" + n + as + "#L" + n
	}
	p.Map = drawMap(places, p.Total, address)
	if lines := linesOf(places); len(lines) > 0 {
		p.leadToFindings(lines, window, address)
	}
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
	p.Findings.Label = pages.Counted(int64(len(lines)), "line") + " with findings"
	if found {
		p.Findings.Label = fmt.Sprintf("%s of %s", pages.Number(i+1), p.Findings.Label)
		i++
	}
	if i < len(lines) {
		p.Findings.Next = address(lines[i])
	}
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
	text, err := readLines(shown, Window{From: from, Count: previewLines}, 0, findings)
	return text.Lines, err
}
