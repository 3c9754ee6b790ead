package coretest

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// OpenDatabase returns a new migrated database for this test alone, with short time limits.
func OpenDatabase(tb testing.TB) *db.DB {
	tb.Helper()
	return Connect(tb, DatabaseURL(tb))
}

// Connect opens one more pool on a test's database, as another process would.
func Connect(tb testing.TB, address string) *db.DB {
	tb.Helper()
	return connectWith(tb, db.Config{
		URL: address, LockTimeout: 2 * time.Second, StatementTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
	})
}

// statementPatience is above what any statement of a test takes, also on a busy machine.
const statementPatience = 10 * time.Minute

// ConnectPatiently opens a pool without short time limits, for tests that are about something else. On a busy machine
// the limits of Connect would fail them. Only the wait for locks is given, as some tests need it to be short.
func ConnectPatiently(tb testing.TB, address string, lockTimeout time.Duration) *db.DB {
	tb.Helper()
	return connectWith(tb, db.Config{
		URL: address, LockTimeout: lockTimeout, StatementTimeout: statementPatience, IdleTimeout: statementPatience,
	})
}

func connectWith(tb testing.TB, cfg db.Config) *db.DB {
	tb.Helper()
	cfg.MaxConns = 8
	database, err := db.Open(tb.Context(), cfg)
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
