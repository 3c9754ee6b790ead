package execution

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// stepEnd is what the end of a step writes.
type stepEnd struct {
	// epoch is that of the lease under which the step was executed.
	epoch    int
	stepRun  validations.StepRun
	findings []engines.Finding
	// external is set for the step of an external validator, whose stored answer is no longer needed.
	external bool
	// ending is the zero value if further steps follow.
	ending ending
}

// rows returns how many rows the end of the step writes, without that of the run.
func (e stepEnd) rows() int {
	return 1 + len(e.findings)
}

// stepWritten is the result of writing a stepEnd.
type stepWritten struct {
	// written is false if the lease was lost. Then the transaction has written nothing for this step.
	written bool
	// took is the time since the run's first step began.
	took time.Duration
}

// commitSteps writes the ends of steps of different runs, each fenced by its own epoch and recovery point. Findings are
// joined to the row of their step, which exists only if the fence has let the step pass.
func (e *Executor) commitSteps(ctx context.Context, ends []stepEnd) ([]stepWritten, error) {
	found := findingsOf(ends)
	written, err := db.InBatch(ctx, e.db, func(batch *db.Batch) *db.Future[[]stepWritten] {
		written := db.QueueInto(batch,
			func(rows pgx.Rows) ([]stepWritten, error) { return readWritten(rows, len(ends)) },
			writeSteps(), stepColumns(ends)...)
		if len(found) > 0 {
			batch.Queue(writeFindings, findingColumns(found)...)
		}
		queueAnswerRemoval(batch, ends)
		return written
	})
	if err != nil {
		return nil, err
	}
	return written.Get()
}

func readWritten(rows pgx.Rows, n int) ([]stepWritten, error) {
	written := make([]stepWritten, n)
	var number int
	var took float64
	_, err := pgx.ForEachRow(rows, []any{&number, &took}, func() error {
		written[number-1] = stepWritten{written: true, took: core.Seconds(took)}
		return nil
	})
	return written, err
}

func writeSteps() string {
	return `
	WITH moved AS (
		UPDATE validation_runs AS r SET recovery_point = e.ordinal + 1, error_count = r.error_count + e.errors,
			warning_count = r.warning_count + e.warnings, info_count = r.info_count + e.infos,
			state = CASE WHEN e.completed THEN 'COMPLETED' ELSE r.state END,
			result = CASE WHEN e.completed THEN e.result ELSE r.result END,
			error_category = e.category, error = e.error,
			ended_at = CASE WHEN e.completed THEN now() END,
			lease_until = CASE WHEN NOT e.completed THEN r.lease_until END,
			sweep_after = CASE WHEN NOT e.completed THEN r.sweep_after END
		FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::uuid[]), (SELECT $4::integer[]),
			(SELECT $5::integer[]), (SELECT $6::text[]), (SELECT $7::text[]), (SELECT $8::text[]),
			(SELECT $9::bigint[]), (SELECT $10::bigint[]), (SELECT $11::bigint[]), (SELECT $12::boolean[]),
			(SELECT $13::timestamptz[]), (SELECT $14::timestamptz[]), (SELECT $15::boolean[]),
			(SELECT $16::text[]), (SELECT $17::text[]), (SELECT $18::text[]), (SELECT $19::text[])) WITH ORDINALITY
			AS e (org_id, run_id, id, epoch, ordinal, step_id, name, status, errors, warnings, infos, truncated,
				started_at, ended_at, completed, result, category, error, note, number)
		WHERE ` + db.SameRow("r.id", "e.run_id") + `
			AND r.epoch = e.epoch AND r.state = 'RUNNING' AND r.recovery_point = e.ordinal
		RETURNING e.*, extract(epoch FROM now() - r.started_at)::float8 AS took),
	written AS (
		INSERT INTO step_runs (org_id, id, run_id, ordinal, step_id, name, status, error_count, warning_count,
			info_count, truncated, started_at, ended_at, error)
		SELECT org_id, id, run_id, ordinal, step_id, name, status, errors, warnings, infos, truncated, started_at,
			ended_at, note
		FROM moved)
	SELECT number, took FROM moved`
}

