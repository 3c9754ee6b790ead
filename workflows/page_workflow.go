package workflows

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/insights"
)

const (
	// chartDays is how many days of runs a workflow's page shows.
	chartDays = 30
	// shownVersions is how many versions a workflow's page lists.
	shownVersions = 5
)

// workflowPage is one workflow.
type workflowPage struct {
	Version

	Steps        []stepView
	Recent       recentRuns
	Days         pages.Bars
	FailingRules []insights.FailingRule
	FailedRuns   int64
	Versions     []versionEntry
	Snippets     []snippet
	Address      string
	MaxBytes     int64

	MayRun, MayEdit bool
}

// MoreVersions reports whether there are versions that the page does not list.
func (p *workflowPage) MoreVersions() bool { return len(p.Versions) > shownVersions }

// ShownVersions are those that the page lists.
func (p *workflowPage) ShownVersions() []versionEntry {
	return p.Versions[:min(len(p.Versions), shownVersions)]
}

// TimeLimit is how long a run may take; 0 is the operator's limit.
func (p *workflowPage) TimeLimit() time.Duration {
	return time.Duration(p.Definition.TimeoutSeconds) * time.Second
}

// dayBars is the chart of a workflow's runs by day. Each bar leads to its runs.
func dayBars(days []insights.DayResults, runs, slug string) pages.Bars {
	chart := pages.Bars{
		Rows: "Day",
		Series: []pages.Series{
			{Name: "passed", Tone: "ok"}, {Name: "failed", Tone: "fail"}, {Name: "other", Tone: "idle"},
		},
	}
	const tickEvery = 7
	for i, day := range days {
		query := url.Values{
			"workflow": {slug}, "since": {day.Day.Format(time.RFC3339)},
			"until": {day.Day.AddDate(0, 0, 1).Format(time.RFC3339)},
		}
		bar := pages.Bar{
			Label: day.Day.Format("2006-01-02"), Address: runs + "?" + query.Encode(),
			Values: []int64{day.Passed, day.Failed, day.Other},
		}
		if i%tickEvery == 0 {
			bar.Tick = day.Day.Format("2 Jan")
		}
		chart.Bars = append(chart.Bars, bar)
	}
	chart.Label = fmt.Sprintf("Runs by day, the last %s: %d passed, %d failed, %d other",
		core.Plural(len(days), "day"), chart.Total(0), chart.Total(1), chart.Total(2))
	return chart
}

// stepView is a step with its requirements in plain words.
type stepView struct {
	Name, Kind   string
	Continues    bool
	TimeLimit    time.Duration
	Requirements []engines.Requirement
	// More are the requirements after the first ones, which are shown on demand.
	More []engines.Requirement
}

// shownRequirements is how many requirements of a step are shown at once.
const shownRequirements = 6

func viewSteps(definition validations.Definition) []stepView {
	steps := make([]stepView, len(definition.Steps))
	for i, step := range definition.Steps {
		requirements := engines.Describe(step.Type, step.Config)
		shown := min(len(requirements), shownRequirements)
		steps[i] = stepView{
			Name: step.Name, Kind: engines.KindTitle(step.Type), Continues: step.ContinueOnFailure,
			TimeLimit:    time.Duration(step.TimeoutSeconds) * time.Second,
			Requirements: requirements[:shown], More: requirements[shown:],
		}
	}
	return steps
}

// workflowPage is GET /app/orgs/{org}/workflows/{id}/.
func (a *App) workflowPage(c echo.Context, principal core.Principal, version Version) error {
	ctx := c.Request().Context()
	shown := workflowPage{
		Version: version, Steps: viewSteps(version.Definition), Address: a.Address, MaxBytes: a.Limits.MaxBytes,
		MayRun: principal.Role.Allows(api.RoleExecutor), MayEdit: principal.Role.Allows(api.RoleAuthor),
	}
	results, err := a.Insights.RecentResults(ctx, principal.OrgID, []uuid.UUID{version.ID}, recentCount)
	if err != nil {
		return err
	}
	shown.Recent = newRecentRuns(results[version.ID])
	days, err := a.Insights.ResultsByDay(ctx, principal.OrgID, version.ID, chartDays)
	if err != nil {
		return err
	}
	shown.Days = dayBars(days, pages.Base(principal.OrgSlug)+"runs/", version.Slug)
	shown.FailingRules, shown.FailedRuns, err = a.Insights.FailingRules(ctx, principal.OrgID, version.ID)
	if err != nil {
		return err
	}
	shown.Versions, err = a.Service.versions(ctx, principal.OrgID, version.ID, math.MaxInt32, shownVersions)
	if err != nil {
		return err
	}
	shown.Snippets = snippetsOf(version, a.Address)
	return a.pages.Render(c, http.StatusOK, "workflow", pages.Page{
		Title: version.Name, Section: pages.SectionWorkflows, Data: &shown,
	})
}

// activeForm is POST /app/orgs/{org}/workflows/{id}/activate/ and /deactivate/.
func (a *App) activeForm(active bool) VersionView {
	return func(c echo.Context, principal core.Principal, workflow Version) error {
		ctx := c.Request().Context()
		changed, err := a.Service.setActive(ctx, principal, workflow.ID, active, core.Precondition{})
		if err != nil {
			return err
		}
		notice := changed.Name + " is inactive: it starts no new runs."
		if active {
			notice = changed.Name + " is active."
		}
		return pages.Redirect(c, pages.Base(principal.OrgSlug)+"workflows/"+changed.Slug+"/", notice)
	}
}
