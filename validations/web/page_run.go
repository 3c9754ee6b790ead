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
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// runPage is GET /app/orgs/{org}/runs/{id}/.
func (a *App) runPage(c echo.Context) error {
	return a.showRun(c, http.StatusOK, nil)
}

// showRun answers with the page of a run, with the problem of a form on it.
func (a *App) showRun(c echo.Context, status int, problem *core.Error) error {
	principal, id, err := callerAndRun(c)
	if err != nil {
		return err
	}
	cursor, err := core.PageQuery{Cursor: c.QueryParam("cursor")}.Parse()
	if err != nil {
		return err
	}
	cursor.Size = findingsPerPage
	report, err := a.runReport(c.Request().Context(), principal.OrgID, id, cursor)
	if err != nil {
		return err
	}
	view, err := newRunView(principal, report, cursor, *c.Request().URL, time.Now())
	if err != nil {
		return err
	}
	view.Problem = problem
	return a.pages.Render(c, status, "run", pages.Page{
		Title: view.Title, Section: pages.SectionRuns, Events: view.events, Data: view,
	})
}

// ShowRefused answers a form of a run's page that was refused: with the page and the reason on it, or with the error
// where the page cannot help.
func (a *App) ShowRefused(c echo.Context, err error) error {
	problem := pages.Refusal(err)
	if problem == nil || problem.Code == core.CodeNotFound || problem.Code == core.CodePermissionDenied {
		return err
	}
	return a.showRun(c, pages.RefusalStatus(c, problem), problem)
}

// cancelForm is POST /app/orgs/{org}/runs/{id}/cancel/. What it cannot do any more is told on the run's page.
func (a *App) cancelForm(c echo.Context) error {
	principal, id, err := callerAndRun(c)
	if err != nil {
		return err
	}
	if err := a.cancel(c, principal, id); err != nil {
		return a.ShowRefused(c, err)
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"runs/"+id.String()+"/", "The run is canceled.")
}