func stepColumns(ends []stepEnd) []any {
	return []any{
		db.Column(ends, func(e *stepEnd) *uuid.UUID { return &e.stepRun.OrgID }),
		db.Column(ends, func(e *stepEnd) *uuid.UUID { return &e.stepRun.RunID }),
		db.Column(ends, func(e *stepEnd) *uuid.UUID { return &e.stepRun.ID }),
		db.Column(ends, func(e *stepEnd) int { return e.epoch }),
		db.Column(ends, func(e *stepEnd) int { return e.stepRun.Ordinal }),
		db.Column(ends, func(e *stepEnd) string { return e.stepRun.StepID }),
		db.Column(ends, func(e *stepEnd) string { return e.stepRun.Name }),
		db.Column(ends, func(e *stepEnd) string { return string(e.stepRun.Status) }),
		db.Column(ends, func(e *stepEnd) int64 { return e.stepRun.ErrorCount }),
		db.Column(ends, func(e *stepEnd) int64 { return e.stepRun.WarningCount }),
		db.Column(ends, func(e *stepEnd) int64 { return e.stepRun.InfoCount }),
		db.Column(ends, func(e *stepEnd) bool { return e.stepRun.Truncated }),
		db.Column(ends, func(e *stepEnd) time.Time { return e.stepRun.StartedAt }),
		db.Column(ends, func(e *stepEnd) time.Time { return e.stepRun.EndedAt }),
		db.Column(ends, func(e *stepEnd) bool { return e.ending.result != "" }),
		db.Column(ends, func(e *stepEnd) string { return string(e.ending.result) }),
		db.Column(ends, func(e *stepEnd) string { return string(e.ending.category) }),
		db.Column(ends, func(e *stepEnd) string { return e.ending.text }),
		db.Column(ends, func(e *stepEnd) string { return e.stepRun.Error }),
	}
}

