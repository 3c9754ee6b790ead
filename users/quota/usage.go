package quota

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func renderUsage(usage PeriodUsage, counts RunCounts) api.Usage {
	body := api.Usage{
		Metric: usage.Metric, Used: int(usage.Used), Quota: usage.Quota, Overage: int(usage.Overage),
		Period: usage.Period.Format("2006-01"), ResetsAt: api.At(usage.ResetsAt()),
		CountedSince: api.MaybeAt(counts.Since), Days: []api.DayUsage{},
		Workflows: make([]api.WorkflowUsage, len(counts.Workflows)),
	}
	if usage.Quota != nil {
		remaining := max(*usage.Quota-usage.Used, 0)
		body.Remaining = &remaining
	}
	for day := usage.Period; !day.After(usage.Today); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		body.Days = append(body.Days, api.DayUsage{Day: name, Runs: int(counts.Days[name])})
	}
	for i, workflow := range counts.Workflows {
		body.Workflows[i] = api.WorkflowUsage{
			Workflow: workflow.ID.String(), Slug: workflow.Slug, Runs: int(workflow.Runs),
		}
	}
	slices.SortFunc(body.Workflows, func(a, b api.WorkflowUsage) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Slug, b.Slug))
	})
	return body
}

// usage is GET /api/usage/.
func (a *App) usage(c echo.Context, principal core.Principal) error {
	ctx := c.Request().Context()
	usage, err := a.service.RunUsage(ctx, principal.OrgID)
	if err != nil {
		return err
	}
	counts, err := a.runs.CountRuns(ctx, principal.OrgID, usage.Period)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderUsage(usage, counts))
}
