package coretest

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// InsertKeys inserts n idempotency keys of one new organization, which expire after the given time and are finished or
// not. It bypasses the engine, so that thousands of keys cost one statement.
func InsertKeys(tb testing.TB, address string, n int, expiresIn time.Duration, finished bool) {
	tb.Helper()
	Prepare(tb, address, `
		WITH digest AS (SELECT decode(repeat('00', 32), 'hex') AS zeros)
		INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
			request_hash, target_digest, content_digest, options_digest, request_id,
			response_status, response_headers, response_body, recovery_point, created_at, expires_at)
		SELECT $1, gen_random_uuid(), gen_random_uuid()::text, 'tests', 'POST', '/', 1,
			zeros, zeros AS target, zeros AS content, zeros AS options, '',
			CASE WHEN $4 THEN 201 END, CASE WHEN $4 THEN '{}'::json END, CASE WHEN $4 THEN zeros END,
			CASE WHEN $4 THEN 'finished' ELSE 'started' END,
			now() - interval '2 days', now() + make_interval(secs => $3)
		FROM digest, generate_series(1, $2)`,
		uuid.New(), n, expiresIn.Seconds(), finished)
}
