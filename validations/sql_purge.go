package validations

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// Retention is how long the documents and the findings of completed runs are kept. 0 means for ever. An organization
// may have its own periods.
type Retention struct {
	Content  time.Duration
	Findings time.Duration
}

// Purged counts the runs whose documents and findings were removed.
type Purged struct {
	Contents int64
	Findings int64
}

// purgeBatch bounds the runs that one transaction purges: a document may have megabytes, a run thousands of findings.
const purgeBatch = 100

// Purge removes expired documents and findings. Their retention begins when their run ends, by the database's clock.
// Runs, steps, counts, the size and digest of a document, and the stored responses of idempotency keys stay. A document
// that reruns share is kept until it has expired for the last of them.
//
// It works in batches and skips locked rows, so any number of processes may purge at once without blocking starts. On
// an error, the counts say what was removed before.
func (s *Service) Purge(ctx context.Context, kept Retention) (Purged, error) {
	var purged Purged
	var err error
	if purged.Contents, err = inBatches(ctx, kept.Content, s.purgeContents); err != nil {
		return purged, fmt.Errorf("purge documents: %w", err)
	}
	for swept := 1; swept > 0; {
		if swept, err = s.SweepUploads(ctx); err != nil {
			return purged, err
		}
	}
	if purged.Findings, err = inBatches(ctx, kept.Findings, s.purgeFindings); err != nil {
		return purged, fmt.Errorf("purge findings: %w", err)
	}
	return purged, nil
}

// purgePlace is where a batch begins: at the runs of an organization that ended then or later; then come organizations
// with higher ids. Without it, each batch would look for expired runs in every organization that the batches before
// have purged, and scan their index entries.
type purgePlace struct {
	OrgID   uuid.UUID
	EndedAt time.Time
}

func (p purgePlace) compare(other purgePlace) int {
	return cmp.Or(bytes.Compare(p.OrgID[:], other.OrgID[:]), p.EndedAt.Compare(other.EndedAt))
}

// inBatches purges until nothing is found any more. Each batch returns how many runs it purged, and their last place.
func inBatches(
	ctx context.Context, kept time.Duration,
	purge func(ctx context.Context, kept time.Duration, from purgePlace) (int64, []purgePlace, error),
) (int64, error) {
	var total int64
	var from purgePlace
	for {
		n, places, err := purge(ctx, kept, from)
		total += n
		if err != nil || len(places) == 0 {
			return total, err
		}
		from = slices.MaxFunc(places, purgePlace.compare)
	}
}

// fromPlace lists organizations from a place on, with the time since when their runs have ended. The order is that of
// the sub-select, because a sort above would lock all that is due.
const fromPlace = `(SELECT *, CASE WHEN id = $3 THEN $4::timestamptz ELSE '-infinity' END AS begins
		FROM organizations WHERE id >= $3 ORDER BY id) AS o`

// lockContents is the statement that locks expired documents. It scans the index for each organization, because each
// may have its own retention. A document is found by its first run, which is no rerun.
func lockContents() string {
	return `
	SELECT due.* FROM ` + fromPlace + `
	CROSS JOIN LATERAL (SELECT coalesce(o.content_retention, make_interval(secs => $1)) AS kept) AS policy
	CROSS JOIN LATERAL (
		SELECT r.org_id, r.ended_at, r.id, r.submission_id, now() - policy.kept AS cutoff
		FROM (
			SELECT org_id, id, submission_id, ended_at FROM validation_runs AS v
			WHERE org_id = o.id AND state = 'COMPLETED' AND content_purged_at IS NULL AND rerun_of IS NULL
				AND ended_at >= o.begins AND ended_at <= now() - policy.kept AND policy.kept > interval '0'
				AND (SELECT x.id FROM validation_runs AS x
					WHERE x.org_id = v.org_id AND x.submission_id = v.submission_id AND x.rerun_of IS NOT NULL
						AND (x.ended_at IS NULL OR x.ended_at > now() - policy.kept) LIMIT 1) IS NULL
			ORDER BY ended_at OFFSET 0) AS r
		JOIN submissions AS s ON ` + db.SameRow("s.id", "r.submission_id") + `
		ORDER BY r.ended_at LIMIT $2
		FOR NO KEY UPDATE OF s SKIP LOCKED) AS due
	LIMIT $2`
}

