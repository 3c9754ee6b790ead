package program

import (
	"strings"
	"testing"

	"github.com/google/uuid"

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

// RowsOf counts the rows of an organization in each table that has some.
func RowsOf(tb testing.TB, database *db.DB, org uuid.UUID) map[string]int {
	tb.Helper()
	found := make(map[string]int)
	for _, table := range OrganizationTables(tb, database) {
		if n := Count(tb, database, "SELECT count(*) FROM "+table+" WHERE org_id = $1", org); n > 0 {
			found[table] = n
		}
	}
	return found
}

// OrganizationTables lists the tables whose rows belong to organizations.
func OrganizationTables(tb testing.TB, database *db.DB) []string {
	tb.Helper()
	var names string
	err := database.Pool.QueryRow(tb.Context(), `SELECT string_agg(table_name, ' ' ORDER BY table_name)
		FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'org_id'`).Scan(&names)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Fields(names)
}
