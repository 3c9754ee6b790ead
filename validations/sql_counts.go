package validations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/users"
)

// MaxCountedRuns bounds the runs that CountRuns reads. They are the newest.
const MaxCountedRuns = 100_000

// maxChargeDelay is how long before its period a run may have been created: a held run is charged when its charge is
// decided.
const maxChargeDelay = 24 * time.Hour

// CountRuns counts the runs that the organization was charged in a period, by day and by workflow. It needs no counters
// that every start would have to update: the primary key leads to the newest runs, because ids begin with a time.
func (s *Service) CountRuns(ctx context.Context, orgID uuid.UUID, period time.Time) (users.RunCounts, error) {
	rows, err := s.db.Pool.Query(ctx, `
		WITH charged AS (
			SELECT workflow_id, workflow_slug, created_at FROM validation_runs
			WHERE org_id = $1 AND id >= $2 AND usage_period = $3 AND usage_metric <> '' ORDER BY id DESC LIMIT $4)
		SELECT (greatest(created_at, $3::date::timestamp AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::date, workflow_id,
			coalesce(max(workflow_slug), ''), count(*), min(created_at)
		FROM charged GROUP BY GROUPING SETS ((), (1), (workflow_id))`,
		orgID, core.FirstIDAt(period.Add(-maxChargeDelay)), period, MaxCountedRuns)
	if err != nil {
		return users.RunCounts{}, fmt.Errorf("count runs: %w", err)
	}
	counts := users.RunCounts{Days: make(map[string]int64)}
	var group runGroup
	row := []any{&group.day, &group.workflow, &group.slug, &group.runs, &group.first}
	_, err = pgx.ForEachRow(rows, row, func() error {
		group.addTo(&counts)
		return nil
	})
	if err != nil {
		return users.RunCounts{}, fmt.Errorf("count runs: %w", err)
	}
	return counts, nil
}

// runGroup is the count of the runs of a day, of a workflow, or of all.
type runGroup struct {
	day      *time.Time
	workflow *uuid.UUID
	slug     string
	runs     int64
	first    *time.Time
}

func (g runGroup) addTo(counts *users.RunCounts) {
	switch {
	case g.day != nil:
		counts.Days[g.day.Format(time.DateOnly)] = g.runs
	case g.workflow != nil:
		counts.Workflows = append(counts.Workflows, users.WorkflowRuns{ID: *g.workflow, Slug: g.slug, Runs: g.runs})
	case g.runs == MaxCountedRuns:
		counts.Since = g.first
	}
}

const (
	// maxUnkeyedRuns bounds the runs of the last day that are scanned. They are the newest.
	maxUnkeyedRuns = 10_000
	// maxDuplicates bounds the list of likely duplicates.
	maxDuplicates = 5
	// duplicateWithin is how soon after a run a second one on the same document counts as a likely duplicate.
	duplicateWithin = 10 * time.Minute
)

// latestQuery selects the runs to scan, without reruns, which are no duplicates. $1 is the organization, $2 the first
// id of the last day, and $3 the limit.
const latestQuery = `
	WITH latest AS (
		SELECT org_id, id, workflow_id, workflow_slug, submission_id, idempotency_key, created_at FROM validation_runs
		WHERE org_id = $1 AND id >= $2 AND rerun_of IS NULL ORDER BY id DESC LIMIT $3)`

// QueueUnkeyedRuns counts the organization's latest runs that were started without an idempotency key, and lists those
// that are likely duplicates. found is complete once the reads were sent.
func (s *Service) QueueUnkeyedRuns(reads *db.Reads, orgID uuid.UUID, found *admin.UnkeyedRuns) {
	since := core.FirstIDAt(time.Now().Add(-24 * time.Hour))
	reads.Queue(db.OneInto(found, scanUnkeyedRuns), latestQuery+`
		SELECT count(*), count(*) FILTER (WHERE idempotency_key = '') FROM latest`, orgID, since, maxUnkeyedRuns)
	reads.Queue(db.AllInto(&found.Duplicates, scanDuplicate), latestQuery+`
		SELECT id, earlier, workflow_slug, filename, created_at, extract(epoch FROM created_at - before)::float8 FROM (
			SELECT r.id, r.workflow_slug, u.filename, r.created_at, lag(r.id) OVER same AS earlier,
				lag(r.created_at) OVER same AS before
			FROM latest AS r
			CROSS JOIN LATERAL (SELECT filename, sha256 FROM submissions
				WHERE org_id = r.org_id AND id = r.submission_id LIMIT 1) AS u
			WHERE r.idempotency_key = ''
			WINDOW same AS (PARTITION BY r.workflow_id, u.sha256 ORDER BY r.id)) AS pairs
		WHERE created_at - before < make_interval(secs => $4)
		ORDER BY id DESC LIMIT $5`,
		orgID, since, maxUnkeyedRuns, duplicateWithin.Seconds(), maxDuplicates)
}

func scanUnkeyedRuns(row pgx.CollectableRow) (admin.UnkeyedRuns, error) {
	var w admin.UnkeyedRuns
	err := row.Scan(&w.Runs, &w.Unkeyed)
	return w, err
}

func scanDuplicate(row pgx.CollectableRow) (admin.DuplicateRun, error) {
	var d admin.DuplicateRun
	var after float64
	err := row.Scan(&d.Run, &d.Earlier, &d.Workflow, &d.Filename, &d.At, &after)
	d.After = core.Seconds(after)
	return d, err
}
