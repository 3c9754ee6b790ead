package web

import (
	"context"
	"encoding/hex"
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
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/formats"
	"github.com/simplevalidations/simplevalidations/validations/progress"
	"github.com/simplevalidations/simplevalidations/validations/web/viewer"
)

// runPage is GET /app/orgs/{org}/runs/{id}/.
func (a *App) runPage(c echo.Context, principal core.Principal, id uuid.UUID) error {
	return a.showRun(c, principal, id, http.StatusOK, nil)
}

// showRun renders the page of a run. problem is why a form of the page was refused, or nil.
func (a *App) showRun(
	c echo.Context, principal core.Principal, id uuid.UUID, status int, problem *core.Error,
) error {
	cursor, err := core.PageQuery{Cursor: c.QueryParam("cursor")}.Parse()
	if err != nil {
		return err
	}
	cursor.Size = findingsPerPage
	report, err := a.runReport(c.Request().Context(), principal.OrgID, id, cursor)
	if err != nil {
		return err
	}
	view := newRunView(principal, report, cursor, *c.Request().URL, time.Now())
	view.Problem = problem
	if view.Preview, err = a.documents.Preview(
		c.Request().Context(), report.Run, report.submission.Size, report.places); err != nil {
		return err
	}
	return a.pages.Render(c, status, "run", pages.Page{
		Title: view.Title, Section: pages.SectionRuns, Events: view.events, Data: view,
	})
}

// ShowRefused renders the page of a run with the reason why one of its forms was refused. It returns the error itself
// if the visitor may not see the run.
func (a *App) ShowRefused(c echo.Context, principal core.Principal, id uuid.UUID, err error) error {
	problem := pages.Refusal(err)
	switch {
	case problem == nil, problem.Code == api.CodeNotFound, problem.Code == api.CodePermissionDenied,
		problem.Code == api.CodeSecondFactorRequired:
		return err
	}
	return a.showRun(c, principal, id, pages.RefusalStatus(c, problem), problem)
}

// cancelForm is POST /app/orgs/{org}/runs/{id}/cancel/. If the run has ended already, its page says so.
func (a *App) cancelForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.Cancel(c, principal, id); err != nil {
		return a.ShowRefused(c, principal, id, err)
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"runs/"+id.String()+"/", "The run is canceled.")
}

// downloadFindings is GET /app/orgs/{org}/runs/{id}/findings/{format}/.
func (a *App) downloadFindings(c echo.Context, principal core.Principal, id uuid.UUID) error {
	i := slices.IndexFunc(downloads(), func(d download) bool { return string(d.Format) == c.Param("format") })
	if i < 0 {
		return core.NotFound("report")
	}
	chosen := downloads()[i]
	report, err := a.report(c.Request().Context(), principal.OrgID, id, chosen.Format)
	if err != nil {
		return err
	}
	name := "run-" + validations.ShortID(id) + "-" + string(chosen.Format) + chosen.ending
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.Blob(http.StatusOK, chosen.Format.MediaType(), report)
}

// findingsPerPage is how many findings the page of a run lists at a time.
const findingsPerPage = 50

// runReport is everything that the page of a run shows. Findings are one page of them, and one more if there is a next
// page.
type runReport struct {
	validations.RunDetail
	submission validations.Submission
	// first is the most severe finding, or nil if none is stored.
	first  *validations.Finding
	places []validations.FindingPlace
	keyUse
}

