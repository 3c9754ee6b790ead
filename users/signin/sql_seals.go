package signin

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

// resealedRows is how many rows one transaction encrypts anew.
const resealedRows = 100

// sealedColumn is a table of this app with a column sealed.
type sealedColumn struct {
	table, id, place string
}

func sealedColumns() []sealedColumn {
	return []sealedColumn{
		{table: "second_factors", id: "user_id", place: factorSeal}, {table: "mails", id: "id", place: mails.Seal},
	}
}

// KeyUse says under which keys of the installation the secrets of users are encrypted.
type KeyUse struct {
	// Unknown are the ids of keys that the ring does not have: what they have encrypted cannot be read.
	Unknown []string
	// Outdated counts the secrets that are not encrypted under the first key.
	Outdated int
}

// CheckKeys returns which keys are in use, compared with those of the ring. Mails that wait do not count: they are few,
// and deleted after three days.
func CheckKeys(ctx context.Context, database *db.DB, ring keyring.Ring) (KeyUse, error) {
	rows, err := database.Pool.Query(ctx, `SELECT substring(sealed FOR $1), count(*) FROM second_factors GROUP BY 1`,
		keyring.IDBytes)
	if err != nil {
		return KeyUse{}, fmt.Errorf("look for the keys of second factors: %w", err)
	}
	var use KeyUse
	known := ring.IDs()
	var raw []byte
	var secrets int
	_, err = pgx.ForEachRow(rows, []any{&raw, &secrets}, func() error {
		id := keyring.ID(raw)
		if !slices.Contains(known, id) {
			use.Unknown = append(use.Unknown, id.String())
		}
		if len(known) == 0 || id != known[0] {
			use.Outdated += secrets
		}
		return nil
	})
	if err != nil {
		return KeyUse{}, fmt.Errorf("look for the keys of second factors: %w", err)
	}
	slices.Sort(use.Unknown)
	return use, nil
}

// Reseal re-encrypts all secrets of users that are under another key than the first of the ring, and returns how many.
// It may be stopped at any time, and continues when it is called again.
func (s *Service) Reseal(ctx context.Context) (int, error) {
	total := 0
	for _, column := range sealedColumns() {
		for {
			n, err := s.resealBatch(ctx, column)
			total += n
			if err != nil {
				return total, err
			}
			if n == 0 {
				break
			}
		}
	}
	return total, nil
}

func (s *Service) resealBatch(ctx context.Context, column sealedColumn) (int, error) {
	ids := s.cfg.Keys.IDs()
	if len(ids) == 0 {
		return 0, keyring.ErrNoKey
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (int, error) {
		rows, err := tx.Query(ctx, fmt.Sprintf(`SELECT %s, sealed FROM %s
			WHERE substring(sealed FOR $2) <> $1 ORDER BY 1 LIMIT $3 FOR UPDATE`, column.id, column.table),
			ids[0][:], keyring.IDBytes, resealedRows)
		if err != nil {
			return 0, fmt.Errorf("look for secrets under other keys in %s: %w", column.table, err)
		}
		type sealedRow struct {
			ID     uuid.UUID
			Sealed []byte
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[sealedRow])
		if err != nil {
			return 0, fmt.Errorf("look for secrets under other keys in %s: %w", column.table, err)
		}
		batch := tx.NewBatch()
		for _, row := range found {
			place := keyring.Binding{OrgID: row.ID, Column: column.place}
			secret, err := s.cfg.Keys.Open(row.Sealed, place)
			if err != nil {
				return 0, fmt.Errorf("decrypt a secret of %s: %w", column.table, err)
			}
			sealed, err := s.cfg.Keys.Seal(secret, place)
			if err != nil {
				return 0, fmt.Errorf("encrypt a secret of %s: %w", column.table, err)
			}
			batch.Queue(fmt.Sprintf(`UPDATE %s SET sealed = $2 WHERE %s = $1`, column.table, column.id), row.ID, sealed)
		}
		return len(found), batch.Send(ctx)
	})
}
