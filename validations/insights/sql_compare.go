package insights

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/validations"
)

// comparedRuns bounds the runs of a workflow that are searched for the previous one of a file. They are the newest
// before it.
const comparedRuns = 500

// previousOf finds the newest run of the same workflow before a run that has checked the same file to its end: one with
// its file name, or with the same content. It returns the zero UUID if there is none.
func (r *Reader) previousOf(
	ctx context.Context, run validations.Run, submission validations.Submission,
) (uuid.UUID, error) {
	var id uuid.UUID
	err := r.db.Pool.QueryRow(ctx, `
		SELECT older.id FROM (
			SELECT id, submission_id, result FROM validation_runs
			WHERE workflow_id = $2 AND org_id IS NOT DISTINCT FROM $1 AND id < $3 ORDER BY id DESC LIMIT $4) AS older
		CROSS JOIN LATERAL (
			SELECT filename, sha256 FROM submissions WHERE org_id = $1 AND id = older.submission_id LIMIT 1) AS s
		WHERE older.result IN ('PASS', 'FAIL') AND (s.filename = $5 AND s.filename <> '' OR s.sha256 = $6)
		ORDER BY older.id DESC LIMIT 1`,
		run.OrgID, run.WorkflowID, run.ID, comparedRuns, submission.Filename, submission.SHA256).Scan(&id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, fmt.Errorf("find the run before run %s: %w", run.ID, err)
	}
	return id, nil
}
