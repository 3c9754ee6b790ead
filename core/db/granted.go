package db

import (
	"github.com/google/uuid"
)

// grantedSetting holds the ids of what the current transaction may still do, as an array. It belongs to the
// transaction, so it also works behind a transaction pooler, and needs neither a definition nor a right.
const grantedSetting = `'simplevalidations.granted'`

// Granted is the SQL expression of the ids that are granted: the statements behind insert only these. So a transaction
// whose statements depend on each other travels in one message and never has to fail. The sub-select is evaluated once
// for each statement.
const Granted = `(SELECT current_setting(` + grantedSetting + `)::uuid[])::uuid[]`

// Grant names what the statements of the batch may do. It comes before all statements that use Granted.
func Grant(batch *Batch, ids []uuid.UUID) {
	batch.Queue(`SELECT `+GrantOnly(`$1::uuid[]`), IDs(ids))
}

// GrantOnly returns the SQL expression that grants the ids of an array, and nothing else from then on. It has the array
// as its value. A statement evaluates it once.
func GrantOnly(ids string) string {
	return `set_config(` + grantedSetting + `, (` + ids + `)::text, true)::uuid[]`
}
