package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

const (
	// releaseTimeout bounds how long a lease is given back.
	releaseTimeout = 5 * time.Second
	// disableAfter is how long a webhook may fail before it is disabled.
	disableAfter = 5 * 24 * time.Hour
)

// acquire takes the lease of the webhook under a new epoch. A job of an earlier epoch, and one of a webhook that is
// disabled, gets the zero lease.
func (d *Deliverer) acquire(ctx context.Context, job jobs.Job) (lease, error) {
	to := lease{orgID: job.OrgID, id: job.SubjectID}
	var sealed sealedSecrets
	err := d.db.Pool.QueryRow(ctx, `
		UPDATE webhooks SET epoch = epoch + 1, lease_until = now() + $4::bigint * interval '1 millisecond'
		WHERE org_id = $1 AND id = $2 AND epoch = $3 AND disabled_at IS NULL
		RETURNING epoch, url, signature, `+sealedColumns,
		job.OrgID, job.SubjectID, job.Epoch, d.cfg.lease().Milliseconds(),
	).Scan(&to.epoch, &to.url, &to.signature, &sealed.current, &sealed.previous, &sealed.headers)
	if errors.Is(err, pgx.ErrNoRows) {
		return lease{}, nil
	}
	if err != nil {
		return lease{}, fmt.Errorf("lease webhook %s: %w", job.SubjectID, err)
	}
	to.secrets, to.headers, err = sealed.open(d.cfg.Ring, job.SubjectID)
	return to, err
}

// due reads the deliveries that are due, those that have waited longest first.
func (d *Deliverer) due(ctx context.Context, to lease) ([]delivery, error) {
	due, err := db.All(ctx, d.db.Pool, func(row pgx.CollectableRow) (delivery, error) {
		var found delivery
		err := row.Scan(&found.event, &found.tries)
		return found, err
	}, `
		SELECT `+shownEvent+`, d.tries
		FROM (
			SELECT org_id, position, tries, due_at FROM webhook_deliveries
			WHERE webhook_id = $2 AND org_id = $1 AND due_at <= now()
				AND EXISTS (SELECT FROM webhooks WHERE org_id = $1 AND id = $2 AND epoch = $3 AND disabled_at IS NULL)
			ORDER BY due_at LIMIT $4) AS d
		CROSS JOIN LATERAL (
			SELECT * FROM events
			WHERE org_id = d.org_id AND position = d.position LIMIT 1) AS e
		ORDER BY d.due_at, e.position`, to.orgID, to.id, to.epoch, perRead)
	if err != nil {
		return nil, fmt.Errorf("read due deliveries: %w", err)
	}
	return due, nil
}