// runReport reads a run for its page.
func (a *App) runReport(ctx context.Context, orgID, id uuid.UUID, cursor core.Cursor) (runReport, error) {
	detail, err := a.Runs.Detail(ctx, orgID, id)
	if err != nil {
		return runReport{}, err
	}
	report := runReport{RunDetail: detail}
	if report.Findings, err = a.Runs.ListFindings(ctx, detail.Run, cursor); err != nil {
		return runReport{}, err
	}
	if report.places, err = a.Runs.FindingPlaces(ctx, detail.Run); err != nil {
		return runReport{}, err
	}
	if report.first, err = a.Runs.FirstFinding(ctx, detail.Run); err != nil {
		return runReport{}, err
	}
	if report.submission, err = a.Runs.Submission(ctx, orgID, detail.Run.SubmissionID); err != nil {
		return runReport{}, err
	}
	if key := detail.Run.IdempotencyKeyID; key != nil {
		replays, err := a.Keys.Replays(ctx, orgID, []uuid.UUID{*key})
		if err != nil {
			return runReport{}, err
		}
		report.keyUse = newKeyUse(detail.Run, replays)
	}
	return report, nil
}

// runView is the page of a run.
type runView struct {
	validations.Run
	keyUse

	ShortID string
	Address string
	Title   string
	Pill    pages.Pill
	Verdict verdictView
	Problem *core.Error
	// Source, KeyLabel, Filename, Size, SHA256, Name and Description are facts about the run and its document in words.
	Source, KeyLabel  string
	Filename          string
	MediaType         string
	Size, SHA256      string
	Name, Description string
	Steps             []stepView
	Findings          findingsView
	Downloads         []download
	// Document is the address of the page of the document; "" if it is no longer kept. Preview are the lines around the
	// first finding.
	Document string
	Preview  []viewer.Line
	// MayCancel and MayRerun select the buttons. RerunKey is the idempotency key of the rerun form.
	MayCancel, MayRerun bool
	RerunKey            string
	// Relaunch links to the start of a run on a fixed document; "" if the run has not failed or the visitor may not
	// start runs.
	Relaunch string
	// Unfinished is set until the run has ended.
	Unfinished bool
	events     string
}

// verdictView is the result of a run in sentences.
type verdictView struct {
	// Lead is the result.
	Lead string
	// First is the most severe finding.
	First string
	// Advice says what to do, and whether trying again is safe.
	Advice string
	// Late is shown once the visitor has waited for lateAfter.
	Late   string
	IsLate bool
}

// download is a format in which the findings can be downloaded.
type download struct {
	Format formats.Format
	Label  string
	ending string
}

// downloads lists the formats with the endings of their files.
func downloads() []download {
	return []download{
		{formats.FormatJSON, "JSON", ".json"},
		{formats.FormatSARIF, "SARIF", ".sarif"},
		{formats.FormatJUnit, "JUnit", ".xml"},
		{formats.FormatCSV, "CSV", ".csv"},
		{formats.FormatGitHub, "GitHub", ".txt"},
		{formats.FormatText, "Text", ".txt"},
	}
}

// newRunView makes the page of a run for the principal.
func newRunView(
	principal core.Principal, report runReport, cursor core.Cursor, address url.URL, now time.Time,
) runView {
	run, base := report.Run, pages.Base(principal.OrgSlug)
	finished := run.State == api.RunStateCompleted
	submission := report.submission
	view := runView{
		Run: run, keyUse: report.keyUse, ShortID: validations.ShortID(run.ID),
		Address: base + "runs/" + run.ID.String() + "/",
		Title:   run.Sign() + " · " + run.WorkflowSlug + " · " + validations.ShortID(run.ID), Pill: run.Pill(),
		Verdict: newVerdictView(report, now), Source: validations.SourceName(run.Source),
		KeyLabel: validations.ShortKey(run.IdempotencyKey),
		Filename: validations.DocumentName(submission.Filename), MediaType: submission.MediaType,
		Size: pages.Size(submission.Size), SHA256: hex.EncodeToString(submission.SHA256),
		Name: formats.Clean(submission.Name), Description: formats.Clean(submission.ShortDescription),
		Steps: newStepViews(report, now), Downloads: downloads(), Unfinished: !finished,
	}
	if run.ContentPurgedAt == nil {
		view.Document = view.Address + "document/"
	}
	address.Path = view.Address
	view.Findings = newFindingsView(report, cursor, address)
	mayAct := principal.Role.Allows(api.RoleExecutor)
	view.MayCancel = mayAct && !finished
	view.MayRerun = mayAct && finished && run.ContentPurgedAt == nil
	if mayAct && run.Result == api.RunResultFail {
		view.Relaunch = base + "workflows/" + run.WorkflowSlug + "/launch/"
	}
	if !finished {
		shown := progress.ShownRun{ID: run.ID, Progress: run.Progress()}
		view.events = progress.PageAddress(base, url.Values{"run": {shown.String()}})
	}
	if view.MayRerun {
		view.RerunKey = idempotency.NewFormKey()
	}
	return view
}

