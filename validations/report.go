package validations

import (
	"context"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// NoteNotExecuted is what a report says about a step without a result.
const NoteNotExecuted = "it was not executed to its end"

// NoteUnreadable is what a step says that finds what an earlier one has found.
const NoteUnreadable = "the document cannot be read, as an earlier step says"

// reportRun converts a run into a document of a report. The error of the document says why it was not checked to the
// end.
func reportRun(detail RunDetail, name string) formats.Document {
	run := detail.Run
	document := formats.Document{Name: name, Run: run.ID.String(), Result: run.Result}
	switch {
	case run.State != api.RunStateCompleted:
		document.Result, document.Error = api.RunResult(run.State), "The run is not completed yet."
	case run.Result == api.RunResultCanceled:
		document.Error = "The run was canceled."
	case run.Result != api.RunResultPass && run.Result != api.RunResultFail:
		document.Error = run.Error
	}
	findings := make(map[int][]engines.Finding)
	for _, finding := range detail.Findings {
		findings[finding.StepOrdinal] = append(findings[finding.StepOrdinal], finding.Finding)
	}
	done := make(map[int]StepRun, len(detail.Steps))
	for _, step := range detail.Steps {
		done[step.Ordinal] = step
	}
	for i, step := range detail.Definition.Steps {
		result, executed := done[i]
		if !executed {
			document.Steps = append(document.Steps, formats.Step{
				ID: step.ID, Name: step.Name, Status: api.StepStatusSkipped, Note: NoteNotExecuted,
			})
			continue
		}
		counts := api.Counts{
			Errors: int(result.ErrorCount), Warnings: int(result.WarningCount), Infos: int(result.InfoCount),
		}
		document.Steps = append(document.Steps, formats.Step{
			ID: result.StepID, Name: result.Name, Status: result.Status, Note: result.Error, Counts: counts,
			Truncated: result.Truncated || run.FindingsPurgedAt != nil && counts != (api.Counts{}),
			Findings:  findings[i],
		})
	}
	return document
}

// Verdict reads the result of a run with all its stored findings, for a report.
func (s *Service) Verdict(ctx context.Context, orgID, id uuid.UUID) (formats.Verdict, error) {
	detail, err := s.Detail(ctx, orgID, id)
	if err != nil {
		return formats.Verdict{}, err
	}
	if detail.Findings, err = s.allFindings(ctx, detail.Run); err != nil {
		return formats.Verdict{}, err
	}
	submission, err := s.Submission(ctx, orgID, detail.Run.SubmissionID)
	if err != nil {
		return formats.Verdict{}, err
	}
	filename := submission.Filename
	if filename == "" {
		filename = "document"
	}
	return formats.Verdict{
		Workflow: detail.Run.WorkflowSlug, At: detail.Run.CreatedAt,
		Documents: []formats.Document{reportRun(detail, filename)},
	}, nil
}
