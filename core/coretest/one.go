package coretest

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// One reads the one value that a query returns and fails the test when there is not exactly one.
func One[T any](tb testing.TB, database *db.DB, query string, args ...any) T {
	tb.Helper()
	rows, err := database.Pool.Query(tb.Context(), query, args...)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return value
}
