package validations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// QueueDocuments adds the documents of prepared runs that are no reruns to a batch, before Create. Documents are large,
// so they travel before everything that others may wait for.
func QueueDocuments(batch *db.Batch, fresh []Prepared) {
	batch.Queue(`
		INSERT INTO submissions (org_id, id, media_type, filename, name, short_description, metadata, size, sha256,
			content, upload_id, created_at)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
			$8::bigint[], $9::bytea[], $10::bytea[], $11::uuid[], $12::timestamptz[])`,
		db.Column(fresh, func(p *Prepared) *uuid.UUID { return &p.Submission.OrgID }),
		db.Column(fresh, func(p *Prepared) *uuid.UUID { return &p.Submission.ID }),
		db.Column(fresh, func(p *Prepared) string { return p.Submission.MediaType }),
		db.Column(fresh, func(p *Prepared) string { return p.Submission.Filename }),
		db.Column(fresh, func(p *Prepared) string { return p.Submission.Name }),
		db.Column(fresh, func(p *Prepared) string { return p.Submission.ShortDescription }),
		db.Column(fresh, func(p *Prepared) string { return p.Submission.Metadata }),
		db.Column(fresh, func(p *Prepared) int64 { return p.Submission.Size }),
		db.Column(fresh, func(p *Prepared) []byte { return p.Submission.SHA256 }),
		db.Column(fresh, func(p *Prepared) []byte { return p.Submission.Content }),
		db.Column(fresh, func(p *Prepared) *uuid.UUID { return p.Submission.UploadID }),
		db.Column(fresh, func(p *Prepared) time.Time { return p.Submission.CreatedAt }))
}

// queueRuns inserts the runs. A lease begins when the row is inserted and not when the transaction began, which may
// have waited for locks.
func (s *Service) queueRuns(batch *db.Batch, prepared []Prepared) {
	batch.Queue(`
		INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
			submission_id, source, usage_metric, usage_period, idempotency_key, idempotency_key_id, request_id,
			created_by, created_at, rerun_of, state, attempts, started_at, lease_until, sweep_after, traceparent,
			tracestate)
		SELECT r.org_id, r.id, workflow_id, workflow_version, workflow_slug, definition_digest, submission_id, source,
			usage_metric, CASE WHEN usage_metric = '' THEN date '0001-01-01'
				ELSE date_trunc('month', now() AT TIME ZONE 'UTC')::date END,
			idempotency_key, idempotency_key_id, request_id, created_by, created_at, rerun_of,
			CASE WHEN lease = 0 THEN 'PENDING' ELSE 'RUNNING' END, CASE WHEN lease = 0 THEN 0 ELSE 1 END,
			CASE WHEN lease > 0 THEN at END, CASE WHEN lease > 0 THEN at + lease * interval '1 millisecond' END,
			CASE WHEN usage_metric = '' THEN 'infinity'
				WHEN lease > 0 THEN at + lease * interval '1 millisecond'
				ELSE at + $17::bigint * interval '1 millisecond' END,
			nullif(traceparent, ''), nullif(tracestate, '')
		FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::text[], $6::bytea[], $7::uuid[], $8::text[],
			$9::text[], $10::text[], $11::uuid[], $12::text[], $13::uuid[], $14::timestamptz[], $15::uuid[],
			$16::bigint[], $18::text[], $19::text[]) AS r (org_id, id, workflow_id, workflow_version,
			workflow_slug, definition_digest, submission_id, source, usage_metric, idempotency_key,
			idempotency_key_id, request_id, created_by, created_at, rerun_of, lease, traceparent, tracestate),
			clock_timestamp() AS at
		WHERE r.id = ANY (`+db.Granted+`)`,
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return &p.Run.OrgID }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return &p.Run.ID }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return &p.Run.WorkflowID }),
		db.Column(prepared, func(p *Prepared) int { return p.Run.WorkflowVersion }),
		db.Column(prepared, func(p *Prepared) string { return p.Run.WorkflowSlug }),
		db.Column(prepared, func(p *Prepared) []byte { return p.Run.DefinitionDigest }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return &p.Run.SubmissionID }),
		db.Column(prepared, func(p *Prepared) string { return string(p.Run.Source) }),
		db.Column(prepared, func(p *Prepared) string { return p.Run.UsageMetric }),
		db.Column(prepared, func(p *Prepared) string { return p.Run.IdempotencyKey }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return p.Run.IdempotencyKeyID }),
		db.Column(prepared, func(p *Prepared) string { return p.Run.RequestID }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return p.Run.CreatedBy }),
		db.Column(prepared, func(p *Prepared) time.Time { return p.Run.CreatedAt }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return p.Run.RerunOf }),
		db.Column(prepared, func(p *Prepared) int64 { return p.Lease.Milliseconds() }),
		s.sweepAfter.Milliseconds(),
		db.Column(prepared, func(p *Prepared) string { return p.Origin.Traceparent }),
		db.Column(prepared, func(p *Prepared) string { return p.Origin.Tracestate }))
}

