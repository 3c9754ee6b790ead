package coretest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// Row is a row as PostgreSQL writes it, by the names of its columns: "t" is true, and NULL is "NULL".
type Row map[string]string

// WantRow fails the test unless a query returns exactly one row, which is the wanted one.
func WantRow(tb testing.TB, database *db.DB, want Row, query string, args ...any) {
	tb.Helper()
	inText := append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, args...)
	rows, err := database.Pool.Query(tb.Context(), query, inText...)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	got, err := pgx.CollectExactlyOneRow(rows, readRow)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", query, diff)
	}
}

func readRow(read pgx.CollectableRow) (Row, error) {
	row := Row{}
	for i, value := range read.RawValues() {
		row[read.FieldDescriptions()[i].Name] = "NULL"
		if value != nil {
			row[read.FieldDescriptions()[i].Name] = string(value)
		}
	}
	return row, nil
}
