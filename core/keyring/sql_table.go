package keyring

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// resealedRows is how many rows one transaction encrypts anew.
const resealedRows = 100

// Table is a table with sealed columns.
type Table struct {
	Name string
	// ID is the column with the id that the secrets of a row are bound to.
	ID string
	// Columns are the sealed ones. Those of a row are all under one key, and the first is there if any is.
	Columns []string
	// Action is audited for each row that is encrypted anew, where its ID is that of an organization. It may be empty.
	Action string
}

// Count adds to used how many rows are encrypted under which key.
func (t Table) Count(ctx context.Context, database *db.DB, used map[ID]int) error {
	var id []byte
	var secrets int
	err := db.Each(ctx, database.Pool, []any{&id, &secrets}, func() error {
		used[ID(id)] += secrets
		return nil
	}, fmt.Sprintf(`
		SELECT substring(%s FOR $1), count(*) FROM %s WHERE %[1]s IS NOT NULL GROUP BY 1`,
		t.Columns[0], t.Name), IDBytes)
	if err != nil {
		return fmt.Errorf("count the keys of %s: %w", t.Name, err)
	}
	return nil
}

// Reseal encrypts all rows anew that are not under the first key of the ring, and returns how many. It may be stopped
// at any time, and continues when it is called again.
func (t Table) Reseal(ctx context.Context, database *db.DB, ring Ring) (int, error) {
	if len(ring.keys) == 0 {
		return 0, ErrNoKey
	}
	total := 0
	for {
		n, err := db.InTx(ctx, database, func(tx db.Tx) (int, error) { return t.resealBatch(ctx, tx, ring) })
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// sealedRow is a row of a Table. A column that is NULL is nil.
type sealedRow struct {
	id     uuid.UUID
	sealed [][]byte
}

// resealBatch encrypts some rows. It waits for one that another process has locked, and skips it if that process has
// encrypted it.
func (t Table) resealBatch(ctx context.Context, tx db.Tx, ring Ring) (int, error) {
	found, err := db.All(ctx, tx, func(row pgx.CollectableRow) (sealedRow, error) {
		var r sealedRow
		return r, row.Scan(&r.id, &r.sealed)
	}, fmt.Sprintf(`
		SELECT %s, ARRAY[%s] FROM %s WHERE substring(%s FOR $2) <> $1 ORDER BY %[1]s LIMIT $3 FOR UPDATE`,
		t.ID, strings.Join(t.Columns, ", "), t.Name, t.Columns[0]), ring.keys[0].id[:], IDBytes, resealedRows)
	if err != nil {
		return 0, fmt.Errorf("look for secrets under other keys in %s: %w", t.Name, err)
	}
	batch := tx.NewBatch()
	for _, row := range found {
		if err := t.queueRow(batch, ring, row); err != nil {
			return 0, err
		}
	}
	return len(found), batch.Send(ctx)
}

func (t Table) queueRow(batch *db.Batch, ring Ring, row sealedRow) error {
	var changes []string
	arguments := []any{row.id}
	for i, column := range t.Columns {
		if row.sealed[i] == nil {
			continue
		}
		binding := Binding{OrgID: row.id, Column: t.Name + "." + column}
		secret, err := ring.Open(row.sealed[i], binding)
		if err != nil {
			return fmt.Errorf("open a secret of %s: %w", t.Name, err)
		}
		sealed, err := ring.Seal(secret, binding)
		if err != nil {
			return fmt.Errorf("encrypt a secret of %s anew: %w", t.Name, err)
		}
		arguments = append(arguments, sealed)
		changes = append(changes, fmt.Sprintf("%s = $%d", column, len(arguments)))
	}
	batch.Queue(fmt.Sprintf(`UPDATE %s SET %s WHERE %s = $1`, t.Name, strings.Join(changes, ", "), t.ID), arguments...)
	if t.Action == "" {
		return nil
	}
	core.Audit(batch, core.AuditRecord{
		OrgID: row.id, Action: t.Action, TargetType: "organization", TargetID: row.id.String(),
	})
	return nil
}
