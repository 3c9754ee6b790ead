package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/insights"
)

const (
	// latestRuns is how many runs the overview lists, and shownRefusals how many reasons of refused requests.
	latestRuns    = 8
	shownRefusals = 5
)

// overviewPage is GET /app/orgs/{org}/. It is mostly about runs, so this app serves it; the apps that own keys, quotas
// and workflows provide the rest.
func (a *App) overviewPage(c echo.Context, principal core.Principal) error {
	ctx := c.Request().Context()
	// The newest run is read before the list, so that a run created in between is announced as new.
	newest, err := a.Runs.Newest(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	base := pages.Base(principal.OrgSlug)
	view, err := a.overview(ctx, base, principal.OrgID)
	if err != nil {
		return err
	}
	if principal.Role.Allows(api.RoleAdmin) {
		troubled, err := a.Webhooks.Troubled(ctx, principal.OrgID)
		if err != nil {
			return err
		}
		view.Attention = view.Attention.withWebhooks(base, troubled)
	}
	runs, err := a.Runs.List(ctx, principal.OrgID, validations.RunFilter{}, core.Cursor{Size: latestRuns})
	if err != nil {
		return err
	}
	rows, err := a.listed(ctx, principal.OrgID, runs[:min(len(runs), latestRuns)])
	if err != nil {
		return err
	}
	for _, row := range rows {
		view.Latest = append(view.Latest, newListRow(base, row))
	}
	if view.Setup, err = a.setupSteps(ctx, base, principal.OrgID, len(rows) > 0); err != nil {
		return err
	}
	if len(rows) == 0 {
		if view.FirstRun, err = a.Workflows.FirstStart(ctx, principal.OrgID, a.Address); err != nil {
			return err
		}
	}
	return a.pages.Render(c, http.StatusOK, "overview", pages.Page{
		Title: view.title(), Section: pages.SectionOverview, Data: view,
		Events: runsEvents(base, runsPageQuery{}, newest, rows),
	})
}

func (a *App) overview(ctx context.Context, base string, orgID uuid.UUID) (overviewView, error) {
	found, err := a.Insights.Overview(ctx, orgID)
	if err != nil {
		return overviewView{}, err
	}
	starts, err := a.Keys.Hours(ctx, orgID, found.Hours[0].Hour)
	if err != nil {
		return overviewView{}, err
	}
	stuck, err := a.Keys.Stuck(ctx, orgID)
	if err != nil {
		return overviewView{}, err
	}
	usage, err := a.Usage.RunUsage(ctx, orgID)
	if err != nil {
		return overviewView{}, err
	}
	refusals, err := a.Keys.Refusals(ctx, orgID, 1)
	if err != nil {
		return overviewView{}, err
	}
	return newOverviewView(base, found, starts, stuck, usage, refusals), nil
}

// overviewView is the overview of an organization.
type overviewView struct {
	Attention attention
	Runs      runTile
	// Replays counts the retried requests that did not start another run.
	Replays int64
	Quota   quotaTile
	// Rate is the share of the runs that have passed.
	Rate    passRate
	Failing []failingRow
	Rules   []ruleRow
	// Refused are the requests that were refused today (UTC).
	Refused []requestlog.Refusal
	// Setup are the first steps of an organization, until all are made.
	Setup []setupStep
	Hours pages.Bars
	// CountedSince is when the oldest counted run was started, if not all of the last 24 hours are counted.
	CountedSince *time.Time
	Latency      latency
	Took         insights.Durations
	Latest       []listRow
	// Newest links to the page itself.
	Newest string
	// FirstRun is a command that starts a run, for an organization without runs; "" if it has no active workflow.
	FirstRun string
}

// attention counts stuck keys and late runs.
type attention struct {
	Count int64
	// More is set if a limit has ended the count.
	More    bool
	Text    string
	Address string
}

func newAttention(
	base string, stuck int64, late insights.LateRuns, tile quotaTile, refusals []requestlog.Refusal,
) attention {
	lateCount := late.Pending + late.Running
	a := attention{
		Count: stuck + lateCount, More: stuck == admin.MaxStuck || lateCount == insights.MaxLate,
		Text: "no key is stuck and no run is late", Address: base + "keys/",
	}
	var parts []string
	if lateCount > 0 {
		state := api.RunStatePending
		if late.Pending == 0 {
			state = api.RunStateRunning
		}
		a.Address = base + "runs/?state=" + string(state)
		parts = append(parts, pages.Counted(lateCount, "late run"))
	}
	if stuck > 0 {
		a.Address = base + "keys/?state=" + string(api.KeyStateAbandoned)
		parts = append([]string{pages.Counted(stuck, "stuck key")}, parts...)
	}
	if tile.UsedUp {
		a.Count++
		a.Address = base + "usage/"
		parts = append([]string{"quota used up"}, parts...)
	}
	if refused, why := refusedStarts(refusals); refused.Starts > 0 {
		if len(parts) == 0 {
			a.Address = base + "requests/?" + why.Encode()
		}
		a.Count += refused.Starts
		text := pages.Counted(refused.Starts, "start") + " refused today"
		if refused.Code != "" {
			text += ": " + strings.ToLower(refused.Title())
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		a.Text = strings.Join(parts, ", ")
	}
	return a
}

// withWebhooks adds the webhooks that fail or were disabled, which only administrators see.
func (a attention) withWebhooks(base string, troubled int64) attention {
	text := pages.Counted(troubled, "failing webhook")
	switch {
	case troubled == 0:
		return a
	case a.Count == 0:
		a.Text, a.Address = text, base+"webhooks/"
	default:
		a.Text += ", " + text
	}
	a.Count += troubled
	return a
}

// refusedStarts adds up the refusals that somebody must do something about, and returns the filter that lists them. A
// client that reuses keys or is too fast learns it from its answer. The code is that of all; "" if there are several.
func refusedStarts(refusals []requestlog.Refusal) (requestlog.Refusal, url.Values) {
	var sum requestlog.Refusal
	reasons := 0
	for _, refusal := range refusals {
		if refusal.Starts > 0 && slices.Contains(stoppers(), refusal.Code) {
			sum.Starts += refusal.Starts
			sum.Code = refusal.Code
			reasons++
		}
	}
	if reasons > 1 {
		sum.Code = ""
		return sum, url.Values{"status": {"4xx"}, "period": {"today"}}
	}
	return sum, url.Values{"code": {string(sum.Code)}}
}

// stoppers are the codes with which every start is refused until a person does something.
func stoppers() []api.Code {
	return []api.Code{
		api.CodeQuotaExceeded, api.CodePaymentRequired, api.CodeNotAuthenticated, api.CodePermissionDenied,
		api.CodeOrganizationSuspended, api.CodeSecondFactorRequired, api.CodeWorkflowInactive,
		api.CodeUnsupportedMediaType,
	}
}

// runTile counts the runs of the last 24 hours.
type runTile struct {
	Total, Failed, Errors int64
	Address               string
}

// newOverviewView makes the overview of the last 24 hours.
func newOverviewView(
	base string, found insights.Overview, starts admin.Hours, stuck int64, usage quota.PeriodUsage,
	refusals []requestlog.Refusal,
) overviewView {
	tile := newQuotaTile(usage)
	view := overviewView{
		Attention: newAttention(base, stuck, found.Late, tile, refusals), Quota: tile, Took: found.Took,
		Hours: newHoursChart(base, found.Hours, starts.Replays), Latency: newLatency(starts.Took), Newest: base,
	}
	passed := int64(0)
	for _, hour := range found.Hours {
		passed += hour.Passed
		view.Runs.Total += hour.Total()
		view.Runs.Failed += hour.Failed
		view.Runs.Errors += hour.Errors
		if view.CountedSince == nil {
			view.CountedSince = hour.Since
		}
	}
	if view.Runs.Total < insights.OverviewRuns {
		view.CountedSince = nil
	}
	view.Runs.Address = base + "runs/?" + between(found.Hours[0].Hour, time.Time{}).Encode()
	view.Rate = newPassRate(insights.Verdicts{Passed: passed, Failed: view.Runs.Failed}, found.Before)
	view.Failing = newFailingRows(base, found.Hours[0].Hour, found.Failing)
	view.Rules = newRuleRows(base, found.Rules)
	view.Refused = refusals[:min(len(refusals), shownRefusals)]
	view.Replays = view.Hours.Total(len(view.Hours.Series) - 1)
	return view
}

// between returns the filters for runs started in a period. A zero until means no end.
func between(since, until time.Time) url.Values {
	values := url.Values{"since": {api.At(since).String()}}
	if !until.IsZero() {
		values.Set("until", api.At(until).String())
	}
	return values
}

func newHoursChart(base string, hours []insights.HourResults, replays map[time.Time]int64) pages.Bars {
	chart := pages.Bars{Rows: "Hour (UTC)", Series: []pages.Series{
		{Name: "passed", Tone: "ok"},
		{Name: "failed", Tone: "fail"},
		{Name: "platform errors", Tone: "warn"},
		{Name: "waiting or canceled", Tone: "idle"},
		{Name: "replayed", Tone: "replay"},
	}}
	for _, hour := range hours {
		start := hour.Hour.UTC()
		bar := pages.HourBar(start, hour.Passed, hour.Failed, hour.Errors, hour.Other, replays[start])
		bar.Address = base + "runs/?" + between(start, start.Add(time.Hour)).Encode()
		chart.Bars = append(chart.Bars, bar)
	}
	chart.Label = fmt.Sprintf("Runs and replays per hour, last 24 hours: %s passed, %s failed, %s, %s replayed",
		pages.Number(chart.Total(0)), pages.Number(chart.Total(1)), pages.Counted(chart.Total(2), "platform error"),
		pages.Number(chart.Total(len(chart.Series)-1)))
	return chart
}

// title is the title of the browser's tab. It shows how many items need attention.
func (v overviewView) title() string {
	if v.Attention.Count == 0 {
		return "Overview"
	}
	return fmt.Sprintf("! %d · Overview", v.Attention.Count)
}
