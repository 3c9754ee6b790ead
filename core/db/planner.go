package db

import "strings"

// The planner's settings of the product's sessions. A plan is kept by its session, and it may be made while a table is
// empty: then reading the table costs nothing. So a table is read through its indexes, and in their order: a bitmap
// loses the order, and sorts all rows of an organization to find the first
// (docs/adr/0013-plans-without-statistics.md).
//
// A plan that has no other way than a disabled one has a huge cost, for which PostgreSQL would compile it.
const (
	plannerOfSession = `SELECT set_config('enable_seqscan', 'off', false),
		set_config('enable_bitmapscan', 'off', false), set_config('jit', 'off', false)`
	plannerOfTransaction = `SELECT set_config('enable_seqscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)`
)

// SameRow is the condition of a join that finds one row of a large table, such as SameRow("r.id", "a.run_id") for the
// run r of the row a, in the same organization. It means r.org_id = a.org_id AND r.id = a.run_id. Written like this,
// the primary key takes it and no hash or merge join does, so the planner cannot begin with all rows of the large
// table.
func SameRow(id, named string) string {
	row, _, _ := strings.Cut(id, ".")
	from, _, _ := strings.Cut(named, ".")
	return row + ".org_id = ANY (ARRAY[" + from + ".org_id]) AND " + id + " BETWEEN " + named + " AND " + named
}
