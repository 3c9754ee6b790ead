// Package viewer shows the documents of runs with their findings: windows of lines and of rows, for the API and as a
// page, the lines around the first finding, and the map of all of them.
//
// A document is read once from its beginning to its end, in constant memory: however long its lines are, no more of
// them is kept than a window shows. Characters that would mislead on any screen are replaced.
package viewer

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// documentKind says how a document can be shown.
type documentKind string

const (
	documentText   documentKind = "text"
	documentTable  documentKind = "table"
	documentBinary documentKind = "binary"
	// documentTooLarge is a document of more than maxShownBytes, which every window would have to read.
	documentTooLarge documentKind = "too_large"
)

const (
	maxShownBytes = 64 << 20
	// maxDocumentReads bounds how many requests read large documents at once.
	maxDocumentReads = 4
	// documentLines and maxDocumentLines are how many lines the API returns.
	documentLines    = 100
	maxDocumentLines = 200
	// documentHead is how many characters of a line the API returns.
	documentHead = 2000
)

// App serves the documents of runs.
type App struct {
	runs  *validations.Service
	check *core.Validator
	pages *pages.Set
	// reads has a place for each request that reads a large document through.
	reads *share.Places
}

// New makes the app. The set has the page "document".
func New(runs *validations.Service, check *core.Validator, set *pages.Set) *App {
	return &App{runs: runs, check: check, pages: set, reads: share.New(maxDocumentReads, 0)}
}

// shownDocument is the stored document of a run, with what is needed to show a part of it.
type shownDocument struct {
	validations.StoredDocument

	run        validations.Run
	definition validations.Definition
	kind       documentKind
	// config is the configuration of the first table step; nil for a run that has none.
	config   json.RawMessage
	encoding string
}

// openDocument opens the document of a run. One that is no longer kept is refused with document_gone.
func (a *App) openDocument(ctx context.Context, orgID, id uuid.UUID) (shownDocument, error) {
	run, err := a.runs.Find(ctx, orgID, id)
	if err != nil {
		return shownDocument{}, err
	}
	shown := shownDocument{run: run}
	if shown.definition, err = a.runs.Definition(ctx, orgID, validations.Digest(run.DefinitionDigest)); err != nil {
		return shownDocument{}, err
	}
	if shown.StoredDocument, err = a.runs.OpenDocument(ctx, run); err != nil {
		return shownDocument{}, err
	}
	for _, step := range shown.definition.Steps {
		if step.Type == engines.KindTable && step.Config != nil {
			shown.config = step.Config
			break
		}
	}
	shown.encoding, err = engines.TableEncoding(shown.config, shown.Content, shown.MediaType)
	if err != nil {
		return shownDocument{}, err
	}
	if shown.kind, err = shown.findKind(); err != nil {
		return shownDocument{}, err
	}
	return shown, nil
}

// findKind reads the beginning of the document.
func (d shownDocument) findKind() (documentKind, error) {
	head := make([]byte, min(d.Size, headBytes))
	if _, err := io.ReadFull(io.NewSectionReader(d.Content, 0, d.Size), head); err != nil {
		return "", fmt.Errorf("read the beginning of a document: %w", err)
	}
	switch {
	case isBinary(head):
		return documentBinary, nil
	case d.Size > maxShownBytes:
		return documentTooLarge, nil
	case d.config != nil && engines.IsCSV(d.engineDocument()):
		return documentTable, nil
	default:
		return documentText, nil
	}
}

// hasWindows reports whether parts of the document can be shown.
func (d shownDocument) hasWindows() bool { return d.kind == documentText || d.kind == documentTable }

// source reads the document from its beginning, as UTF-8.
func (d shownDocument) source() io.Reader {
	return engines.Decode(io.NewSectionReader(d.Content, 0, d.Size), d.encoding)
}

// engineDocument is the document as an engine is given it.
func (d shownDocument) engineDocument() engines.Document {
	return engines.Document{Content: d.Content, Size: d.Size, MediaType: d.MediaType, Filename: d.Filename}
}

// enterDocument waits until the organization may read a document through, and returns what lets the next one in. Small
// documents do not wait.
func (a *App) enterDocument(ctx context.Context, shown shownDocument) (func(), error) {
	if shown.Size <= validations.MaxInlineBytes {
		return func() {}, nil
	}
	return a.reads.Take(ctx, shown.run.OrgID, 0)
}

