package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// ending is how a run completes.
type ending struct {
	result   api.RunResult
	category api.ErrorCategory
	text     string
}

// completion is the end of a run. The zero value means that the run is not completed.
type completion struct {
	result api.RunResult
	// took is the time since the run's first step began.
	took time.Duration
}

// commitStep writes a step's result, its findings and the run's recovery point in one transaction, fenced by the epoch.
// The last step completes the run in the same transaction, and so does a failed step without continue_on_failure. It
// reports whether the run is completed.
func (e *Executor) commitStep(
	ctx context.Context, run *validations.Run, definition validations.Definition, ordinal int,
	report engines.Report, began time.Time,
) (bool, error) {
	id := core.NewID()
	step := definition.Steps[ordinal]
	failed := report.Errors > 0
	repeats, err := e.repeats(ctx, run, report)
	if err != nil {
		return false, err
	}
	if repeats {
		report = engines.Report{}
	}
	stepRun := validations.StepRun{
		OrgID: run.OrgID, ID: id, RunID: run.ID, Ordinal: ordinal, StepID: step.ID, Name: step.Name,
		Status: api.StepStatusPassed, ErrorCount: int64(report.Errors), WarningCount: int64(report.Warnings),
		InfoCount: int64(report.Infos), Truncated: report.Truncated, StartedAt: began, EndedAt: time.Now().UTC(),
	}
	switch {
	case repeats:
		stepRun.Status, stepRun.Error = api.StepStatusSkipped, validations.NoteUnreadable
	case failed:
		stepRun.Status = api.StepStatusFailed
	}
	done := stepEnd{
		epoch: run.Epoch, stepRun: stepRun, findings: report.Findings, external: step.Type == engines.KindHTTP,
	}
	// No other execution adds errors under this epoch.
	errorsSoFar := run.ErrorCount + int64(report.Errors)
	if ordinal == len(definition.Steps)-1 || (failed && !step.ContinueOnFailure) {
		done.ending = verdict(errorsSoFar)
	}
	written, err := e.steps.do(ctx, done)
	switch {
	case err != nil:
		return false, fmt.Errorf("commit step %d of run %s: %w", ordinal, run.ID, err)
	case !written.written:
		return false, errLeaseLost
	}
	run.ErrorCount = errorsSoFar
	e.metrics.Found(report.Errors, report.Warnings, report.Infos)
	if e.announced(*run, completion{result: done.ending.result, took: written.took}) {
		return true, nil
	}
	// A running run has the progress 1, and one more for each completed step.
	e.progress.Announce(run.OrgID, run.ID, validations.Progress(ordinal+2)) //nolint:gosec // there are 50 steps at most
	return false, nil
}

// announced reports whether the run is completed. If so, it is counted in the metrics, and the requests that wait for
// its end are released.
func (e *Executor) announced(run validations.Run, completed completion) bool {
	if completed.result == "" {
		return false
	}
	e.metrics.Ended(string(completed.result), completed.took)
	e.progress.Announce(run.OrgID, run.ID, validations.ProgressCompleted)
	return true
}

// giveUp ends a run in ERROR or TIMED_OUT: the service could not check the document.
func (e *Executor) giveUp(
	ctx context.Context, run validations.Run, category api.ErrorCategory, text string,
) error {
	completed, err := db.InTx(ctx, e.db, func(tx db.Tx) (completion, error) {
		return complete(ctx, tx, run, noVerdict(category, text))
	})
	if err != nil {
		return err
	}
	e.announced(run, completed)
	e.logNoVerdict(ctx, run, category, text)
	return nil
}

func (e *Executor) logNoVerdict(
	ctx context.Context, run validations.Run, category api.ErrorCategory, text string,
) {
	e.log.WarnContext(ctx, "run ended without a verdict", "org", run.OrgID, "run", run.ID, "category", category,
		"attempts", run.Attempts, "reason", text)
}

func noVerdict(category api.ErrorCategory, text string) ending {
	result := api.RunResultError
	if category == api.ErrorCategoryTimeout {
		result = api.RunResultTimedOut
	}
	return ending{result: result, category: category, text: text}
}

func verdict(errorCount int64) ending {
	if errorCount == 0 {
		return ending{result: api.RunResultPass}
	}
	noun := "errors"
	if errorCount == 1 {
		noun = "error"
	}
	return ending{
		result: api.RunResultFail, category: api.ErrorCategoryValidationFailed,
		text: fmt.Sprintf("The document has %d %s.", errorCount, noun),
	}
}
