package idempotency

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// recordColumns are the columns that scanRecord reads, in its order. Expiry and the time left of the lock are computed
// by the database, so the clocks of the processes need not agree.
//
// The last two keep a replay from promising what a failover loses. A standby, which a leader becomes that lost its
// lock, may have what nobody else has. A COMMIT that waits for a synchronous standby ends when its session or its
// server is ended, and others then see what only this server has. So reading a finished key writes to the write-ahead
// log where there is such a standby, and has no result until the standby has everything before.
const recordColumns = `id, org_id, key, endpoint, fingerprint_version, request_hash, target_digest, content_digest,
	options_digest, request_id, validation_run_id, recovery_point, epoch, expires_at <= now(), expires_at,
	coalesce(extract(epoch FROM locked_until - now()), 0)::float8, response_status, response_headers, response_body,
	pg_is_in_recovery(), CASE WHEN recovery_point = 'finished' AND NOT pg_is_in_recovery()
		AND current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, '', '') END`

// keyQuery reads by the unique index of the claim.
const keyQuery = `SELECT ` + recordColumns + ` FROM idempotency_keys WHERE org_id = $1 AND key = $2 AND endpoint = $3`

// Lookup reads a key in one indexed statement without a transaction. The second result is false when the key is absent.
func Lookup(
	ctx context.Context, database *db.DB, orgID uuid.UUID, endpoint Endpoint, key string,
) (Record, bool, error) {
	rows, err := database.Pool.Query(ctx, keyQuery, orgID, key, endpoint)
	if err != nil {
		return Record{}, false, fmt.Errorf("look up a key: %w", err)
	}
	record, err := pgx.CollectExactlyOneRow(rows, scanRecord)
	if errors.Is(err, pgx.ErrNoRows) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("look up a key: %w", err)
	}
	return record, !record.Absent(), nil
}

// Prefetch adds the look-up of a key to a loader. The future's value is nil when there is no such row; check
// Record.Absent for an expired one.
func Prefetch(loader *db.Loader, org core.CallerOrg, endpoint Endpoint, key string) *db.Future[*Record] {
	return db.Lookup(loader, scanRecord, `SELECT `+recordColumns+` FROM idempotency_keys
		WHERE org_id = asked.org AND key = asked.key AND endpoint = asked.endpoint`,
		org.Param, db.Param{Name: "key", Type: "text", Value: key},
		db.Param{Name: "endpoint", Type: "text", Value: string(endpoint)})
}

// scannedRecord is a row of recordColumns. It is one value, because what is scanned into is allocated variable by
// variable.
type scannedRecord struct {
	Record

	subject     *uuid.UUID
	lockSeconds float64
	status      *int
	headers     *ResponseHeaders
	body        []byte
	onStandby   bool
}

// scanRecord reads a row of recordColumns. The response is absent until the key is finished.
func scanRecord(row pgx.CollectableRow) (Record, error) {
	var r scannedRecord
	sums := &r.Fingerprint
	err := row.Scan(&r.ID, &r.OrgID, &r.Key, &r.Endpoint, &sums.Version,
		&sums.Sum, &sums.Target, &sums.Content, &sums.Options, &r.RequestID, &r.subject, &r.Point, &r.Epoch, &r.Expired,
		&r.ExpiresAt, &r.lockSeconds, &r.status, &r.headers, &r.body,
		&r.onStandby, nil)
	if err == nil && r.onStandby {
		err = db.ErrReadOnly
	}
	if err != nil {
		return r.Record, fmt.Errorf("read a key: %w", err)
	}
	r.LockTTL = core.Seconds(r.lockSeconds)
	if r.subject != nil {
		r.Subject = *r.subject
	}
	if r.status != nil && r.headers != nil {
		r.Response = Response{Status: *r.status, Headers: *r.headers, Body: r.body}
	}
	return r.Record, nil
}
