package quota

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// usageBody is what the organization has used in the current period.
type usageBody struct {
	Metric string `json:"metric"`
	Used   int64  `json:"used"`
	// Quota and Remaining are null when there is no limit.
	Quota     *int64 `json:"quota"`
	Remaining *int64 `json:"remaining"`
	Overage   int64  `json:"overage"`
	Period    string `json:"period"`
	ResetsAt  string `json:"resets_at"`
	// CountedSince is absent when Days and Workflows are about the whole period.
	CountedSince core.Optional       `json:"counted_since"`
	Days         []dayUsageBody      `json:"days"`
	Workflows    []workflowUsageBody `json:"workflows"`
}

type dayUsageBody struct {
	Day  string `json:"day"`
	Runs int64  `json:"runs"`
}

type workflowUsageBody struct {
	Workflow uuid.UUID `json:"workflow"`
	Slug     string    `json:"slug"`
	Runs     int64     `json:"runs"`
}

func renderUsage(usage PeriodUsage, counts RunCounts) usageBody {
	body := usageBody{
		Metric: usage.Metric, Used: usage.Used, Quota: usage.Quota, Overage: usage.Overage,
		Period: usage.Period.Format("2006-01"), ResetsAt: core.FormatTime(usage.ResetsAt()),
		CountedSince: core.OptionalTime(counts.Since), Days: []dayUsageBody{},
		Workflows: make([]workflowUsageBody, len(counts.Workflows)),
	}
	if usage.Quota != nil {
		remaining := max(*usage.Quota-usage.Used, 0)
		body.Remaining = &remaining
	}
	for day := usage.Period; !day.After(usage.Today); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		body.Days = append(body.Days, dayUsageBody{Day: name, Runs: counts.Days[name]})
	}
	for i, workflow := range counts.Workflows {
		body.Workflows[i] = workflowUsageBody{Workflow: workflow.ID, Slug: workflow.Slug, Runs: workflow.Runs}
	}
	slices.SortFunc(body.Workflows, func(a, b workflowUsageBody) int {
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