// documentQuery is the query of a window of a document.
type documentQuery struct {
	From  string `query:"from"`
	Lines string `query:"lines"`
}

// wholeNumber reads a parameter from 1 to a limit.
func wholeNumber(name, text string, missing, limit int) (int, error) {
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > limit {
		return 0, core.InvalidParameter(name, fmt.Sprintf("must be a whole number from 1 to %d", limit))
	}
	return n, nil
}

// Show is GET /api/runs/{id}/document/.
func (a *App) Show(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var query documentQuery
	if err := core.BindQuery(c, a.check, &query); err != nil {
		return err
	}
	from, err := wholeNumber("from", query.From, 1, math.MaxInt32)
	if err != nil {
		return err
	}
	count, err := wholeNumber("lines", query.Lines, documentLines, maxDocumentLines)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	shown, err := a.openDocument(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	body := api.DocumentWindow{
		Filename: shown.Filename, MediaType: shown.MediaType, Size: shown.Size, Kind: string(shown.kind),
		SHA256: hex.EncodeToString(shown.SHA256), Lines: []api.DocumentLine{}, Findings: []api.Finding{},
		Content: validations.RunAddress(id.String()) + "document/content/",
	}
	if shown.hasWindows() {
		if err := a.addWindow(ctx, &body, shown, from, count); err != nil {
			return err
		}
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, body)
}

// addWindow adds lines and their findings to the body.
func (a *App) addWindow(ctx context.Context, body *api.DocumentWindow, shown shownDocument, from, count int) error {
	leave, err := a.enterDocument(ctx, shown)
	if err != nil {
		return err
	}
	defer leave()
	text, err := readText(shown.source(), Window{From: from, Count: count, Head: documentHead})
	if err != nil {
		return err
	}
	for _, line := range text.Lines {
		body.Lines = append(body.Lines, api.DocumentLine{
			Number: line.Number, Text: line.Plain(), Length: line.Length, Cut: line.Cut(),
		})
	}
	body.LineCount = text.Total
	window := func(from int) api.Optional {
		query := url.Values{"from": {strconv.Itoa(from)}, "lines": {strconv.Itoa(count)}}
		return api.Optional(validations.RunAddress(shown.run.ID.String()) + "document/?" + query.Encode())
	}
	if from+count <= text.Total {
		body.Next = window(from + count)
	}
	if from > 1 {
		body.Previous = window(max(1, min(from, text.Total+1)-count))
	}
	findings, err := a.runs.FindingsOnLines(ctx, shown.run, from, from+count-1)
	for _, finding := range findings {
		body.Findings = append(body.Findings, api.Finding{
			StepID: shown.definition.Steps[finding.StepOrdinal].ID, Issue: validations.RenderIssue(finding),
		})
	}
	return err
}

// Download is GET /api/runs/{id}/document/content/, and the same on the dashboard.
func (a *App) Download(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	run, err := a.runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	stored, err := a.runs.OpenDocument(ctx, run)
	if err != nil {
		return err
	}
	core.ClearReadDeadline(c)
	header := c.Response().Header()
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set(echo.HeaderContentType, echo.MIMEOctetStream)
	// Browsers save it under its name. One that cannot be written in a header is left out.
	name := map[string]string{"filename": formats.Clean(validations.DocumentName(stored.Filename))}
	header.Set(echo.HeaderContentDisposition, cmp.Or(mime.FormatMediaType("attachment", name), "attachment"))
	// What a client has sent is never a page of this service, wherever it is opened.
	header.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; sandbox")
	header.Set(echo.HeaderXContentTypeOptions, "nosniff")
	header.Set(echo.HeaderContentLength, strconv.FormatInt(stored.Size, 10))
	c.Response().WriteHeader(http.StatusOK)
	// A document that cannot be read to its end is shorter than its length, so clients see that it is cut off.
	if _, err := io.Copy(c.Response(), io.NewSectionReader(stored.Content, 0, stored.Size)); err != nil {
		return fmt.Errorf("send a document: %w", err)
	}
	return nil
}
