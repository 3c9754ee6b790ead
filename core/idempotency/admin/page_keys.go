package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// keysPage is GET /app/orgs/{org}/keys/.
func (a *App) keysPage(c echo.Context, principal core.Principal) error {
	query, cursor, err := a.keysQuery(c)
	// A refused filter is shown in its form, because the visitor has typed it and wants to correct it.
	if refusal := pages.Refusal(err); refusal != nil {
		data := newKeysForm(query)
		data.Problem = refusal
		return a.renderKeys(c, pages.RefusalStatus(c, refusal), data)
	}
	if err != nil {
		return err
	}
	report, err := a.keysReport(c.Request().Context(), principal.OrgID, query.EntryFilter, cursor)
	if err != nil {
		return err
	}
	data := newKeysPage(pages.Base(principal.OrgSlug), query, report)
	data.Page = core.MapPage(pageOf(report.entries, cursor, *c.Request().URL), newKeyRow(a.inspector.operations))
	return a.renderKeys(c, http.StatusOK, data)
}

// renderKeys shows the list, also with a filter that was refused.
func (a *App) renderKeys(c echo.Context, status int, data *keysPage) error {
	return a.pages.Render(c, status, "keys", pages.Page{
		Title: "Idempotency", Section: pages.SectionKeys, Data: data,
	})
}

// keysPage lists an organization's keys, with what they were used for.
type keysPage struct {
	api.Page[keyRow]
	Filter EntryFilter
	States []pages.Choice
	Span   pages.Span
	Chips  []pages.Chip
	// Export is a CSV file of the list.
	Export string
	// Scanned is how many keys were compared for a page that is not full although older keys are left; 0 for every
	// other page.
	Scanned int64
	// Stuck counts abandoned and dead keys; StuckMore reports whether there are more.
	Stuck     int64
	StuckMore bool
	Today     Day
	Chart     pages.Bars
	// Saved is how often a request was replayed on all of the days.
	Saved   int64
	Unkeyed UnkeyedRuns
	// Problem is what is wrong with the filter. Then nothing else is set.
	Problem *core.Error
}

// newKeysForm is the page with the form of the filters alone.
func newKeysForm(query keysQuery) *keysPage {
	return &keysPage{
		Filter: query.EntryFilter, States: stateChoices(query.State), Span: query.fields(), Chips: query.chips(),
		Export: "export-keys/?" + query.values().Encode(),
	}
}

// newKeysPage fills everything but the table.
func newKeysPage(base string, query keysQuery, report keysReport) *keysPage {
	page := newKeysForm(query)
	page.Unkeyed, page.Today = report.unkeyed, report.days[0]
	page.Stuck, page.StuckMore = report.stuck, report.stuck == MaxStuck
	if report.entries.Stopped != uuid.Nil {
		page.Scanned = core.MaxScanned
	}
	page.Chart = daysChart(base, report.days)
	page.Saved = page.Chart.Total(0)
	return page
}

// daysChart is the chart of the repeated requests. Each bar leads to the keys of its day.
func daysChart(base string, days []Day) pages.Bars {
	chart := pages.Bars{Rows: "Day", Series: []pages.Series{
		{Name: "replayed", Tone: "replay"},
		{Name: "in progress (409)", Tone: "run"},
		{Name: "different request (422)", Tone: "fail"},
	}}
	// The chart reads from left to right, and the report begins with today. A label each week leaves room for its text.
	const tickEvery = 7
	for i, day := range slices.Backward(days) {
		span := url.Values{
			"since": {day.Day.Format(time.DateOnly)}, "until": {day.Day.AddDate(0, 0, 1).Format(time.DateOnly)},
		}
		bar := pages.Bar{
			Label: day.Day.Format(time.DateOnly), Values: []int64{day.Replayed, day.InProgress, day.Reused},
			Address: base + "keys/?" + span.Encode() + "#keys",
		}
		if i%tickEvery == 0 {
			bar.Tick = day.Day.Format("2 Jan")
		}
		chart.Bars = append(chart.Bars, bar)
	}
	chart.Label = fmt.Sprintf(
		"Repeated requests in %d days: %s replayed, %s refused as in progress, %s refused as a different request",
		len(days), pages.Number(chart.Total(0)), pages.Number(chart.Total(1)), pages.Number(chart.Total(2)))
	return chart
}

// Share is how many of the latest runs had no key, in percent.
func (u UnkeyedRuns) Share() int64 {
	if u.Runs == 0 {
		return 0
	}
	return u.Unkeyed * 100 / u.Runs
}

// keyRow is a row of the page's table.
type keyRow struct {
	Entry
	Pill pages.Pill
	// Operation is what people call the endpoint.
	Operation string
	// Refused is how often the key was refused.
	Refused int64
}

func newKeyRow(operations idempotency.Operations) func(Entry) keyRow {
	return func(e Entry) keyRow {
		return keyRow{
			Entry: e, Pill: pillOf(e), Operation: operations.Title(e.Endpoint), Refused: e.Mismatches + e.Conflicts,
		}
	}
}

// pillOf returns the coloured label of a key's state. A finished key shows the status that it replays, if it is known.
func pillOf(e Entry) pages.Pill {
	switch e.State {
	case api.KeyStateInProgress:
		return pages.NewPill("run", "In progress")
	case api.KeyStateAbandoned:
		return pages.NewPill("warn", "Abandoned")
	case api.KeyStateDead:
		return pages.NewPill("fail", "Dead")
	case api.KeyStateFinished:
		if e.Status != nil {
			return pages.NewPill("ok", fmt.Sprintf("Finished %d", *e.Status))
		}
		return pages.NewPill("ok", "Finished")
	default:
		return pages.NewPill("idle", "Expired")
	}
}