// repeats reports whether all that a step says is why the document cannot be read, and an earlier step has said so.
func (e *Executor) repeats(ctx context.Context, run *validations.Run, report engines.Report) (bool, error) {
	found, ok := report.Unreadable()
	if !ok {
		return false, nil
	}
	var known bool
	err := e.db.Pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM findings
			WHERE org_id = $1 AND run_id = $2 AND code = $3 AND line = $4 AND "column" = $5)`,
		run.OrgID, run.ID, found.Code, found.Line, found.Column).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("look for the findings of earlier steps of run %s: %w", run.ID, err)
	}
	return known, nil
}

// foundBy is a finding of a step.
type foundBy struct {
	engines.Finding

	id      uuid.UUID
	stepRun *validations.StepRun
	ordinal int
}

func findingsOf(ends []stepEnd) []foundBy {
	var found []foundBy
	for i := range ends {
		for ordinal, finding := range ends[i].findings {
			found = append(found, foundBy{finding, core.NewID(), &ends[i].stepRun, ordinal})
		}
	}
	return found
}

const writeFindings = `
	INSERT INTO findings (org_id, id, run_id, step_ordinal, ordinal, severity, code, message, path, line, "column",
		"row", excerpt, count, sample_rows, assertion_id, truncated)
	SELECT s.org_id, f.id, s.run_id, s.ordinal, f.ordinal, severity, code, message, path, line, "column",
		"row", excerpt, count, sample_rows::integer[], assertion_id, f.truncated
	FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::uuid[]), (SELECT $4::integer[]),
		(SELECT $5::text[]), (SELECT $6::text[]), (SELECT $7::text[]), (SELECT $8::text[]),
		(SELECT $9::integer[]), (SELECT $10::integer[]), (SELECT $11::integer[]), (SELECT $12::text[]),
		(SELECT $13::integer[]), (SELECT $14::text[]), (SELECT $15::text[]), (SELECT $16::boolean[]),
		(SELECT $17::uuid[]), (SELECT $18::integer[]))
		AS f (org_id, step_run_id, id, ordinal, severity, code, message, path, line, "column", "row", excerpt, count,
			sample_rows, assertion_id, truncated, run_id, step)
	CROSS JOIN LATERAL (SELECT org_id, run_id, ordinal FROM step_runs
		WHERE org_id = f.org_id AND run_id = f.run_id AND ordinal = f.step AND id = f.step_run_id LIMIT 1) AS s`

// findingColumns returns the columns of findings. Texts may repeat bytes of the document that PostgreSQL cannot store,
// so they are made storable.
func findingColumns(found []foundBy) []any {
	text := func(of func(f *foundBy) string) []string {
		return db.Column(found, func(f *foundBy) string { return core.Storable(of(f)) })
	}
	number := func(of func(f *foundBy) int) []int { return db.Column(found, of) }
	return []any{
		db.Column(found, func(f *foundBy) *uuid.UUID { return &f.stepRun.OrgID }),
		db.Column(found, func(f *foundBy) *uuid.UUID { return &f.stepRun.ID }),
		db.Column(found, func(f *foundBy) *uuid.UUID { return &f.id }),
		number(func(f *foundBy) int { return f.ordinal }),
		text(func(f *foundBy) string { return string(f.Severity) }),
		text(func(f *foundBy) string { return f.Code }),
		text(func(f *foundBy) string { return f.Message }),
		text(func(f *foundBy) string { return f.Path }),
		number(func(f *foundBy) int { return f.Line }),
		number(func(f *foundBy) int { return f.Column }),
		number(func(f *foundBy) int { return f.Row }),
		text(func(f *foundBy) string { return f.Excerpt }),
		number(func(f *foundBy) int { return max(f.Count, 1) }),
		text(func(f *foundBy) string { return arrayText(f.SampleRows) }),
		text(func(f *foundBy) string { return f.AssertionID }),
		db.Column(found, func(f *foundBy) bool { return f.Truncated }),
		db.Column(found, func(f *foundBy) *uuid.UUID { return &f.stepRun.RunID }),
		number(func(f *foundBy) int { return f.stepRun.Ordinal }),
	}
}

// arrayText formats numbers as an array in PostgreSQL's text format, because unnest flattens an array of arrays.
func arrayText(numbers []int) string {
	var text strings.Builder
	for _, n := range numbers {
		text.WriteString("," + strconv.Itoa(n))
	}
	return "{" + strings.TrimPrefix(text.String(), ",") + "}"
}

// queueAnswerRemoval removes answers whose findings are written. The rows of the calls stay, so that a late callback is
// answered as such.
func queueAnswerRemoval(batch *db.Batch, ends []stepEnd) {
	var called []*validations.StepRun
	for i := range ends {
		if ends[i].external {
			called = append(called, &ends[i].stepRun)
		}
	}
	if len(called) == 0 {
		return
	}
	batch.Queue(`
		UPDATE external_calls AS c SET answer = NULL
		FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::uuid[]), (SELECT $4::integer[]))
			AS e (org_id, step_run_id, run_id, ordinal)
		CROSS JOIN LATERAL (SELECT org_id, run_id, ordinal FROM step_runs
			WHERE org_id = e.org_id AND run_id = e.run_id AND ordinal = e.ordinal AND id = e.step_run_id LIMIT 1) AS s
		WHERE `+db.SameRow("c.run_id", "s.run_id")+`
			AND c.ordinal BETWEEN s.ordinal AND s.ordinal`,
		db.Column(called, func(step **validations.StepRun) *uuid.UUID { return &(*step).OrgID }),
		db.Column(called, func(step **validations.StepRun) *uuid.UUID { return &(*step).ID }),
		db.Column(called, func(step **validations.StepRun) *uuid.UUID { return &(*step).RunID }),
		db.Column(called, func(step **validations.StepRun) int { return (*step).Ordinal }))
}

// complete ends a run that is leased under the epoch, and returns errLeaseLost for any other.
func complete(ctx context.Context, tx db.Tx, run validations.Run, end ending) (completion, error) {
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

// CanceledText is the error text of a canceled run.
const CanceledText = "The run was canceled."

// Cancel ends a run that has not ended yet. A worker that executes it loses the lease: its next heartbeat stops it, and
// nothing that it finds is written. A job of the run does nothing.
//
// Canceling a canceled run again is no error. The errors are run_completed for a run that has ended otherwise, and
// run_reserved for a run whose charge is being decided.
func (e *Executor) Cancel(ctx context.Context, principal core.Principal, id uuid.UUID) error {
	canceled, err := db.InTx(ctx, e.db, func(tx db.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', error = $3, epoch = epoch + 1,
				ended_at = now(), lease_until = NULL, sweep_after = NULL
			WHERE org_id = $1 AND id = $2 AND state <> 'COMPLETED' AND sweep_after < 'infinity'`,
			principal.OrgID, id, CanceledText)
		if err != nil || tag.RowsAffected() == 0 {
			return false, err
		}
		return true, core.AuditBy(ctx, tx, principal, core.AuditRecord{
			Action: "run.cancel", TargetType: "run", TargetID: id.String(),
		})
	})
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", id, err)
	}
	if canceled {
		e.metrics.Canceled()
		e.progress.Announce(principal.OrgID, id, validations.ProgressCompleted)
		return nil
	}
	run, err := e.runs.Find(ctx, principal.OrgID, id)
	if err != nil || run.Result == api.RunResultCanceled {
		return err
	}
	if run.State == api.RunStateCompleted {
		return runCompleted(run)
	}
	reserved := core.NewError(api.CodeRunReserved,
		"The run's charge is being decided, so it cannot be canceled right now. Try again in a moment.")
	reserved.RetryAfter = time.Second
	return reserved
}

func runCompleted(run validations.Run) error {
	return core.NewError(api.CodeRunCompleted,
		fmt.Sprintf("The run has already ended with %s, which is final.", run.Result))
}
