package validations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// ending is how a run completes.
type ending struct {
	result   RunResult
	category ErrorCategory
	text     string
}

// completion is that a run is completed, which the zero value is not.
type completion struct {
	result RunResult
	// took is the time since the run's first step began.
	took time.Duration
}

// commitStep writes a step's result, its findings and the run's progress in one transaction, fenced by
// the epoch. The last step, and a failing one that does not let the run go on, complete the run in the
// same transaction.
func (s *Service) commitStep(
	ctx context.Context, run Run, definition Definition, ordinal int, report engines.Report, began time.Time,
) (bool, error) {
	step := definition.Steps[ordinal]
	stepRun := StepRun{
		OrgID: run.OrgID, RunID: run.ID, Ordinal: ordinal, StepID: step.ID, Name: step.Name, Status: StepPassed,
		ErrorCount: int64(report.Errors), WarningCount: int64(report.Warnings), InfoCount: int64(report.Infos),
		Truncated: report.Truncated, StartedAt: began, EndedAt: time.Now().UTC(),
	}
	failed := report.Errors > 0
	if failed {
		stepRun.Status = StepFailed
	}
	last := ordinal == len(definition.Steps)-1 || (failed && !step.ContinueOnFailure)
	completed, err := core.InTx(ctx, s.db, func(tx core.Tx) (completion, error) {
		errorsSoFar, err := advance(ctx, tx, run, ordinal, report)
		if err != nil {
			return completion{}, err
		}
		if err := writeStep(ctx, tx, stepRun, report.Findings); err != nil {
			return completion{}, err
		}
		if step.Type == engines.KindHTTP {
			if err := forgetAnswer(ctx, tx, run, ordinal); err != nil {
				return completion{}, err
			}
		}
		if !last {
			return completion{}, nil
		}
		return complete(ctx, tx, run, verdict(errorsSoFar))
	})
	if err != nil {
		return false, err
	}
	s.figures.Found(report.Errors, report.Warnings, report.Infos)
	return s.counted(completed), nil
}

// counted counts a run that is completed, and reports whether it is.
func (s *Service) counted(completed completion) bool {
	if completed.result == "" {
		return false
	}
	s.figures.Ended(string(completed.result), completed.took)
	return true
}

// giveUp ends a run for which the document is not to blame.
func (s *Service) giveUp(ctx context.Context, run Run, category ErrorCategory, text string) error {
	completed, err := core.InTx(ctx, s.db, func(tx core.Tx) (completion, error) {
		return complete(ctx, tx, run, noVerdict(category, text))
	})
	if err != nil {
		return err
	}
	s.counted(completed)
	s.logNoVerdict(ctx, run, category, text)
	return nil
}

func (s *Service) logNoVerdict(ctx context.Context, run Run, category ErrorCategory, text string) {
	s.log.WarnContext(ctx, "run ended without a verdict", "org", run.OrgID, "run", run.ID, "category", category,
		"attempts", run.Attempts, "reason", text)
}

func noVerdict(category ErrorCategory, text string) ending {
	result := ResultError
	if category == CategoryTimeout {
		result = ResultTimedOut
	}
	return ending{result: result, category: category, text: text}
}

func verdict(errorCount int64) ending {
	if errorCount == 0 {
		return ending{result: ResultPass}
	}
	noun := "errors"
	if errorCount == 1 {
		noun = "error"
	}
	return ending{
		result: ResultFail, category: CategoryValidationFailed,
		text: fmt.Sprintf("The document has %d %s.", errorCount, noun),
	}
}

// advance moves the recovery point behind the step; 0 rows mean that the lease is not ours any more.
func advance(ctx context.Context, tx core.Tx, run Run, ordinal int, report engines.Report) (int64, error) {
	rows, err := tx.Query(ctx, `
		UPDATE validation_runs SET recovery_point = $4 + 1, error_count = error_count + $5,
			warning_count = warning_count + $6, info_count = info_count + $7
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING' AND recovery_point = $4
		RETURNING error_count`,
		run.OrgID, run.ID, run.Epoch, ordinal, report.Errors, report.Warnings, report.Infos)
	if err != nil {
		return 0, fmt.Errorf("advance run %s: %w", run.ID, err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("advance run %s: %w", run.ID, err)
	}
	if len(counts) == 0 {
		return 0, errLeaseLost
	}
	return counts[0], nil
}

func complete(ctx context.Context, tx core.Tx, run Run, end ending) (completion, error) {
	var took float64
	err := tx.QueryRow(ctx, `
		UPDATE validation_runs SET state = 'COMPLETED', result = $4, error_category = $5, error = $6,
			ended_at = now(), lease_until = NULL, sweep_after = NULL
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND state = 'RUNNING'
		RETURNING extract(epoch FROM now() - started_at)::float8`,
		run.OrgID, run.ID, run.Epoch, end.result, end.category, end.text).Scan(&took)
	if errors.Is(err, pgx.ErrNoRows) {
		return completion{}, errLeaseLost
	}
	if err != nil {
		return completion{}, fmt.Errorf("complete run %s: %w", run.ID, err)
	}
	return completion{result: end.result, took: core.Seconds(took)}, nil
}

func writeStep(ctx context.Context, tx core.Tx, step StepRun, findings []engines.Finding) error {
	id, err := core.NewID()
	if err != nil {
		return err
	}
	step.ID = id
	if err := tx.Gorm(ctx).Create(&step).Error; err != nil {
		return fmt.Errorf("write step %d of run %s: %w", step.Ordinal, step.RunID, err)
	}
	if len(findings) == 0 {
		return nil
	}
	rows, err := findingRows(step, findings)
	if err != nil {
		return err
	}
	if _, err := tx.CopyFrom(ctx, "findings", findingColumns(), pgx.CopyFromRows(rows)); err != nil {
		return fmt.Errorf("write the findings of run %s: %w", step.RunID, err)
	}
	return nil
}

func findingColumns() []string {
	return []string{
		"org_id", "id", "run_id", "step_ordinal", "ordinal", "severity", "code", "message", "path",
		"line", "column", "row", "excerpt", "count", "sample_rows", "assertion_id", "truncated",
	}
}

func findingRows(step StepRun, findings []engines.Finding) ([][]any, error) {
	rows := make([][]any, len(findings))
	for i, f := range findings {
		id, err := core.NewID()
		if err != nil {
			return nil, err
		}
		sample := f.SampleRows
		if sample == nil {
			sample = []int{}
		}
		// Findings repeat what is in documents, whatever that is.
		rows[i] = []any{
			step.OrgID, id, step.RunID, step.Ordinal, i, string(f.Severity), core.Storable(f.Code),
			core.Storable(f.Message), core.Storable(f.Path), f.Line, f.Column, f.Row, core.Storable(f.Excerpt),
			max(f.Count, 1), sample, core.Storable(f.AssertionID), f.Truncated,
		}
	}
	return rows, nil
}

// idOf names a run in pages.
func idOf(run Run) uuid.UUID {
	return run.ID
}
