package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestCheck(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		// change is done to the rows of a start that is whole.
		change string
		want   string
	}{
		"WholeStart":  {change: "SELECT 1"},
		"KeyIsGone":   {change: "DELETE FROM idempotency_keys", want: "1 runs, 0 keys, 1 used, 1 strays"},
		"NotCharged":  {change: "UPDATE usage_counters SET used = 0", want: "1 runs, 1 keys, 0 used"},
		"RunOfNobody": {change: "UPDATE validation_runs SET source = 'CLI'", want: "acknowledged 1 of its 0 runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := seeded(t)
			insertStart(t, s.db)
			s.tenants[0].acknowledged.Add(1)
			if _, err := s.db.Exec(t.Context(), tt.change); err != nil {
				t.Fatalf("change rows: %v", err)
			}
			err := s.check(t.Context())
			if tt.want == "" && err != nil {
				t.Errorf("error = %v, want none", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func seeded(t *testing.T) service {
	t.Helper()
	db, err := pgx.Connect(t.Context(), coretest.DatabaseURL(t))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = db.Close(t.Context()) }) // The database is dropped next.
	// The second time finds what a killed benchmark would leave.
	for range 2 {
		if err := samplesOf(t).seed(t.Context(), db); err != nil {
			t.Fatalf("seed: %v", err)
		}
	}
	return service{db: db, tenants: samplesOf(t).newTenants()}
}

// insertStart writes one start of the first organization.
func insertStart(t *testing.T, db *pgx.Conn) {
	t.Helper()
	const statement = `
		WITH k AS (
			INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
				request_hash, target_digest, content_digest, options_digest, request_id, validation_run_id,
				recovery_point, created_at, expires_at)
			VALUES ($1, gen_random_uuid(), 'k', 'workflow_start', 'POST', '/', 1, sha256('1'), sha256('2'), sha256('3'),
				sha256('4'), 'r', gen_random_uuid(), 'started', now(), now() + interval '1 hour')
			RETURNING org_id, id, validation_run_id
		), c AS (
			INSERT INTO usage_counters (org_id, metric, period_start, used) VALUES ($1, 'runs', '2026-03-01', 1)
		), s AS (
			INSERT INTO submissions (org_id, id, media_type, size, sha256)
			VALUES ($1, gen_random_uuid(), 'text/csv', 0, sha256('')) RETURNING id
		)
		INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
			submission_id, source, usage_metric, usage_period, idempotency_key_id, request_id, sweep_after)
		SELECT k.org_id, k.validation_run_id, $2, 1, '', '', s.id, 'API', 'runs', '2026-03-01', k.id, 'r', now()
		FROM k, s`
	if _, err := db.Exec(t.Context(), statement, orgID(1), workflowPrefix+numbered(1)); err != nil {
		t.Fatalf("insert start: %v", err)
	}
}
