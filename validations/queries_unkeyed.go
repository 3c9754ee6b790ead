package validations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const (
	// maxUnkeyedRuns bounds how many runs of the last day are looked at, the newest.
	maxUnkeyedRuns = 10_000
	// maxDuplicates bounds the list of likely duplicates.
	maxDuplicates = 5
	// duplicateWithin is how soon after another run a second one of the same document is likely to be a repetition.
	duplicateWithin = 10 * time.Minute
)

// RunsWithoutKey tells how many of the organization's latest runs were started without an idempotency key, and which of
// them are likely to be repetitions. Reruns are meant to be second runs, so they do not count.
func (s *Service) RunsWithoutKey(ctx context.Context, orgID uuid.UUID) (idempotency.WithoutKey, error) {
	since := core.FirstIDAt(time.Now().Add(-24 * time.Hour))
	var found idempotency.WithoutKey
	err := s.db.Pool.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE idempotency_key = '') FROM (
			SELECT idempotency_key FROM validation_runs
			WHERE org_id = $1 AND id >= $2 AND rerun_of IS NULL ORDER BY id DESC LIMIT $3) AS latest`,
		orgID, since, maxUnkeyedRuns).Scan(&found.Runs, &found.Unkeyed)
	if err != nil {
		return idempotency.WithoutKey{}, fmt.Errorf("count runs without a key: %w", err)
	}
	if found.Unkeyed == 0 {
		return found, nil
	}
	rows, err := s.db.Pool.Query(ctx, `
		SELECT id, earlier, workflow_slug, filename, created_at, extract(epoch FROM created_at - before)::float8 FROM (
			SELECT r.id, r.workflow_slug, u.filename, r.created_at, lag(r.id) OVER same AS earlier,
				lag(r.created_at) OVER same AS before
			FROM (
				SELECT org_id, id, workflow_id, workflow_slug, submission_id, created_at FROM validation_runs
				WHERE org_id = $1 AND id >= $2 AND rerun_of IS NULL AND idempotency_key = ''
				ORDER BY id DESC LIMIT $3) AS r
			JOIN submissions AS u ON u.org_id = r.org_id AND u.id = r.submission_id
			WINDOW same AS (PARTITION BY r.workflow_id, u.sha256 ORDER BY r.id)) AS pairs
		WHERE created_at - before < make_interval(secs => $4)
		ORDER BY id DESC LIMIT $5`,
		orgID, since, maxUnkeyedRuns, duplicateWithin.Seconds(), maxDuplicates)
	if err != nil {
		return idempotency.WithoutKey{}, fmt.Errorf("look for duplicates: %w", err)
	}
	found.Duplicates, err = pgx.CollectRows(rows, scanDuplicate)
	if err != nil {
		return idempotency.WithoutKey{}, fmt.Errorf("look for duplicates: %w", err)
	}
	return found, nil
}

func scanDuplicate(row pgx.CollectableRow) (idempotency.Duplicate, error) {
	var d idempotency.Duplicate
	var after float64
	err := row.Scan(&d.Run, &d.Earlier, &d.Workflow, &d.Filename, &d.At, &after)
	d.After = time.Duration(after * float64(time.Second))
	return d, err
}
