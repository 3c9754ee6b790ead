package validations

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// maxInlineIssues bounds the findings of a step in the body of its run. The list of findings has them all.
const maxInlineIssues = 100

// RunBody is a run as clients see it.
type RunBody struct {
	ID                uuid.UUID     `json:"id"`
	Workflow          uuid.UUID     `json:"workflow"`
	WorkflowSlug      string        `json:"workflow_slug"`
	WorkflowVersion   int           `json:"workflow_version"`
	Submission        uuid.UUID     `json:"submission"`
	Org               string        `json:"org"`
	Source            Source        `json:"source"`
	State             RunState      `json:"state"`
	Result            RunResult     `json:"result"`
	Status            string        `json:"status"`
	Error             string        `json:"error"`
	ErrorCategory     ErrorCategory `json:"error_category"`
	UserFriendlyError string        `json:"user_friendly_error"`
	IdempotencyKey    core.Optional `json:"idempotency_key"`
	RerunOf           core.Optional `json:"rerun_of"`
	CreatedAt         string        `json:"created_at"`
	StartedAt         core.Optional `json:"started_at"`
	EndedAt           core.Optional `json:"ended_at"`
	DurationMS        int64         `json:"duration_ms"`
	Attempts          int           `json:"attempts"`
	ContentPurgedAt   core.Optional `json:"content_purged_at"`
	FindingsPurgedAt  core.Optional `json:"findings_purged_at"`
	Counts            CountsBody    `json:"counts"`
	Steps             []StepBody    `json:"steps"`
}

// CountsBody counts all findings, including those that were not stored.
type CountsBody struct {
	Errors   int64 `json:"errors"`
	Warnings int64 `json:"warnings"`
	Infos    int64 `json:"infos"`
}

// StepBody is one step of a run.
type StepBody struct {
	StepID          string      `json:"step_id"`
	Name            string      `json:"name"`
	Status          StepStatus  `json:"status"`
	Error           string      `json:"error"`
	Counts          CountsBody  `json:"counts"`
	Issues          []IssueBody `json:"issues"`
	IssuesTruncated bool        `json:"issues_truncated"`
}

// IssueBody is one finding.
type IssueBody struct {
	ID          uuid.UUID        `json:"id"`
	Severity    engines.Severity `json:"severity"`
	Code        string           `json:"code"`
	Message     string           `json:"message"`
	Path        string           `json:"path"`
	Line        int              `json:"line"`
	Column      int              `json:"column"`
	Row         int              `json:"row"`
	Excerpt     string           `json:"excerpt"`
	Count       int              `json:"count"`
	SampleRows  []int            `json:"sample_rows"`
	AssertionID core.Optional    `json:"assertion_id"`
	Truncated   bool             `json:"truncated"`
}

// RunAddress returns the path of the run, for Location.
func RunAddress(id uuid.UUID) string {
	return "/api/runs/" + id.String() + "/"
}

// RenderRun renders a run without its steps.
func RenderRun(run Run, orgSlug string) RunBody {
	body := RunBody{
		ID:                run.ID,
		Workflow:          run.WorkflowID,
		WorkflowSlug:      run.WorkflowSlug,
		WorkflowVersion:   run.WorkflowVersion,
		Submission:        run.SubmissionID,
		Org:               orgSlug,
		Source:            run.Source,
		State:             run.State,
		Result:            run.Result,
		Status:            clientStatus(run),
		Error:             run.Error,
		ErrorCategory:     run.ErrorCategory,
		UserFriendlyError: friendlyError(run),
		IdempotencyKey:    core.Optional(run.IdempotencyKey),
		RerunOf:           core.OptionalID(run.RerunOf),
		CreatedAt:         core.FormatTime(run.CreatedAt),
		StartedAt:         core.OptionalTime(run.StartedAt),
		EndedAt:           core.OptionalTime(run.EndedAt),
		Attempts:          run.Attempts,
		ContentPurgedAt:   core.OptionalTime(run.ContentPurgedAt),
		FindingsPurgedAt:  core.OptionalTime(run.FindingsPurgedAt),
		Counts:            CountsBody{run.ErrorCount, run.WarningCount, run.InfoCount},
		Steps:             []StepBody{},
	}
	if run.StartedAt != nil && run.EndedAt != nil {
		body.DurationMS = run.EndedAt.Sub(*run.StartedAt).Milliseconds()
	}
	return body
}

// renderSteps renders every step of the definition. A step without a result is pending, or skipped if the run has
// ended.
func renderSteps(run Run, definition Definition, done []StepRun, findings []Finding) []StepBody {
	issues := make(map[int][]IssueBody)
	for _, finding := range findings {
		issues[finding.StepOrdinal] = append(issues[finding.StepOrdinal], RenderIssue(finding))
	}
	results := make(map[int]StepRun, len(done))
	for _, step := range done {
		results[step.Ordinal] = step
	}
	steps := make([]StepBody, len(definition.Steps))
	for i, step := range definition.Steps {
		result, ok := results[i]
		if !ok {
			steps[i] = RenderStepWithoutResult(run, step, i)
			continue
		}
		steps[i] = renderStep(result, issues[i])
	}
	return steps
}

