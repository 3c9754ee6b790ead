package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// ClaimResult is the result of one claim.
type ClaimResult struct {
	// Claimed reports whether the key belongs to the claim as soon as the transaction commits.
	Claimed bool
	// ExpiresAt is when the claimed key expires.
	ExpiresAt time.Time
	// Existing is the record of the request that has the key. It is nil while that request's transaction is open.
	Existing *Record
}

// claimQuery inserts the keys whose advisory lock is free. The lock belongs to the transaction, so the statement also
// works behind a transaction pooler. Without the lock, a claim would wait for the commit of a rival, and every
// repetition would occupy a connection for as long. A conflicting row is taken over only when it is finished and
// expired. Every column is then written anew, so nothing of the old use remains.
const claimQuery = `
	INSERT INTO idempotency_keys AS k (id, org_id, key, endpoint, request_method, request_path,
		fingerprint_version, request_hash, target_digest, content_digest, options_digest, request_id, request_ip,
		user_agent, response_status, response_headers, response_body, validation_run_id, recovery_point,
		locked_until, epoch, created_at, expires_at, finished_at)
	SELECT c.id, c.org_id, c.key, c.endpoint, c.method, c.path, c.version, c.hash, c.target, c.content, c.options,
		c.request_id, c.ip, c.agent, CASE WHEN finished THEN c.status END,
		CASE WHEN finished THEN json_build_object('content_type', c.content_type, 'location', c.location) END,
		CASE WHEN finished THEN coalesce(c.body, ''::bytea) END, c.subject, c.point,
		CASE WHEN NOT finished THEN now() + c.lock_for * interval '1 millisecond' END, 1, now(),
		now() + make_interval(secs => c.lifetime), CASE WHEN finished THEN now() END
	FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::bytea[],
		$9::bytea[], $10::bytea[], $11::bytea[], $12::text[], $13::inet[], $14::text[], $15::smallint[], $16::text[],
		$17::text[], $18::bytea[], $19::uuid[], $20::float8[], $21::bigint[],
		$22::text[], $23::bigint[])
		AS c (id, org_id, key, endpoint, method, path, version, hash, target, content, options, request_id, ip,
			agent, status, content_type, location, body, subject, lifetime, lock,
			point, lock_for),
		LATERAL (SELECT c.point = 'finished') AS f (finished)
	WHERE pg_try_advisory_xact_lock(c.lock)
	ORDER BY c.org_id, c.endpoint, c.key
	ON CONFLICT ON CONSTRAINT uq_idempotency_org_key_endpoint DO UPDATE SET
		id = excluded.id, request_method = excluded.request_method, request_path = excluded.request_path,
		fingerprint_version = excluded.fingerprint_version, request_hash = excluded.request_hash,
		target_digest = excluded.target_digest, content_digest = excluded.content_digest,
		options_digest = excluded.options_digest, request_id = excluded.request_id, request_ip = excluded.request_ip,
		user_agent = excluded.user_agent, response_status = excluded.response_status,
		response_headers = excluded.response_headers, response_body = excluded.response_body,
		validation_run_id = excluded.validation_run_id, recovery_point = excluded.recovery_point,
		locked_until = excluded.locked_until, epoch = excluded.epoch, created_at = excluded.created_at,
		expires_at = excluded.expires_at, attempts = 0, retry_at = NULL, last_error = '',
		finished_at = excluded.finished_at
	WHERE k.recovery_point = 'finished' AND k.expires_at <= now()
	RETURNING k.id, k.expires_at, k.validation_run_id`

// QueueClaims queues claims of keys, and returns when each claimed key expires, by the claim's id. From then on the
// batch grants (db.Granted) the subjects of the claimed keys, and others, which need no key. No two claims may name the
// same key.
func QueueClaims(batch *db.Batch, claims []Claim, others []uuid.UUID) *db.Future[map[uuid.UUID]time.Time] {
	if len(claims) == 0 {
		db.Grant(batch, others)
		return db.Known(map[uuid.UUID]time.Time{})
	}
	read := func(rows pgx.Rows) (map[uuid.UUID]time.Time, error) {
		claimed := make(map[uuid.UUID]time.Time)
		var ids []uuid.UUID
		var expiries []time.Time
		_, err := pgx.ForEachRow(rows, []any{&ids, &expiries, nil}, func() error {
			for i, id := range ids {
				claimed[id] = expiries[i]
			}
			return nil
		})
		return claimed, err
	}
	return db.QueueInto(batch, read, `
		WITH claimed AS (`+claimQuery+`)
		SELECT array_agg(id), array_agg(expires_at), `+
		db.GrantOnly(`coalesce(array_agg(validation_run_id), '{}') || $24::uuid[]`)+` FROM claimed`,
		append(claimColumns(claims), db.IDs(others))...)
}

