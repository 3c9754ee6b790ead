package coretest

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// OpenDatabase returns a new migrated database for this test alone, with short time limits.
func OpenDatabase(tb testing.TB) *core.DB {
	tb.Helper()
	return Connect(tb, DatabaseURL(tb))
}

// Connect opens one more pool on a test's database, as another process would.
func Connect(tb testing.TB, address string) *core.DB {
	tb.Helper()
	db, err := core.OpenDatabase(tb.Context(), core.DatabaseConfig{
		URL: address, MaxConns: 8, LockTimeout: 2 * time.Second, StatementTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second,
	})
	if err != nil {
		tb.Fatalf("open database: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close database: %v", err)
		}
	})
	return db
}
