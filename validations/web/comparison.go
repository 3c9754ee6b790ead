package web

import (
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/insights"
)

// maxCompared bounds the findings of each kind that an answer lists.
const maxCompared = 200

// compareRun is GET /api/runs/{id}/comparison/.
func (a *App) compareRun(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	run, err := a.Runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	compared, err := a.Insights.Compare(ctx, run)
	if err != nil {
		return err
	}
	body := api.Comparison{
		Counts: api.ComparisonCounts{New: len(compared.New), Gone: len(compared.Gone), Same: compared.Same},
		New:    renderCompared(compared.New), Gone: renderCompared(compared.Gone), Complete: !compared.Incomplete,
	}
	if compared.Previous != nil {
		body.Previous = api.Optional(compared.Previous.ID.String())
	}
	return c.JSON(http.StatusOK, body)
}

func renderCompared(findings []insights.ComparedFinding) []api.Finding {
	bodies := []api.Finding{}
	for _, finding := range findings[:min(len(findings), maxCompared)] {
		bodies = append(bodies, api.Finding{
			StepID: finding.StepID, Issue: validations.RenderIssue(finding.Finding),
		})
	}
	return bodies
}

// comparisonPage is the page that compares a run with the previous one.
type comparisonPage struct {
	ShortID, Run string
	Unfinished   bool
	Previous     *validations.Run
	PreviousID   string
	Same         int
	Groups       []comparisonGroup
	Incomplete   bool
}

type comparisonGroup struct {
	Pill     pages.Pill
	Findings []validations.ShownFinding
	// More says how many are not listed.
	More string
}

// Unchanged reports whether the runs were compared and have the same findings.
func (p comparisonPage) Unchanged() bool {
	return !p.Incomplete && !slices.ContainsFunc(p.Groups, func(g comparisonGroup) bool { return len(g.Findings) > 0 })
}

// comparisonPage is GET /app/orgs/{org}/runs/{id}/comparison/.
func (a *App) comparisonPage(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	run, err := a.Runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	base := pages.Base(principal.OrgSlug) + "runs/"
	view := comparisonPage{
		ShortID: validations.ShortID(id), Run: base + id.String() + "/", Unfinished: run.State != api.RunStateCompleted,
	}
	if !view.Unfinished {
		compared, err := a.Insights.Compare(ctx, run)
		if err != nil {
			return err
		}
		view.Previous, view.Same, view.Incomplete = compared.Previous, compared.Same, compared.Incomplete
		if compared.Previous != nil {
			view.PreviousID = validations.ShortID(compared.Previous.ID)
			view.Groups = []comparisonGroup{
				newComparisonGroup("fail", "new", run, compared.New, base),
				newComparisonGroup("ok", "gone", *compared.Previous, compared.Gone, base),
			}
		}
	}
	return a.pages.Render(c, http.StatusOK, "comparison", pages.Page{
		Title: "Comparison of run " + view.ShortID, Section: pages.SectionRuns, Data: view,
	})
}

func newComparisonGroup(
	tone, word string, run validations.Run, findings []insights.ComparedFinding, base string,
) comparisonGroup {
	group := comparisonGroup{Pill: pages.NewPill(tone, pages.Number(len(findings))+" "+word)}
	if len(findings) == 0 {
		group.Pill.Tone = "idle"
	}
	for _, finding := range findings[:min(len(findings), findingsPerPage)] {
		shown := validations.NewShownFinding(finding.Finding.Finding)
		shown.Address = lineAddress(run, base+run.ID.String()+"/", finding.Line)
		group.Findings = append(group.Findings, shown)
	}
	if more := len(findings) - len(group.Findings); more > 0 {
		group.More = pages.Counted(int64(more), "more finding") + " not shown"
	}
	return group
}