// renderStep renders a step with at most maxInlineIssues of its findings.
func renderStep(step StepRun, issues []IssueBody) StepBody {
	truncated := step.Truncated || len(issues) > maxInlineIssues
	if len(issues) > maxInlineIssues {
		issues = issues[:maxInlineIssues]
	}
	if issues == nil {
		issues = []IssueBody{}
	}
	return StepBody{
		StepID: step.StepID, Name: step.Name, Status: step.Status, Error: step.Error,
		Counts: CountsBody{step.ErrorCount, step.WarningCount, step.InfoCount},
		Issues: issues, IssuesTruncated: truncated,
	}
}

// RenderIssue renders a finding.
func RenderIssue(f Finding) IssueBody {
	rows := f.SampleRows
	if rows == nil {
		rows = []int{}
	}
	return IssueBody{
		ID: f.ID, Severity: f.Severity, Code: f.Code, Message: f.Message, Path: f.Path, Line: f.Line,
		Column: f.Column, Row: f.Row, Excerpt: f.Excerpt, Count: f.Count, SampleRows: rows,
		AssertionID: core.Optional(f.AssertionID), Truncated: f.Truncated,
	}
}

// RenderStepWithoutResult renders a step that was not executed to its end. If it has ended the run, its error says why.
func RenderStepWithoutResult(run Run, step Step, ordinal int) StepBody {
	body := StepBody{StepID: step.ID, Name: step.Name, Status: StepPending, Issues: []IssueBody{}}
	reached := ordinal == run.RecoveryPoint
	switch {
	case run.State == StateRunning && reached:
		body.Status = StepRunning
	case reached && (run.Result == ResultError || run.Result == ResultTimedOut):
		body.Status, body.Error = StepFailed, run.Error
	case run.State == StateCompleted:
		body.Status = StepSkipped
	}
	return body
}

// clientStatus returns the state and the result as the one word that the existing command line client reads.
func clientStatus(run Run) string {
	if run.State != StateCompleted {
		return string(run.State)
	}
	switch run.Result {
	case ResultPass:
		return "SUCCEEDED"
	case ResultCanceled, ResultTimedOut:
		return string(run.Result)
	default:
		return "FAILED"
	}
}

func friendlyError(run Run) string {
	switch run.Result {
	case ResultFail:
		return "The document was checked and has errors. Fix them and start a new run."
	case ResultTimedOut:
		return "The check took too long and was stopped. Start a new run, or try a smaller document."
	case ResultError:
		return "We could not check the document; it is not your fault. Start a new run, or tell us the run's id."
	case ResultCanceled:
		return "The run was canceled before the document was checked. Start a new run if you still need it."
	default:
		return ""
	}
}

// ShowV1 is Show for the existing client.
func (s *Service) ShowV1(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (RunBody, error) {
	body, err := s.Show(ctx, orgID, orgSlug, id)
	return body.ForExistingClient(), err
}

// ForExistingClient returns the run as the /api/v1/ routes show it. Their client prints only the path and the message
// of a finding, so the path includes the rows of a table, or the place of what has no path. Of a run without a verdict
// it prints only the advice, so the reason stands before it.
func (b RunBody) ForExistingClient() RunBody {
	b.UserFriendlyError = strings.TrimSpace(b.Error + " " + b.UserFriendlyError)
	b.Steps = slices.Clone(b.Steps)
	for i := range b.Steps {
		issues := slices.Clone(b.Steps[i].Issues)
		for j := range issues {
			issues[j].Path = issues[j].place()
		}
		b.Steps[i].Issues = issues
	}
	return b
}

// place returns the path with the rows of a table before the column: "row 5, kwh". For a finding with neither, such as
// a syntax error, it is "line 1, column 22".
func (b IssueBody) place() string {
	rows := b.rowWords()
	switch {
	case rows != "" && b.Path != "":
		return rows + ", " + b.Path
	case rows != "" || b.Path != "" || b.Line < 1:
		return rows + b.Path
	case b.Column < 1:
		return "line " + strconv.Itoa(b.Line)
	default:
		return fmt.Sprintf("line %d, column %d", b.Line, b.Column)
	}
}

func (b IssueBody) rowWords() string {
	switch {
	case len(b.SampleRows) == 0 && b.Row == 0:
		return ""
	case len(b.SampleRows) == 0:
		return "row " + strconv.Itoa(b.Row)
	}
	names := make([]string, len(b.SampleRows))
	for i, row := range b.SampleRows {
		names[i] = strconv.Itoa(row)
	}
	words := "rows " + strings.Join(names, ", ")
	if len(names) == 1 {
		words = "row " + names[0]
	}
	if b.Truncated {
		words += " and more"
	}
	return words
}