// queueAdoptions excludes the uploads of runs from the sweep. An upload that was swept or adopted before is refused by
// the constraints of submissions.
func queueAdoptions(batch *db.Batch, uploaded []Prepared) {
	batch.Queue(`
		UPDATE uploads AS u SET sweep_after = NULL
		FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS a (org_id, id, run_id)
		WHERE `+db.SameRow("u.id", "a.id")+`
			AND a.run_id = ANY (`+db.Granted+`)`,
		db.Column(uploaded, func(p *Prepared) *uuid.UUID { return &p.Submission.OrgID }),
		db.Column(uploaded, func(p *Prepared) *uuid.UUID { return p.Submission.UploadID }),
		db.Column(uploaded, func(p *Prepared) *uuid.UUID { return &p.Run.ID }))
}

// dropDocuments deletes the documents of prepared runs that are not granted.
func dropDocuments(batch *db.Batch, prepared []Prepared) {
	batch.Queue(`DELETE FROM submissions WHERE ctid = ANY (ARRAY(
		SELECT s.ctid FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS d (org_id, id, run_id)
		CROSS JOIN LATERAL (SELECT ctid FROM submissions WHERE org_id = d.org_id AND id = d.id LIMIT 1) AS s
		WHERE d.run_id <> ALL (`+db.Granted+`)))`,
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return &p.Submission.OrgID }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return &p.Submission.ID }),
		db.Column(prepared, func(p *Prepared) *uuid.UUID { return &p.Run.ID }))
}

// IsUploadGone reports whether a run was refused because its upload was swept before the run could adopt it.
func IsUploadGone(err error) bool {
	return db.ViolatedConstraint(err) == "fk_submissions_upload"
}

// PendingDocuments are queued locks on documents. Require may be called once the batch was sent.
type PendingDocuments struct {
	kept *db.Future[map[uuid.UUID]bool]
}

// QueueDocumentLocks locks the documents of reruns against the purge until the transaction ends. From then on the purge
// finds the new run, which needs the document. A rerun whose document is gone is not granted any more (db.Granted).
func QueueDocumentLocks(batch *db.Batch, reruns []Prepared) *PendingDocuments {
	return &PendingDocuments{kept: db.QueueInto(batch, readKept, `
		WITH kept AS MATERIALIZED (
			SELECT s.id FROM unnest($1::uuid[], $2::uuid[]) AS asked (org_id, id)
			JOIN submissions AS s ON `+db.SameRow("s.id", "asked.id")+`
			WHERE s.content IS NOT NULL OR s.upload_id IS NOT NULL
			ORDER BY asked.org_id, asked.id FOR SHARE OF s),
		narrowed AS MATERIALIZED (SELECT `+db.GrantOnly(`ARRAY(
			SELECT g.id FROM unnest(`+db.Granted+`) AS g (id) WHERE g.id NOT IN (
				SELECT r.run_id FROM unnest($2::uuid[], $3::uuid[]) AS r (id, run_id)
				WHERE r.id NOT IN (SELECT id FROM kept)))`)+`)
		SELECT kept.id FROM narrowed LEFT JOIN kept ON true`,
		db.Column(reruns, func(p *Prepared) *uuid.UUID { return &p.Run.OrgID }),
		db.Column(reruns, func(p *Prepared) *uuid.UUID { return &p.Run.SubmissionID }),
		db.Column(reruns, func(p *Prepared) *uuid.UUID { return &p.Run.ID }))}
}

