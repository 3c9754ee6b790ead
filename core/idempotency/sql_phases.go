package idempotency

import (
	"context"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// keptAfterwards is how long an answer is kept at least after it is stored, or half of its key's lifetime where that is
// shorter. It matters where the request has taken about as long as its key lives.
const keptAfterwards = time.Hour

// sameUse finds the row of a record by the unique constraint of its key. The id alone would do: but where statistics
// claim that the table is empty, the planner may then read all keys of the organization.
const sameUse = `org_id = $1 AND key = $2 AND endpoint = $3 AND id = $4`

// use returns the parameters of sameUse and those that follow.
func use(record Record, more ...any) []any {
	return append([]any{record.OrgID, record.Key, record.Endpoint, record.ID}, more...)
}

// fence locks the key's row under the record's epoch and recovery point, or fails with errLockLost. Another process
// that wants to take the key over waits for the row, and then finds the next recovery point.
func fence(ctx context.Context, tx db.Tx, record Record, lock time.Duration) error {
	tag, err := tx.Exec(ctx, `
		UPDATE idempotency_keys SET locked_until = now() + $7::bigint * interval '1 millisecond'
		WHERE `+sameUse+` AND epoch = $5 AND recovery_point = $6`,
		use(record, record.Epoch, record.Point, lock.Milliseconds())...)
	if err != nil {
		return fmt.Errorf("fence key %s: %w", record.ID, err)
	}
	if tag.RowsAffected() == 0 {
		return errLockLost
	}
	return nil
}

// storeOutcome advances a fenced record to its outcome, and returns the record as it is afterwards.
func storeOutcome(ctx context.Context, tx db.Tx, record Record, outcome Outcome) (Record, error) {
	record.Point = outcome.point
	var err error
	if outcome.response == nil {
		_, err = tx.Exec(ctx, `UPDATE idempotency_keys SET recovery_point = $5 WHERE `+sameUse,
			use(record, record.Point)...)
	} else {
		record.Response = *outcome.response
		record.ExpiresAt, err = storeResponse(ctx, tx, record)
	}
	if err != nil {
		return Record{}, fmt.Errorf("advance key %s to %q: %w", record.ID, outcome.point, err)
	}
	return record, nil
}

// storeResponse finishes a key and returns when it expires. A late answer extends the key's life: its client has yet to
// fetch the answer, and would start anew with a key that has already expired.
func storeResponse(ctx context.Context, tx db.Tx, record Record) (time.Time, error) {
	var expiresAt time.Time
	err := tx.QueryRow(ctx, `
		UPDATE idempotency_keys SET recovery_point = $5, locked_until = NULL, retry_at = NULL, last_error = '',
			finished_at = now(),
			expires_at = greatest(expires_at,
				now() + least((expires_at - created_at) / 2, make_interval(secs => $10))),
			response_status = $6, response_body = coalesce($9, ''::bytea),
			response_headers = json_build_object('content_type', $7::text, 'location', $8::text)
		WHERE `+sameUse+`
		RETURNING expires_at`,
		use(record, PointFinished, record.Response.Status, record.Response.Headers.ContentType,
			record.Response.Headers.Location, record.Response.Body, keptAfterwards.Seconds())...).Scan(&expiresAt)
	return expiresAt, err
}

// takeOver locks an abandoned key under the next epoch. What its last holder still does then has no effect.
func (e *Engine) takeOver(ctx context.Context, record Record) (Record, error) {
	tag, err := e.db.Pool.Exec(ctx, `
		UPDATE idempotency_keys SET epoch = epoch + 1, locked_until = now() + $7::bigint * interval '1 millisecond'
		WHERE `+sameUse+` AND epoch = $5 AND recovery_point = $6 AND locked_until <= now()`,
		use(record, record.Epoch, record.Point, e.cfg.Lock.Milliseconds())...)
	if err != nil {
		return Record{}, Resumable(fmt.Errorf("take key %s over: %w", record.ID, err))
	}
	if tag.RowsAffected() == 0 {
		return Record{}, InProgress(record.LockTTL)
	}
	record.Epoch++
	return record, nil
}

// renew extends the lock and reports whether the record still has it.
func (e *Engine) renew(ctx context.Context, record Record) (bool, error) {
	tag, err := e.db.Pool.Exec(ctx, `
		UPDATE idempotency_keys SET locked_until = now() + $6::bigint * interval '1 millisecond'
		WHERE `+sameUse+` AND epoch = $5 AND recovery_point <> $7`,
		use(record, record.Epoch, e.cfg.Lock.Milliseconds(), PointFinished)...)
	return tag.RowsAffected() > 0, err
}

// storeError releases the lock and stores why the request stopped.
func (e *Engine) storeError(ctx context.Context, record Record, reason string) error {
	_, err := e.db.Pool.Exec(ctx, `
		UPDATE idempotency_keys SET locked_until = now(), last_error = $6
		WHERE `+sameUse+` AND epoch = $5 AND recovery_point <> $7`,
		use(record, record.Epoch, reason, PointFinished)...)
	return err
}

// takeAbandoned locks keys whose request was abandoned, each under its next epoch, and counts the try. The next try is
// scheduled in the same statement, so a key that kills its process waits as well. Concurrent completers skip each
// other's rows.
func (c *Completer) takeAbandoned(ctx context.Context) ([]Record, error) {
	return db.InTx(ctx, c.engine.db, func(tx db.Tx) ([]Record, error) {
		records, err := db.All(ctx, tx, scanRecord, `
			WITH abandoned AS (
				SELECT ctid AS place FROM idempotency_keys
				WHERE recovery_point <> 'finished' AND locked_until <= now() AND attempts < $1
					AND (retry_at IS NULL OR retry_at <= now())
				ORDER BY retry_at NULLS FIRST, locked_until LIMIT $2 FOR UPDATE SKIP LOCKED)
			UPDATE idempotency_keys SET epoch = epoch + 1, attempts = attempts + 1,
				locked_until = now() + $3::bigint * interval '1 millisecond',
				retry_at = now() + least($4::float8 * power(2, least(attempts, 30)), $5::float8) * interval '1 second'
			FROM abandoned WHERE ctid = place
			RETURNING `+recordColumns,
			c.maxAttempts, completeBatch, c.engine.cfg.Lock.Milliseconds(),
			completeBackOff.Seconds(), completeMaxBackOff.Seconds())
		if err != nil {
			return nil, fmt.Errorf("find abandoned keys: %w", err)
		}
		return records, nil
	})
}