// write stores outcomes of webhooks whose leases are still held, renews those, and disables webhooks that are gone or
// have failed for too long. It returns the indexes of those that were stored.
func (d *Deliverer) write(ctx context.Context, done []stored) ([]int, error) {
	written, err := db.InBatch(ctx, d.db, func(batch *db.Batch) *db.Future[[]int] {
		return db.QueueInto(batch, func(rows pgx.Rows) ([]int, error) {
			return pgx.CollectRows(rows, pgx.RowTo[int])
		}, `
			WITH told AS MATERIALIZED (
				SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::bigint[], $5::timestamptz[],
					$6::bigint[], $7::smallint[], $8::text[], $9::text[], $10::bigint[]) WITH ORDINALITY
					AS o (org_id, webhook_id, epoch, position, at, took_us, status, reason, excerpt, wait_ms, number)),
			held AS MATERIALIZED (
				SELECT h.org_id, h.id, h.epoch FROM (SELECT DISTINCT org_id, webhook_id FROM told) AS t
				CROSS JOIN LATERAL (
					SELECT org_id, id, epoch FROM webhooks WHERE org_id = t.org_id AND id = t.webhook_id
					LIMIT 1 FOR NO KEY UPDATE) AS h),
			moved AS (
				UPDATE webhook_deliveries AS d SET attempts = d.attempts + 1, tries = d.tries + 1,
					delivered = o.reason = '',
					due_at = CASE WHEN o.reason <> '' AND o.wait_ms >= 0
						THEN now() + o.wait_ms * interval '1 millisecond' END
				FROM told AS o JOIN held AS h ON h.org_id = o.org_id AND h.id = o.webhook_id AND h.epoch = o.epoch
				WHERE d.org_id = ANY (ARRAY[o.org_id]) AND d.webhook_id BETWEEN o.webhook_id AND o.webhook_id
					AND d.position BETWEEN o.position AND o.position
				RETURNING o.*, d.attempts),
			noted AS (
				INSERT INTO webhook_attempts
					(org_id, webhook_id, position, number, at, took_us, status, reason, excerpt)
				SELECT org_id, webhook_id, position, attempts, at, took_us, status, reason, excerpt FROM moved),
			judged AS (
				UPDATE webhooks AS w SET lease_until = now() + $11::bigint * interval '1 millisecond',
					failing_since = CASE WHEN NOT j.ok THEN coalesce(w.failing_since, now()) END,
					disabled_at = CASE WHEN j.gone OR NOT j.ok AND w.failing_since < now() - $12::interval
						THEN now() END,
					disabled_reason = CASE WHEN j.gone THEN 'It answered with status 410: it wants no more events.'
						WHEN NOT j.ok AND w.failing_since < now() - $12::interval
						THEN 'No attempt has succeeded for five days.' ELSE '' END
				FROM (SELECT org_id, webhook_id, bool_or(reason = '') AS ok, bool_or(status = 410) AS gone
					FROM moved GROUP BY org_id, webhook_id) AS j
				WHERE `+db.SameRow("w.id", "j.webhook_id")+` AND w.disabled_at IS NULL
				RETURNING w.org_id, w.id, w.disabled_at, w.disabled_reason),
			audited AS (
				INSERT INTO audit_records (id, org_id, action, target_type, target_id, detail, request_id)
				SELECT gen_random_uuid(), org_id, 'webhook.disable', 'webhook', id::text, disabled_reason, ''
				FROM judged WHERE disabled_at IS NOT NULL)
			SELECT number::integer - 1 FROM moved`,
			db.Column(done, func(s *stored) *uuid.UUID { return &s.lease.orgID }),
			db.Column(done, func(s *stored) *uuid.UUID { return &s.lease.id }),
			db.Column(done, func(s *stored) int { return s.lease.epoch }),
			db.Column(done, func(s *stored) int64 { return s.position }),
			db.Column(done, func(s *stored) time.Time { return s.outcome.at }),
			db.Column(done, func(s *stored) int64 { return s.outcome.took.Microseconds() }),
			db.Column(done, func(s *stored) int { return s.outcome.status }),
			db.Column(done, func(s *stored) string { return s.outcome.reason }),
			db.Column(done, func(s *stored) string { return core.Storable(s.outcome.excerpt) }),
			db.Column(done, func(s *stored) int64 { return s.wait.Milliseconds() }),
			d.cfg.lease().Milliseconds(), disableAfter)
	})
	if err != nil {
		return nil, fmt.Errorf("store outcomes of webhooks: %w", err)
	}
	return written.Get()
}

// State is what operators want to know of all webhooks.
type State struct {
	// Active webhooks are not disabled, and Failing those of them whose last attempt has failed.
	Active, Failing int64
	// Late is how long the webhook has been due that has waited longest for a process.
	Late time.Duration
}

// ReadState reads the state of all webhooks.
func ReadState(ctx context.Context, database *db.DB) (State, error) {
	var found State
	var late float64
	err := database.Pool.QueryRow(ctx, `
		SELECT count(*), count(failing_since), coalesce(extract(epoch FROM now() - min(due_at) FILTER (
			WHERE due_at <= now() AND (lease_until IS NULL OR lease_until <= now()))), 0)::float8
		FROM webhooks WHERE disabled_at IS NULL`).Scan(&found.Active, &found.Failing, &late)
	if err != nil {
		return State{}, fmt.Errorf("read the state of webhooks: %w", err)
	}
	found.Late = core.Seconds(late)
	return found, nil
}

// release gives the lease back and notes when the next delivery is due. The row is locked first, so that a delivery
// that is made meanwhile is seen, or wakes the webhook afterwards. If it fails, the lease ends by itself.
func (d *Deliverer) release(ctx context.Context, to lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := db.InBatch(ctx, d.db, func(batch *db.Batch) struct{} {
		batch.Queue(`UPDATE webhooks SET lease_until = NULL WHERE org_id = $1 AND id = $2 AND epoch = $3`,
			to.orgID, to.id, to.epoch)
		batch.Queue(`
			UPDATE webhooks SET due_at = (SELECT due_at FROM webhook_deliveries
				WHERE webhook_id = $2 AND org_id = $1 AND due_at IS NOT NULL ORDER BY due_at LIMIT 1)
			WHERE org_id = $1 AND id = $2 AND epoch = $3`, to.orgID, to.id, to.epoch)
		return struct{}{}
	})
	if err != nil {
		d.log.WarnContext(ctx, "the lease of a webhook was not given back", "webhook", to.id, "error", err)
	}
}