// Require returns document_gone if the purge has removed the run's document.
func (p *PendingDocuments) Require(run Run) error {
	kept, err := p.kept.Get()
	if err != nil {
		return fmt.Errorf("look for the document of run %s: %w", run.ID, err)
	}
	if !kept[run.SubmissionID] {
		return core.NewError(api.CodeDocumentGone,
			"The run's document is no longer kept, so it cannot be checked again. Start a run with the document.")
	}
	return nil
}

func readKept(rows pgx.Rows) (map[uuid.UUID]bool, error) {
	kept := make(map[uuid.UUID]bool)
	for rows.Next() {
		var id *uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read whether a document is kept: %w", err)
		}
		if id != nil {
			kept[*id] = true
		}
	}
	return kept, rows.Err()
}

// errNotHeld means that the state of a run contradicts the recovery point of its request.
var errNotHeld = errors.New("the run is not held")

// RecordCharge records the metric and the period under which the same transaction has charged a held run.
func (s *Service) RecordCharge(
	ctx context.Context, tx db.Tx, orgID, runID uuid.UUID, metric string, period time.Time,
) error {
	tag, err := tx.Exec(ctx, `
		UPDATE validation_runs SET usage_metric = $3, usage_period = $4
		WHERE org_id = $1 AND id = $2 AND usage_metric = '' AND state = 'PENDING'`, orgID, runID, metric, period)
	if err != nil {
		return fmt.Errorf("charge run %s: %w", runID, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("charge run %s: %w", runID, errNotHeld)
	}
	return nil
}

// Launch stages a held run that was charged. The caller wakes the jobs' signal after the commit.
func (s *Service) Launch(ctx context.Context, tx db.Tx, orgID, runID uuid.UUID) error {
	var epoch int
	err := tx.QueryRow(ctx, `
		UPDATE validation_runs SET sweep_after = now() + $3::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND usage_metric <> '' AND sweep_after = 'infinity'
		RETURNING epoch`, orgID, runID, s.sweepAfter.Milliseconds()).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("launch run %s: %w", runID, errNotHeld)
	}
	if err != nil {
		return fmt.Errorf("launch run %s: %w", runID, err)
	}
	batch := tx.NewBatch()
	jobs.Stage(batch, jobs.Job{Kind: JobExecute, OrgID: orgID, SubjectID: runID, Epoch: epoch})
	return batch.Send(ctx)
}

// Decline ends a held run whose charge was declined. It is not charged.
func (s *Service) Decline(ctx context.Context, tx db.Tx, orgID, runID uuid.UUID, reason string) error {
	tag, err := tx.Exec(ctx, `
		UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', error = $3, ended_at = now(),
			sweep_after = NULL
		WHERE org_id = $1 AND id = $2 AND usage_metric = '' AND state = 'PENDING'`, orgID, runID, reason)
	if err != nil {
		return fmt.Errorf("decline run %s: %w", runID, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("decline run %s: %w", runID, errNotHeld)
	}
	return nil
}

// PendingAnswer renders a held run as Prepare has, byte for byte.
func (s *Service) PendingAnswer(ctx context.Context, orgID, runID uuid.UUID) ([]byte, error) {
	var slug string
	if err := s.db.Pool.QueryRow(ctx, `SELECT slug FROM organizations WHERE id = $1`, orgID).Scan(&slug); err != nil {
		return nil, fmt.Errorf("read organization %s: %w", orgID, err)
	}
	body, err := s.Show(ctx, orgID, slug, runID)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("render run %s: %w", runID, err)
	}
	return answer, nil
}