// emptyContents is the statement that empties them. It checks again whether a rerun needs the document, because a rerun
// that committed before the lock was taken is visible only to a new statement. No rerun can commit later:
// QueueDocumentLocks waits for the lock.
func emptyContents() string {
	return `
	WITH due AS (
		SELECT d.* FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::timestamptz[])
			AS d (org_id, run_id, submission_id, cutoff)
		WHERE (SELECT x.id FROM validation_runs AS x
			WHERE x.org_id = d.org_id AND x.submission_id = d.submission_id AND x.rerun_of IS NOT NULL
				AND (x.ended_at IS NULL OR x.ended_at > d.cutoff) LIMIT 1) IS NULL),
	emptied AS (
		UPDATE submissions AS s SET content = NULL, upload_id = NULL FROM due
		WHERE ` + db.SameRow("s.id", "due.submission_id") + `),
	orphaned AS (
		-- This reads the submissions as they were before the statement.
		UPDATE uploads AS u SET sweep_after = now()
		FROM due CROSS JOIN LATERAL (SELECT org_id, upload_id FROM submissions
			WHERE org_id = due.org_id AND id = due.submission_id LIMIT 1) AS s
		WHERE ` + db.SameRow("u.id", "s.upload_id") + `),
	sharing AS (
		SELECT org_id, run_id FROM due
		UNION ALL
		SELECT x.org_id, x.id FROM due CROSS JOIN LATERAL (SELECT org_id, id FROM validation_runs
			WHERE org_id = due.org_id AND submission_id = due.submission_id AND rerun_of IS NOT NULL OFFSET 0) AS x)
	UPDATE validation_runs AS r SET content_purged_at = now() FROM sharing
	WHERE ` + db.SameRow("r.id", "sharing.run_id") + `
		AND r.content_purged_at IS NULL`
}

// dueContent is an expired document, with its first run.
type dueContent struct {
	purgePlace

	RunID        uuid.UUID
	SubmissionID uuid.UUID
	// Cutoff is when the last run on it must have ended.
	Cutoff time.Time
}

func (s *Service) purgeContents(ctx context.Context, kept time.Duration, from purgePlace) (int64, []purgePlace, error) {
	var places []purgePlace
	purged, err := db.InTx(ctx, s.db, func(tx db.Tx) (int64, error) {
		due, err := db.All(ctx, tx, pgx.RowToStructByPos[dueContent], lockContents(),
			kept.Seconds(), purgeBatch, from.OrgID, from.EndedAt)
		places = db.Column(due, func(d *dueContent) purgePlace { return d.purgePlace })
		if err != nil || len(due) == 0 {
			return 0, err
		}
		tag, err := tx.Exec(ctx, emptyContents(),
			db.Column(due, func(d *dueContent) uuid.UUID { return d.OrgID }),
			db.Column(due, func(d *dueContent) uuid.UUID { return d.RunID }),
			db.Column(due, func(d *dueContent) uuid.UUID { return d.SubmissionID }),
			db.Column(due, func(d *dueContent) time.Time { return d.Cutoff }))
		return tag.RowsAffected(), err
	})
	return purged, places, err
}

func deleteFindings() string {
	return `
	WITH due AS (
		SELECT own.* FROM ` + fromPlace + `
		CROSS JOIN LATERAL (SELECT coalesce(o.findings_retention, make_interval(secs => $1)) AS kept) AS policy
		CROSS JOIN LATERAL (
			SELECT r.org_id, r.id FROM validation_runs AS r
			WHERE r.org_id = o.id AND r.state = 'COMPLETED' AND r.findings_purged_at IS NULL
				AND r.ended_at >= o.begins AND r.ended_at <= now() - policy.kept AND policy.kept > interval '0'
			ORDER BY r.ended_at LIMIT $2
			FOR NO KEY UPDATE SKIP LOCKED) AS own
		LIMIT $2),
	gone AS (
		DELETE FROM findings AS f USING due
		WHERE ` + db.SameRow("f.run_id", "due.id") + `),
	forgotten AS (
		-- An answer remains if its run was ended before its findings were stored.
		UPDATE external_calls AS c SET answer = NULL FROM due
		WHERE ` + db.SameRow("c.run_id", "due.id") + ` AND c.answer IS NOT NULL)
	UPDATE validation_runs AS r SET findings_purged_at = now() FROM due
	WHERE ` + db.SameRow("r.id", "due.id") + ` RETURNING r.org_id, r.ended_at`
}

func (s *Service) purgeFindings(ctx context.Context, kept time.Duration, from purgePlace) (int64, []purgePlace, error) {
	places, err := db.InTx(ctx, s.db, func(tx db.Tx) ([]purgePlace, error) {
		return db.All(ctx, tx, pgx.RowToStructByPos[purgePlace], deleteFindings(),
			kept.Seconds(), purgeBatch, from.OrgID, from.EndedAt)
	})
	return int64(len(places)), places, err
}
