package commands_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/users/commands"
)

// A table that names users is a part of what is kept about them.
func TestExportOfAUserReadsEveryTable(t *testing.T) {
	t.Parallel()
	rows, err := coretest.OpenDatabase(t).Pool.Query(t.Context(), `SELECT table_name::text
		FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'user_id'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		if !slices.Contains(commands.UserTables(), table) {
			t.Errorf("the export of a user does not read %s", table)
		}
	}
}
