package db

import (
	"github.com/google/uuid"
)

// grantedSetting holds the ids of what the current transaction may still do, as an array. It belongs to the
// transaction, so it also works behind a transaction pooler, and needs neither a definition nor a right.
const grantedSetting = `'simplevalidations.granted'`

// Granted is the SQL expression of the ids that Grant has named and no statement has taken away since: the statements
// behind insert only what is granted. So a transaction whose statements depend on each other travels in one message
// and never has to fail. The sub-select is evaluated once for each statement.
const Granted = `(SELECT current_setting(` + grantedSetting + `)::uuid[])::uuid[]`

// Grant names what the statements of the batch may do. It comes before all statements that use Granted.
func Grant(batch *Batch, ids []uuid.UUID) {
	batch.Queue(`SELECT set_config(`+grantedSetting+`, $1::uuid[]::text, true)`,
		IDColumn(ids, func(id *uuid.UUID) *uuid.UUID { return id }))
}

// GrantAllBut returns the SQL expression that takes the ids of a sub-select away from Granted and has what is left as
// its value. A statement evaluates it once.
func GrantAllBut(refused string) string {
	return `set_config(` + grantedSetting + `, coalesce((SELECT array_agg(g.id) FROM unnest(` + Granted + `) AS g (id)
		WHERE g.id NOT IN (` + refused + `))::text, '{}'), true)::uuid[]`
}
