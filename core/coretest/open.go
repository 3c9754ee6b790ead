package coretest

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// OpenDatabase returns a new migrated database for this test alone.
func OpenDatabase(tb testing.TB) *db.DB {
	tb.Helper()
	return Connect(tb, DatabaseURL(tb))
}

// Connect opens one more pool on a test's database, as another process would. Its time limits fail no statement that is
// slow because the machine is busy.
func Connect(tb testing.TB, address string) *db.DB {
	tb.Helper()
	return ConnectWithin(tb, address, statementPatience)
}

// statementPatience is above what any statement of a test takes.
const statementPatience = 10 * time.Minute

// ConnectWithin is Connect for a test in which a statement gives up waiting for a lock.
func ConnectWithin(tb testing.TB, address string, lockTimeout time.Duration) *db.DB {
	tb.Helper()
	database, err := db.Open(tb.Context(), db.Config{
		URL: address, MaxConns: 8,
		LockTimeout: lockTimeout, StatementTimeout: statementPatience, IdleTimeout: statementPatience,
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
