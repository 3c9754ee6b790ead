package workflows

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// recentCount is how many results of a workflow are shown one by one.
const recentCount = 20

// workflowsPage is the list of workflows.
type workflowsPage struct {
	api.Page[workflowRow]

	MayRun, MayEdit bool
}

type workflowRow struct {
	Version

	Recent recentRuns
}

// recentRuns are the results of a workflow's newest runs.
type recentRuns struct {
	Spark pages.Spark
	// Passed and Failed count the runs with a verdict on their document.
	Passed, Failed int64
	Count          int
}

func newRecentRuns(newestFirst []api.RunResult) recentRuns {
	recent := recentRuns{Count: len(newestFirst)}
	for _, result := range slices.Backward(newestFirst) {
		tone := "idle"
		switch result {
		case api.RunResultPass:
			tone = "ok"
			recent.Passed++
		case api.RunResultFail:
			tone = "fail"
			recent.Failed++
		case api.RunResultError, api.RunResultTimedOut:
			tone = "warn"
		case api.RunResultUnknown:
			tone = "run"
		case api.RunResultCanceled:
		}
		recent.Spark.Tones = append(recent.Spark.Tones, tone)
	}
	recent.Spark.Label = fmt.Sprintf("The last %s, from old to new: %d passed, %d failed",
		core.Plural(recent.Count, "run"), recent.Passed, recent.Failed)
	return recent
}

// Verdicts counts the runs with a verdict.
func (r recentRuns) Verdicts() int64 { return r.Passed + r.Failed }

// workflowsPage is GET /app/orgs/{org}/workflows/.
func (a *App) workflowsPage(c echo.Context, principal core.Principal) error {
	page, err := a.readWorkflows(c, principal)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(page.Results))
	for i, version := range page.Results {
		ids[i] = version.ID
	}
	results, err := a.Insights.RecentResults(c.Request().Context(), principal.OrgID, ids, recentCount)
	if err != nil {
		return err
	}
	shown := workflowsPage{
		Page: core.MapPage(page, func(v Version) workflowRow {
			return workflowRow{Version: v, Recent: newRecentRuns(results[v.ID])}
		}),
		MayRun: principal.Role.Allows(api.RoleExecutor), MayEdit: principal.Role.Allows(api.RoleAuthor),
	}
	return a.pages.Render(c, http.StatusOK, "workflows", pages.Page{
		Title: "Workflows", Section: pages.SectionWorkflows, Data: shown,
	})
}