// downloadFindings is GET /app/orgs/{org}/runs/{id}/findings/{format}/.
func (a *App) downloadFindings(c echo.Context) error {
	principal, id, err := callerAndRun(c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(downloads(), func(d download) bool { return string(d.Format) == c.Param("format") })
	if i < 0 {
		return core.NotFound("report")
	}
	chosen := downloads()[i]
	report, err := a.report(c.Request().Context(), principal.OrgID, id, chosen.Format)
	if err != nil {
		return err
	}
	name := "run-" + shortened(id) + "-" + string(chosen.Format) + chosen.ending
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.Blob(http.StatusOK, chosen.Format.MediaType(), report)
}

// findingsPerPage is how many findings the page of a run lists at a time.
const findingsPerPage = 100

// runReport is a run with everything that its page shows. The findings are one page of them and one more.
type runReport struct {
	validations.RunDetail
	submission validations.Submission
	// first is the finding to begin with; nil where nothing was found or nothing is kept.
	first  *validations.Finding
	places []validations.FindingPlace
	key    keyUse
}

// keyUse is what is known of a run's key.
type keyUse struct {
	kept    bool
	replays int64
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
	report.key, err = a.keyOf(ctx, detail.Run)
	return report, err
}

func (a *App) keyOf(ctx context.Context, run validations.Run) (keyUse, error) {
	if run.IdempotencyKeyID == nil {
		return keyUse{}, nil
	}
	replays, err := a.Keys.Replays(ctx, run.OrgID, []uuid.UUID{*run.IdempotencyKeyID})
	n, kept := replays[*run.IdempotencyKeyID]
	return keyUse{kept, n}, err
}

// runView is the page of a run.
type runView struct {
	ID, ShortID string
	Address     string
	Title       string
	Pill        pages.Pill
	Workflow    string
	Version     int
	Verdict     verdictView
	Problem     *core.Error
	Facts       runFacts
	Steps       []stepView
	Findings    findingsView
	Downloads   []download
	// MayCancel and MayRerun say which buttons there are; RerunKey is the key of the form.
	MayCancel, MayRerun bool
	RerunKey            string
	// Relaunch leads to the form for another document; "" where there is no need or the visitor may not start runs.
	Relaunch string
	// Unfinished says that the page will change by itself.
	Unfinished bool
	events     string
}

// verdictView says in a sentence what the run has come to, and what that means.
type verdictView struct {
	// Lead is the sentence to read when there is no time for more.
	Lead string
	// First is the finding to begin with.
	First string
	// Advice says whose fault it is, and whether trying again is safe.
	Advice string
	// Late is said when the run has made its reader wait.
	Late   string
	IsLate bool
}

// runFacts are what else is known of a run.
type runFacts struct {
	Source           string
	Key, KeyLabel    string
	KeyID            string
	KeyKept          bool
	Replays          int64
	RequestID        string
	RerunOf          string
	Attempts         int
	CreatedAt        time.Time
	EndedAt          *time.Time
	Filename         string
	MediaType        string
	Size             string
	SHA256, Digest   string
	Name             string
	ShortDescription string
	ContentPurgedAt  *time.Time
	FindingsPurgedAt *time.Time
}

// download is a format in which the findings can be taken away.
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

// newRunView shows a run to the principal as it is now.
func newRunView(
	principal core.Principal, report runReport, cursor core.Cursor, address url.URL, now time.Time,
) (runView, error) {
	run, base := report.Run, pages.Base(principal.OrgSlug)
	finished := run.State == validations.StateCompleted
	view := runView{
		ID: run.ID.String(), ShortID: shortened(run.ID), Address: base + "runs/" + run.ID.String() + "/",
		Title: runSign(run) + " · " + run.WorkflowSlug + " · " + shortened(run.ID), Pill: runPill(run),
		Workflow: run.WorkflowSlug, Version: run.WorkflowVersion, Verdict: newVerdictView(report, now),
		Facts: newRunFacts(report), Steps: newStepViews(report, now), Downloads: downloads(), Unfinished: !finished,
	}
	address.Path = view.Address
	view.Findings = newFindingsView(report, cursor, address)
	mayAct := principal.Role.Allows(core.RoleExecutor)
	view.MayCancel = mayAct && !finished
	view.MayRerun = mayAct && finished && run.ContentPurgedAt == nil
	if mayAct && run.Result == validations.ResultFail {
		view.Relaunch = base + "workflows/" + run.WorkflowSlug + "/launch/"
	}
	if !finished {
		view.events = eventsAddress(base, url.Values{"run": {shownRun{run.ID, run.Progress()}.String()}})
	}
	var err error
	if view.MayRerun {
		view.RerunKey, err = idempotency.NewFormKey()
	}
	return view, err
}

// shortDigest is how many bytes of a digest people compare.
const shortDigest = 6

func newRunFacts(report runReport) runFacts {
	run, submission := report.Run, report.submission
	return runFacts{
		Source: sourceName(run.Source), Key: run.IdempotencyKey, KeyLabel: keyLabel(run.IdempotencyKey),
		KeyKept: report.key.kept, Replays: report.key.replays, RequestID: run.RequestID, RerunOf: formatID(run.RerunOf),
		KeyID: formatID(run.IdempotencyKeyID), Attempts: run.Attempts, CreatedAt: run.CreatedAt, EndedAt: run.EndedAt,
		Filename: documentName(submission.Filename), MediaType: submission.MediaType, Size: bytesOf(submission.Size),
		SHA256: hex.EncodeToString(submission.SHA256), Digest: hex.EncodeToString(submission.SHA256[:shortDigest]),
		Name:             formats.Clean(submission.Name),
		ShortDescription: formats.Clean(submission.ShortDescription),
		ContentPurgedAt:  run.ContentPurgedAt, FindingsPurgedAt: run.FindingsPurgedAt,
	}
}

func formatID(id *uuid.UUID) string {
	if id == nil {
		return ""
	}
	return id.String()
}

// bytesOf writes a size with the unit that suits it.
func bytesOf(size int64) string {
	const kibi = 1024
	switch {
	case size < kibi:
		return counted(size, "byte")
	case size < kibi*kibi:
		return fmt.Sprintf("%.1f KiB", float64(size)/kibi)
	default:
		return fmt.Sprintf("%.1f MiB", float64(size)/(kibi*kibi))
	}
}

// lateAfter is how long a run may keep people waiting without a word.
const lateAfter = 10 * time.Second

func newVerdictView(report runReport, now time.Time) verdictView {
	run, name := report.Run, documentName(report.submission.Filename)
	if run.State != validations.StateCompleted {
		return waitingVerdict(report, name, now)
	}
	var view verdictView
	if run.Result == validations.ResultPass || run.Result == validations.ResultFail {
		view.First = firstWords(report.first)
	}
	switch run.Result {
	case validations.ResultPass:
		view.Lead = passedWords(run) + name + "."
	case validations.ResultFail:
		view.Lead = foundIn(run) + " in " + name + "."
		view.Advice = "Fix the document and start a new run."
	case validations.ResultCanceled:
		view.Lead = "Canceled before " + name + " was checked to the end."
		view.Advice = canceledAdvice(run)
	case validations.ResultTimedOut:
		view.Lead = "Checking " + name + " took too long and was stopped."
		view.Advice = run.Error + " Trying again is safe; a smaller document may be checked in time."
	default:
		view.Lead = "We could not check " + name + "."
		view.Advice = "This is our fault, not the document's: " + run.Error + " " + retryAdvice(run)
	}
	return view
}

func passedWords(run validations.Run) string {
	switch {
	case run.WarningCount > 0:
		return "Passed with " + counted(run.WarningCount, "warning") + ": "
	case run.InfoCount > 0:
		return "Passed with " + counted(run.InfoCount, "note") + ": "
	default:
		return "Nothing to complain about in "
	}
}

// canceledAdvice tells a run that was canceled from one whose charge was declined.
func canceledAdvice(run validations.Run) string {
	if run.Error == execution.CanceledText {
		return "Nobody has to do anything; start a new run if it is still needed."
	}
	return run.Error
}

// retryAdvice says whether checking the document again is safe.
func retryAdvice(run validations.Run) string {
	if strings.HasSuffix(run.Error, execution.UnknownOutcome) {
		return "Ask whoever runs that validator what became of the call before you run this again."
	}
	return "Trying again is safe."
}

func waitingVerdict(report runReport, name string, now time.Time) verdictView {
	run := report.Run
	if run.State == validations.StatePending {
		view := verdictView{Lead: name + " waits to be checked.", IsLate: now.Sub(run.CreatedAt) > lateAfter}
		view.Late = "No worker has taken the run yet. It is stored and will be checked; nobody has to start it again."
		return view
	}
	view := verdictView{Lead: "Checking " + name + ".", IsLate: now.Sub(*run.StartedAt) > lateAfter}
	steps := report.Definition.Steps
	if run.RecoveryPoint < len(steps) {
		view.Lead = fmt.Sprintf("Checking %s: step %d of %d, %s.", name, run.RecoveryPoint+1, len(steps),
			formats.Clean(steps[run.RecoveryPoint].Name))
	}
	view.Late = "This step takes its time. You can leave the page: the run goes on without it."
	return view
}

// firstWords says where the finding to begin with is, and what is wrong there.
func firstWords(first *validations.Finding) string {
	if first == nil {
		return ""
	}
	var where []string
	if first.Line > 0 {
		where = append(where, "line "+pages.Number(first.Line))
	}
	if first.Path != "" {
		where = append(where, pathWords(first.Finding))
	}
	message := formats.Clean(strings.TrimPrefix(first.Message, first.Path+" "))
	if len(where) > 0 {
		message = strings.Join(where, ", ") + ": " + message
	}
	return "First: " + strings.TrimRight(message, ".") + "."
}

// pathWords tells the columns of tables from the members of documents.
func pathWords(f engines.Finding) string {
	if f.Row > 0 {
		return "column " + formats.Clean(f.Path)
	}
	return formats.Clean(f.Path)
}