// lateAfter is how long a visitor waits before the page says why.
const lateAfter = 10 * time.Second

func newVerdictView(report runReport, now time.Time) verdictView {
	run, name := report.Run, validations.DocumentName(report.submission.Filename)
	if run.State != api.RunStateCompleted {
		return waitingVerdict(report, name, now)
	}
	var view verdictView
	if run.Result == api.RunResultPass || run.Result == api.RunResultFail {
		view.First = firstWords(report.first)
	}
	switch run.Result {
	case api.RunResultPass:
		view.Lead = passedWords(run) + name + "."
	case api.RunResultFail:
		view.Lead = run.Found() + " in " + name + "."
		view.Advice = "Fix the document and start a new run."
	case api.RunResultCanceled:
		view.Lead = "Canceled before " + name + " was checked to the end."
		// A run whose charge was declined is canceled as well, and its error says why.
		view.Advice = run.Error
		if run.Error == execution.CanceledText {
			view.Advice = "Start a new run if you still need the result."
		}
	case api.RunResultTimedOut:
		view.Lead = "Checking " + name + " took too long and was stopped."
		view.Advice = run.Error + " Trying again is safe; a smaller document may be checked in time."
	default:
		view.Lead = "We could not check " + name + "."
		retry := "Trying again is safe."
		if strings.HasSuffix(run.Error, execution.UnknownOutcome) {
			retry = "Ask the operator of that validator whether it has processed the call before you run this again."
		}
		view.Advice = "This is our fault, not the document's: " + run.Error + " " + retry
	}
	return view
}

func passedWords(run validations.Run) string {
	switch {
	case run.WarningCount > 0:
		return "Passed with " + pages.Counted(run.WarningCount, "warning") + ": "
	case run.InfoCount > 0:
		return "Passed with " + pages.Counted(run.InfoCount, "note") + ": "
	default:
		return "No errors found in "
	}
}

func waitingVerdict(report runReport, name string, now time.Time) verdictView {
	run := report.Run
	if run.State == api.RunStatePending {
		view := verdictView{Lead: name + " is waiting to be checked.", IsLate: now.Sub(run.CreatedAt) > lateAfter}
		view.Late = "No worker has taken the run yet. It is stored and will be checked; do not start it again."
		return view
	}
	view := verdictView{Lead: "Checking " + name + ".", IsLate: now.Sub(*run.StartedAt) > lateAfter}
	steps := report.Definition.Steps
	if run.RecoveryPoint < len(steps) {
		view.Lead = fmt.Sprintf("Checking %s: step %d of %d, %s.", name, run.RecoveryPoint+1, len(steps),
			formats.Clean(steps[run.RecoveryPoint].Name))
	}
	view.Late = "This step takes a while. You can leave this page; the run continues."
	return view
}

// firstWords describes the most severe finding and its position.
func firstWords(first *validations.Finding) string {
	if first == nil {
		return ""
	}
	var where []string
	if first.Line > 0 {
		where = append(where, "line "+pages.Number(first.Line))
	}
	if first.Row > 0 && first.Path != "" {
		where = append(where, "column "+formats.Clean(first.Path))
	} else if first.Path != "" {
		where = append(where, formats.Clean(first.Path))
	}
	message := formats.Clean(strings.TrimPrefix(first.Message, first.Path+" "))
	if len(where) > 0 {
		message = strings.Join(where, ", ") + ": " + message
	}
	return "First: " + strings.TrimRight(message, ".") + "."
}
