package validations

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
)

const (
	// maxUnkeyedRuns bounds how many runs of the last day are looked at, the newest.
	maxUnkeyedRuns = 10_000
	// maxDuplicates bounds the list of likely duplicates.
	maxDuplicates = 5
	// duplicateWithin is how soon after another run a second one of the same document is likely to be a repetition.
	duplicateWithin = 10 * time.Minute
)

// latestQuery reads the runs that are looked at. Reruns are meant to be second runs, so they do not count. $1 is the
// organization, $2 an id before the last day, and $3 the limit.
const latestQuery = `
	WITH latest AS (
		SELECT org_id, id, workflow_id, workflow_slug, submission_id, idempotency_key, created_at FROM validation_runs
		WHERE org_id = $1 AND id >= $2 AND rerun_of IS NULL ORDER BY id DESC LIMIT $3)`

// QueueUnkeyedRuns looks how many of the organization's latest runs were started without an idempotency key, and which
// of them are likely to be repetitions.
func (s *Service) QueueUnkeyedRuns(reads *db.Reads, orgID uuid.UUID, found *admin.UnkeyedRuns) {
	since := core.FirstIDAt(time.Now().Add(-24 * time.Hour))
	reads.Queue(db.OneInto(found, scanUnkeyedRuns), latestQuery+`
		SELECT count(*), count(*) FILTER (WHERE idempotency_key = '') FROM latest`, orgID, since, maxUnkeyedRuns)
	reads.Queue(db.AllInto(&found.Duplicates, scanDuplicate), latestQuery+`
		SELECT id, earlier, workflow_slug, filename, created_at, extract(epoch FROM created_at - before)::float8 FROM (
			SELECT r.id, r.workflow_slug, u.filename, r.created_at, lag(r.id) OVER same AS earlier,
				lag(r.created_at) OVER same AS before
			FROM latest AS r
			JOIN submissions AS u ON u.org_id = r.org_id AND u.id = r.submission_id
			WHERE r.idempotency_key = ''
			WINDOW same AS (PARTITION BY r.workflow_id, u.sha256 ORDER BY r.id)) AS pairs
		WHERE created_at - before < make_interval(secs => $4)
		ORDER BY id DESC LIMIT $5`,
		orgID, since, maxUnkeyedRuns, duplicateWithin.Seconds(), maxDuplicates)
}

func scanUnkeyedRuns(row pgx.CollectableRow) (admin.UnkeyedRuns, error) {
	var u admin.UnkeyedRuns
	err := row.Scan(&u.Runs, &u.Unkeyed)
	return u, err
}

func scanDuplicate(row pgx.CollectableRow) (admin.DuplicateRun, error) {
	var d admin.DuplicateRun
	var after float64
	err := row.Scan(&d.Run, &d.Earlier, &d.Workflow, &d.Filename, &d.At, &after)
	d.After = core.Seconds(after)
	return d, err
}
