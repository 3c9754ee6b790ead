package requestlog

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// requestsPage is GET /app/orgs/{org}/requests/.
func (a *App) requestsPage(c echo.Context, principal core.Principal) error {
	ctx := c.Request().Context()
	query, cursor, err := a.readQuery(c)
	// A refused filter is shown in its form, because the visitor has typed it and wants to correct it.
	if refusal := pages.Refusal(err); refusal != nil {
		return a.renderRequests(c, pages.RefusalStatus(c, refusal), requestsView{Filter: query, Problem: refusal})
	}
	if err != nil {
		return err
	}
	found, err := a.reader.List(ctx, principal, query.Filter, cursor)
	if err != nil {
		return err
	}
	address := *c.Request().URL
	page := core.NewPage(cursor, found.Found, found.Stopped, func(r Request) uuid.UUID { return r.ID }, address)
	labels, err := a.labels(ctx, principal.OrgID, page.Results)
	if err != nil {
		return err
	}
	view := requestsView{
		Page: core.MapPage(page, func(r Request) requestRow { return newRequestRow(r, labels) }), Filter: query,
		Filtered: query.Filter != Filter{}, OnlyStarts: !seesAll(principal), First: query.Cursor == "",
	}
	if found.Stopped != uuid.Nil {
		view.Compared = core.MaxScanned
	}
	if view.Refusals, err = a.reader.Refusals(ctx, principal.OrgID, 1); err != nil {
		return err
	}
	return a.renderRequests(c, http.StatusOK, view)
}

func (a *App) renderRequests(c echo.Context, status int, view requestsView) error {
	return a.pages.Render(c, status, "requests", pages.Page{
		Title: "Requests", Section: pages.SectionRequests, Data: view,
	})
}

// pageQuery is the query of the page.
type pageQuery struct {
	core.PageQuery
	pages.PeriodQuery
	Filter
}

// readQuery returns the query even if it is refused, so that the form can show what was entered.
func (a *App) readQuery(c echo.Context) (pageQuery, core.Cursor, error) {
	var query pageQuery
	cursor, err := pages.ReadQuery(c, a.check, &query, &query.Since, &query.Until,
		&query.Key, &query.Code, &query.Token, &query.Run)
	return query, cursor, err
}

func (a *App) labels(ctx context.Context, orgID uuid.UUID, requests []Request) (map[uuid.UUID]string, error) {
	var ids []uuid.UUID
	for _, request := range requests {
		if request.TokenID != uuid.Nil {
			ids = append(ids, request.TokenID)
		}
	}
	if len(ids) == 0 {
		return map[uuid.UUID]string{}, nil
	}
	return a.tokens.TokenLabels(ctx, orgID, ids)
}

// requestsView lists requests.
type requestsView struct {
	api.Page[requestRow]
	Filter   pageQuery
	Filtered bool
	// OnlyStarts says that the visitor's role sees only requests that start runs.
	OnlyStarts bool
	First      bool
	// Compared is how many requests were compared for a page that is not full although older ones are left; 0 for every
	// other page.
	Compared int64
	Refusals []Refusal
	// Problem is what is wrong with the filter. Then nothing else is set.
	Problem *core.Error
}

// Statuses are the choices of the filter.
func (v requestsView) Statuses() []pages.Choice {
	return pages.Choices(v.Filter.Status, "", "Any status", "2xx", "2xx answered", "3xx", "3xx redirected",
		"4xx", "4xx refused", "5xx", "5xx failed")
}

// Span is the part of the form for the times.
func (v requestsView) Span() pages.Span {
	return v.Filter.Span("Received", v.Filter.Since, v.Filter.Until)
}

// More reports whether one of the filters is set that are rarely wanted.
func (v requestsView) More() bool {
	return v.Filter.Token != "" || v.Filter.Run != "" || v.Span().IsExact()
}

// Chips are the filters that are set.
func (v requestsView) Chips() []pages.Chip {
	filters := []pages.Filter{
		{Name: "status", Label: "Status", Text: v.Filter.Status},
		{Name: "code", Label: "Error code", Text: v.Filter.Code},
		{Name: "key", Label: "Key", Text: v.Filter.Key},
		{Name: "token", Label: "Token", Text: v.Filter.Token},
		{Name: "run", Label: "Run", Text: v.Filter.Run},
	}
	values := url.Values{}
	for _, filter := range filters {
		if filter.Text != "" {
			values.Set(filter.Name, filter.Text)
		}
	}
	v.Filter.Values(values, v.Filter.Since, v.Filter.Until)
	return pages.Chips(values, append(filters, v.Span().Filters()...))
}

// requestRow is a row of the list.
type requestRow struct {
	Request
	Pill pages.Pill
	// Token is the label of the token.
	Token string
	// KeyQuery leads to the requests with the same key.
	KeyQuery string
}

func newRequestRow(r Request, labels map[uuid.UUID]string) requestRow {
	row := requestRow{Request: r, Pill: StatusPill(r), Token: labels[r.TokenID]}
	if r.Key != "" {
		row.KeyQuery = "?" + url.Values{"key": {r.Key}}.Encode()
	}
	return row
}

// Millis is how long the request took.
func (r requestRow) Millis() string { return pages.Took(r.Took.Round(time.Microsecond)) }

// Moment is when the request arrived; the year and the rest stand on its page.
func (r requestRow) Moment() string { return r.At.UTC().Format("2 Jan 15:04:05.000") }

// HasRun reports whether the request is about a run.
func (r requestRow) HasRun() bool { return r.RunID != uuid.Nil }

// HasToken reports whether the request came with a token.
func (r requestRow) HasToken() bool { return r.TokenID != uuid.Nil }
