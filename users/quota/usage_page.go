package quota

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
)

// usagePage shows what the organization has used in the current period.
type usagePage struct {
	Usage PeriodUsage
	// Left is the rest of the quota; nil if there is no quota.
	Left  *int64
	Gauge *pages.Gauge
	Chart pages.Bars
	// CountedSince is set if the counts by day and by workflow cover only a part of the period.
	CountedSince *time.Time
	Workflows    []WorkflowRuns
	Tokens       []TokenRuns
	// Saved is how many starts were replayed in the last days instead of starting another run.
	Saved     int64
	SavedDays int
	// Refusals are the starts that were refused in the last days, by the code.
	Refusals []requestlog.Refusal
}

func newUsagePage(usage PeriodUsage, counts RunCounts, tokens []TokenRuns, days []admin.Day) usagePage {
	page := usagePage{
		Usage: usage, CountedSince: counts.Since, Workflows: counts.Workflows, Tokens: tokens,
		Chart: pages.Bars{Rows: "Day", Series: []pages.Series{{Name: "runs", Tone: "run"}}},
	}
	if usage.Quota != nil {
		left := max(*usage.Quota-usage.Used, 0)
		page.Left = &left
		page.Gauge = &pages.Gauge{Used: usage.Used, Limit: *usage.Quota}
	}
	for day := usage.Period; !day.After(usage.Today); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		page.Chart.Bars = append(page.Chart.Bars, pages.Bar{
			Label: name, Tick: tickOf(day), Values: []int64{counts.Days[name]},
			Address: "../runs/?since=" + api.At(day).String() + "&until=" + api.At(day.AddDate(0, 0, 1)).String(),
		})
	}
	page.Chart.Label = fmt.Sprintf("Runs per day since %s: %s in all",
		usage.Period.Format(time.DateOnly), pages.Number(page.Chart.Total(0)))
	for _, day := range days {
		page.Saved += day.Replayed
	}
	page.SavedDays = len(days)
	slices.SortFunc(page.Workflows, func(a, b WorkflowRuns) int { return int(b.Runs - a.Runs) })
	return page
}

// tickOf labels every fifth day, so that the labels have room.
func tickOf(day time.Time) string {
	const step = 5
	if day.Day()%step != 1 {
		return ""
	}
	return day.Format("2 Jan")
}

// usagePage is GET /app/orgs/{org}/usage/.
func (a *App) usagePage(c echo.Context, principal core.Principal) error {
	ctx := c.Request().Context()
	usage, err := a.service.RunUsage(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	counts, err := a.runs.CountRuns(ctx, principal.OrgID, usage.Period)
	if err != nil {
		return err
	}
	tokens, err := a.service.startsByToken(ctx, principal.OrgID, usage.Period)
	if err != nil {
		return err
	}
	days, err := a.keys.Days(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	refusals, err := a.keys.Refusals(ctx, principal.OrgID, len(days))
	if err != nil {
		return err
	}
	page := newUsagePage(usage, counts, tokens, days)
	page.Refusals = requestlog.Sum(refusals)
	return a.pages.Render(c, http.StatusOK, "usage", pages.Page{
		Title: "Usage", Section: pages.SectionUsage, Data: page,
	})
}
