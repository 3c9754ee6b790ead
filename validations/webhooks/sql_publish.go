package webhooks

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

const (
	// publishLock is the advisory lock of the one publisher at a time.
	publishLock = 7120531967
	// publishBatch bounds the events of a pass, and resendBatch those that one webhook gets again in it.
	publishBatch = 1000
	resendBatch  = 1000
	// resendWebhooks bounds the webhooks that get events again in a pass.
	resendWebhooks = 8
	// dueWebhooks bounds the jobs of a pass.
	dueWebhooks = 500
)

// wants is the condition of a webhook w for an event e. A test is for one webhook alone.
const wants = `(CASE WHEN e.type = 'webhook.test' THEN e.data::json ->> 'webhook' = w.id::text
	ELSE (w.event_types = '{}' OR e.type = ANY (w.event_types))
		AND (w.workflow_id IS NULL OR e.workflow_id IS NOT DISTINCT FROM w.workflow_id) END)`

// queueTurn takes the lock, if there is something to do. What later statements read is newer than the lock, so they see
// what the last publisher has committed.
func queueTurn(batch *db.Batch) *db.Future[bool] {
	return db.QueueInto(batch, func(rows pgx.Rows) (bool, error) {
		return pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	}, `
		SELECT (EXISTS (SELECT FROM events WHERE position IS NULL)
				OR EXISTS (SELECT FROM webhooks WHERE due_at <= now() AND disabled_at IS NULL)
				OR EXISTS (SELECT FROM webhooks WHERE resend_until IS NOT NULL))
			AND pg_try_advisory_xact_lock($1)`, int64(publishLock))
}

// publish gives the oldest events their positions, which are times in microseconds unless the last one was later, and
// makes the deliveries. It returns the number of events.
func publish(ctx context.Context, tx db.Tx) (int, error) {
	tag, err := tx.Exec(ctx, `
		WITH fresh AS MATERIALIZED (
			SELECT org_id, id, at FROM events WHERE position IS NULL ORDER BY at LIMIT $1),
		ends AS MATERIALIZED (
			SELECT org_id, greatest((SELECT max(position) FROM events WHERE org_id = o.org_id),
				(extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS position
			FROM (SELECT DISTINCT org_id FROM fresh) AS o),
		placed AS MATERIALIZED (
			SELECT org_id, id, ends.position + row_number() OVER (PARTITION BY org_id ORDER BY at, id) AS position
			FROM fresh JOIN ends USING (org_id)),
		published AS (
			UPDATE events AS e SET position = p.position FROM placed AS p WHERE `+db.SameRow("e.id", "p.id")+`
			RETURNING e.org_id, e.position, e.type, e.workflow_id, e.data),
		made AS (
			INSERT INTO webhook_deliveries (org_id, webhook_id, position)
			SELECT e.org_id, w.id, e.position FROM published AS e CROSS JOIN LATERAL (
				SELECT id FROM webhooks AS w WHERE w.org_id = e.org_id AND w.disabled_at IS NULL AND `+wants+`) AS w
			RETURNING org_id, webhook_id),
		woken AS (
			UPDATE webhooks AS w SET due_at = least(w.due_at, now())
			FROM (SELECT DISTINCT org_id, webhook_id FROM made) AS m
			WHERE `+db.SameRow("w.id", "m.webhook_id")+`)
		SELECT FROM published`, publishBatch)
	if err != nil {
		return 0, fmt.Errorf("publish events: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// resend makes further deliveries of the webhooks that get events again, and returns how many events it looked at.
func resend(ctx context.Context, tx db.Tx) (int, error) {
	tag, err := tx.Exec(ctx, `
		WITH behind AS MATERIALIZED (
			SELECT org_id, id, event_types, workflow_id, resend_after, resend_until FROM webhooks
			WHERE resend_until IS NOT NULL ORDER BY resend_until LIMIT $1 FOR UPDATE SKIP LOCKED),
		next AS MATERIALIZED (
			SELECT w.org_id, w.id AS webhook_id, e.position, `+wants+` AS wanted
			FROM behind AS w CROSS JOIN LATERAL (
				SELECT position, type, workflow_id, data FROM events
				WHERE org_id = w.org_id AND position > w.resend_after AND position <= w.resend_until
				ORDER BY position LIMIT $2) AS e),
		made AS (
			INSERT INTO webhook_deliveries AS d (org_id, webhook_id, position)
			SELECT org_id, webhook_id, position FROM next WHERE wanted
			ON CONFLICT ON CONSTRAINT webhook_deliveries_pkey
				DO UPDATE SET due_at = now(), tries = 0, delivered = false),
		moved AS (
			UPDATE webhooks AS w SET due_at = least(w.due_at, now()),
				resend_after = CASE WHEN n.looked_at = $2 THEN n.last END,
				resend_until = CASE WHEN n.looked_at = $2 THEN w.resend_until END
			FROM (SELECT org_id, id, (SELECT count(*) FROM next WHERE webhook_id = b.id) AS looked_at,
				(SELECT max(position) FROM next WHERE webhook_id = b.id) AS last FROM behind AS b) AS n
			WHERE `+db.SameRow("w.id", "n.id")+`)
		SELECT FROM next`, resendWebhooks, resendBatch)
	if err != nil {
		return 0, fmt.Errorf("send events again: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// takeDue moves the webhooks that have something due, and whose job is not on its way, to their next epoch. A job that
// is not picked up in the time of a lease counts as lost.
func (p *Publisher) takeDue(ctx context.Context, tx db.Tx) ([]jobs.Job, error) {
	due, err := db.All(ctx, tx, func(row pgx.CollectableRow) (jobs.Job, error) {
		job := jobs.Job{Kind: JobDeliver}
		err := row.Scan(&job.OrgID, &job.SubjectID, &job.Epoch)
		return job, err
	}, `
		WITH due AS MATERIALIZED (
			SELECT org_id, id FROM webhooks AS w
			WHERE due_at <= now() AND disabled_at IS NULL AND (lease_until IS NULL OR lease_until <= now())
				AND NOT EXISTS (SELECT FROM organizations WHERE id = w.org_id AND suspended_at IS NOT NULL)
				AND NOT EXISTS (SELECT FROM staged_jobs AS j WHERE j.org_id = w.org_id AND j.subject_id = w.id
					AND j.kind = $1 AND j.epoch = w.epoch)
			ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)
		UPDATE webhooks AS w SET epoch = w.epoch + 1, lease_until = now() + $3::bigint * interval '1 millisecond'
		FROM due WHERE `+db.SameRow("w.id", "due.id")+`
		RETURNING w.org_id, w.id, w.epoch`, JobDeliver, dueWebhooks, p.cfg.lease().Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("find due webhooks: %w", err)
	}
	return due, nil
}
