package validations

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// maxInlineIssues bounds the findings of a step in the body of its run. The list of findings has them all.
const maxInlineIssues = 100

// RunAddress returns the path of the run with an id, for Location.
func RunAddress(id string) string {
	return "/api/runs/" + id + "/"
}

// RenderRun renders a run without its steps.
func RenderRun(run Run, orgSlug string) api.Run {
	status, advice := tellClient(run)
	body := api.Run{
		ID:                run.ID.String(),
		Workflow:          run.WorkflowID.String(),
		WorkflowSlug:      run.WorkflowSlug,
		WorkflowVersion:   run.WorkflowVersion,
		Submission:        run.SubmissionID.String(),
		Org:               orgSlug,
		Source:            run.Source,
		State:             run.State,
		Result:            run.Result,
		Status:            status,
		Error:             run.Error,
		ErrorCategory:     run.ErrorCategory,
		UserFriendlyError: advice,
		IdempotencyKey:    api.Optional(run.IdempotencyKey),
		RerunOf:           api.MaybeID(run.RerunOf),
		CreatedAt:         api.At(run.CreatedAt),
		StartedAt:         api.MaybeAt(run.StartedAt),
		EndedAt:           api.MaybeAt(run.EndedAt),
		Attempts:          run.Attempts,
		ContentPurgedAt:   api.MaybeAt(run.ContentPurgedAt),
		FindingsPurgedAt:  api.MaybeAt(run.FindingsPurgedAt),
		Counts: api.Counts{
			Errors: int(run.ErrorCount), Warnings: int(run.WarningCount), Infos: int(run.InfoCount),
		},
		Steps: []api.Step{},
	}
	if run.StartedAt != nil && run.EndedAt != nil {
		body.DurationMS = run.EndedAt.Sub(*run.StartedAt).Milliseconds()
	}
	return body
}

// renderSteps renders every step of the definition. A step without a result is pending, or skipped if the run has
// ended.
func renderSteps(run Run, definition Definition, done []StepRun, findings []Finding) []api.Step {
	issues := make(map[int][]api.Issue)
	for _, finding := range findings {
		issues[finding.StepOrdinal] = append(issues[finding.StepOrdinal], RenderIssue(finding))
	}
	results := make(map[int]StepRun, len(done))
	for _, step := range done {
		results[step.Ordinal] = step
	}
	steps := make([]api.Step, len(definition.Steps))
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
func renderStep(step StepRun, issues []api.Issue) api.Step {
	truncated := step.Truncated || len(issues) > maxInlineIssues
	if len(issues) > maxInlineIssues {
		issues = issues[:maxInlineIssues]
	}
	if issues == nil {
		issues = []api.Issue{}
	}
	return api.Step{
		StepID: step.StepID, Name: step.Name, Status: step.Status, Error: step.Error,
		Counts: api.Counts{
			Errors: int(step.ErrorCount), Warnings: int(step.WarningCount), Infos: int(step.InfoCount),
		},
		Issues: issues, IssuesTruncated: truncated,
	}
}

// RenderIssue renders a finding.
func RenderIssue(f Finding) api.Issue {
	rows := f.SampleRows
	if rows == nil {
		rows = []int{}
	}
	return api.Issue{
		ID: f.ID.String(), Severity: api.Severity(f.Severity), Code: f.Code, Message: f.Message, Path: f.Path,
		Line: f.Line, Column: f.Column, Row: f.Row, Excerpt: f.Excerpt, Count: f.Count, SampleRows: rows,
		AssertionID: api.Optional(f.AssertionID), Truncated: f.Truncated,
	}
}

// RenderStepWithoutResult renders a step that was not executed to its end. If it has ended the run, its error says why.
func RenderStepWithoutResult(run Run, step Step, ordinal int) api.Step {
	body := api.Step{StepID: step.ID, Name: step.Name, Status: api.StepStatusPending, Issues: []api.Issue{}}
	reached := ordinal == run.RecoveryPoint
	switch {
	case run.State == api.RunStateRunning && reached:
		body.Status = api.StepStatusRunning
	case reached && (run.Result == api.RunResultError || run.Result == api.RunResultTimedOut):
		body.Status, body.Error = api.StepStatusFailed, run.Error
	case run.State == api.RunStateCompleted:
		body.Status = api.StepStatusSkipped
	}
	return body
}

// tellClient returns the state and the result as the one word that the existing command line client reads, and what to
// do about a run that has not passed.
func tellClient(run Run) (api.RunStatus, string) {
	if run.State != api.RunStateCompleted {
		return api.RunStatus(run.State), ""
	}
	switch run.Result {
	case api.RunResultPass:
		return api.RunStatusSucceeded, ""
	case api.RunResultFail:
		return api.RunStatusFailed, "The document was checked and has errors. Fix them and start a new run."
	case api.RunResultTimedOut:
		return api.RunStatus(run.Result),
			"The check took too long and was stopped. Start a new run, or try a smaller document."
	case api.RunResultCanceled:
		return api.RunStatus(run.Result),
			"The run was canceled before the document was checked. Start a new run if you still need it."
	case api.RunResultError:
		return api.RunStatusFailed,
			"We could not check the document; it is not your fault. Start a new run, or tell us the run's id."
	default:
		return api.RunStatusFailed, ""
	}
}

// ShowV1 is Show for the existing client.
func (s *Service) ShowV1(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (api.Run, error) {
	body, err := s.Show(ctx, orgID, orgSlug, id)
	return ForExistingClient(body), err
}

// ForExistingClient returns the run as the /api/v1/ routes show it. Their client prints only the path and the message
// of a finding, so the path includes the rows of a table, or the place of what has no path. Of a run without a verdict
// it prints only the advice, so the reason stands before it.
func ForExistingClient(b api.Run) api.Run {
	b.UserFriendlyError = strings.TrimSpace(b.Error + " " + b.UserFriendlyError)
	b.Steps = slices.Clone(b.Steps)
	for i := range b.Steps {
		issues := slices.Clone(b.Steps[i].Issues)
		for j := range issues {
			issues[j].Path = place(issues[j])
		}
		b.Steps[i].Issues = issues
	}
	return b
}

// place returns the path with the rows of a table before the column: "row 5, kwh". For a finding with neither, such as
// a syntax error, it is "line 1, column 22".
func place(b api.Issue) string {
	rows := rowWords(b)
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

func rowWords(b api.Issue) string {
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
