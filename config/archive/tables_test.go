package archive

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// A table whose rows nobody moves would be lost with a move.
func TestEveryTableIsArchivedOrLeftOut(t *testing.T) {
	t.Parallel()
	rows, err := coretest.OpenDatabase(t).Pool.Query(t.Context(), `SELECT table_name::text
		FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'org_id'`)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	got := slices.Collect(maps.Keys(leftOut()))
	for _, table := range tables() {
		got = append(got, table.name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables of archives and those left out (-with rows of organizations +got), "+
			"want each in tables or leftOut:\n%s", diff)
	}
}
