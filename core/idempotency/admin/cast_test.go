package admin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// newClaim claims the key for a request that is its content and creates nothing.
func newClaim(org uuid.UUID, key, content string) idempotency.Claim {
	return idempotency.Claim{
		ID: uuid.Must(uuid.NewV7()), Identity: idempotency.Identity{OrgID: org, Endpoint: "test", Key: key},
		Fingerprint: idempotency.Request{
			Method: http.MethodPost, Endpoint: "test", Content: idempotency.DigestBytes([]byte(content)),
		}.Fingerprint(),
		Caller:   idempotency.Caller{Method: http.MethodPost, Path: "/", RequestID: "request-" + content},
		Lifetime: time.Hour, Point: idempotency.PointFinished,
		Response: idempotency.Response{Status: http.StatusCreated, Body: []byte(content)},
	}
}

func mustClaim(t *testing.T, database *db.DB, claim idempotency.Claim) uuid.UUID {
	t.Helper()
	result, err := db.InTx(t.Context(), database, func(tx db.Tx) (idempotency.ClaimResult, error) {
		return idempotency.ClaimKey(t.Context(), tx, claim)
	})
	if err != nil || !result.Claimed {
		t.Fatalf("claim = %+v, %v, want claimed", result, err)
	}
	return claim.ID
}

func mustExec(tb testing.TB, database *db.DB, statement string, args ...any) {
	tb.Helper()
	if _, err := database.Pool.Exec(tb.Context(), statement, args...); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

func expire(t *testing.T, database *db.DB, key string) {
	t.Helper()
	mustExec(t, database, `UPDATE idempotency_keys SET created_at = now() - interval '2 days',
		expires_at = now() - interval '1 second' WHERE key = $1`, key)
}

// openSingle opens a pool of one connection, so that a test can ask the session of a query what it has read.
func openSingle(tb testing.TB) *db.DB {
	tb.Helper()
	database, err := db.Open(tb.Context(), db.Config{
		URL: coretest.DatabaseURL(tb), MaxConns: 1,
		LockTimeout: 2 * time.Second, StatementTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	if err != nil {
		tb.Fatalf("open database: %v", err)
	}
	tb.Cleanup(func() {
		if err := database.Close(); err != nil {
			tb.Errorf("close database: %v", err)
		}
	})
	return database
}

func insertKeys(tb testing.TB, database *db.DB, n int, expiresIn time.Duration) {
	tb.Helper()
	coretest.InsertKeys(tb, database.Pool.Config().ConnString(), n, expiresIn, true)
}

// rowsRead counts the rows of keys and of their activity that were read until now.
func rowsRead(tb testing.TB, database *db.DB) int64 {
	tb.Helper()
	mustExec(tb, database, `SELECT pg_stat_force_next_flush()`)
	var n int64
	err := database.Pool.QueryRow(tb.Context(), `
		SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
		WHERE relname IN ('idempotency_keys', 'key_activity')`).Scan(&n)
	if err != nil {
		tb.Fatalf("read statistics: %v", err)
	}
	return n
}

func checkCode(t *testing.T, err error, want api.Code) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("err = %v, want none", err)
		}
		return
	}
	if got := core.AsError(err).Code; err == nil || got != want {
		t.Errorf("err = %v, want code %s", err, want)
	}
}
