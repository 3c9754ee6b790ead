package program

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// Count runs a query for one number.
func Count(tb testing.TB, database *db.DB, query string, args ...any) int {
	tb.Helper()
	var n int
	if err := database.Pool.QueryRow(tb.Context(), query, args...).Scan(&n); err != nil {
		tb.Fatalf("count by %s: %v", query, err)
	}
	return n
}

// Change runs a statement that has to change rows.
func Change(tb testing.TB, database *db.DB, statement string, args ...any) {
	tb.Helper()
	tag, err := database.Pool.Exec(tb.Context(), statement, args...)
	if err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
	if tag.RowsAffected() == 0 {
		tb.Fatalf("%s changed nothing", statement)
	}
}