// QueueWithdrawals queues the deletion of keys that the same transaction has claimed and whose subjects are not granted
// any more, so that nothing is remembered of what did not happen.
func QueueWithdrawals(batch *db.Batch, claims []Claim) {
	if len(claims) == 0 {
		return
	}
	batch.Queue(`DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
		SELECT k.ctid FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[])
			AS w (org_id, id, key, endpoint, subject)
		CROSS JOIN LATERAL (SELECT ctid FROM idempotency_keys
			WHERE org_id = w.org_id AND key = w.key AND endpoint = w.endpoint AND id = w.id LIMIT 1) AS k
		WHERE w.subject <> ALL (`+db.Granted+`)))`,
		db.Column(claims, func(c *Claim) *uuid.UUID { return &c.OrgID }),
		db.Column(claims, func(c *Claim) *uuid.UUID { return &c.ID }),
		db.Column(claims, func(c *Claim) string { return c.Key }),
		db.Column(claims, func(c *Claim) string { return string(c.Endpoint) }),
		db.Column(claims, func(c *Claim) *uuid.UUID { return &c.Subject }))
}

// ClaimKey claims one key inside the transaction that does its work. It reads the key of another request in a second
// statement, because the snapshot of the claim's statement may predate a rival's commit.
func ClaimKey(ctx context.Context, tx db.Tx, claim Claim) (ClaimResult, error) {
	result := ClaimResult{Claimed: true}
	err := tx.QueryRow(ctx, claimQuery, claimColumns([]Claim{claim})...).Scan(nil, &result.ExpiresAt, nil)
	switch {
	case err == nil:
		return result, nil
	case !errors.Is(err, pgx.ErrNoRows):
		return ClaimResult{}, fmt.Errorf("claim a key: %w", err)
	}
	existing, err := readExisting(ctx, tx, []Claim{claim})
	if record, ok := existing[claim.Identity]; ok && !record.Absent() {
		return ClaimResult{Existing: &record}, err
	}
	return ClaimResult{}, err
}

// LockNumber is the number of the advisory lock that guards the key while its claim is not committed. Two keys may
// share a number; one of them is then refused as if it were in progress, and succeeds on its retry.
func (c *Claim) LockNumber() int64 {
	hash := sha256.New()
	// The lengths separate the fields, and the first part separates these locks from those of other uses.
	for _, part := range []string{"idempotency-key", string(c.OrgID[:]), string(c.Endpoint), c.Key} {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	return int64(binary.BigEndian.Uint64(hash.Sum(nil))) //nolint:gosec // any bit pattern names a lock
}

// ReadExisting returns the records of the keys that claims name, by what identifies them. A key is missing while its
// holder's transaction is open.
func ReadExisting(ctx context.Context, database *db.DB, claims []Claim) (map[Identity]Record, error) {
	if len(claims) == 0 {
		return nil, nil //nolint:nilnil // A nil map has no records.
	}
	return readExisting(ctx, database.Pool, claims)
}

func readExisting(ctx context.Context, in db.Querier, claims []Claim) (map[Identity]Record, error) {
	found, err := db.All(ctx, in, scanRecord, `
		SELECT k.* FROM unnest($1::uuid[], $2::text[], $3::text[]) AS asked (org, name, operation)
		CROSS JOIN LATERAL (SELECT `+recordColumns+` FROM idempotency_keys
			WHERE org_id = asked.org AND key = asked.name AND endpoint = asked.operation LIMIT 1) AS k`,
		db.Column(claims, func(c *Claim) *uuid.UUID { return &c.OrgID }),
		db.Column(claims, func(c *Claim) string { return c.Key }),
		db.Column(claims, func(c *Claim) string { return string(c.Endpoint) }))
	if err != nil {
		return nil, fmt.Errorf("read keys of other requests: %w", err)
	}
	records := make(map[Identity]Record, len(found))
	for _, record := range found {
		records[record.Identity] = record
	}
	return records, nil
}
