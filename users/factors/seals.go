package factors

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

// resealedRows is how many rows one transaction encrypts anew.
const resealedRows = 100

// UsedKeys counts the second factors by the key of the installation that they are encrypted under.
func UsedKeys(ctx context.Context, database *db.DB) (map[keyring.ID]int, error) {
	var counted []struct {
		Key     []byte
		Secrets int
	}
	err := database.Gorm.WithContext(ctx).Table("second_factors").Group("key").
		Select("substring(sealed FOR ?) AS key, count(*) AS secrets", keyring.IDBytes).Find(&counted).Error
	if err != nil {
		return nil, fmt.Errorf("look for the keys of second factors: %w", err)
	}
	used := make(map[keyring.ID]int, len(counted))
	for _, found := range counted {
		used[keyring.ID(found.Key)] = found.Secrets
	}
	return used, nil
}

// Reseal re-encrypts all secrets of users that are under another key than the first of the ring, and returns how many.
// It may be stopped at any time, and continues when it is called again.
func (s *Service) Reseal(ctx context.Context) (int, error) {
	total := 0
	for table, id := range map[string]string{"second_factors": "user_id", "mails": "id"} {
		for n := 1; n > 0; total += n {
			var err error
			if n, err = s.resealBatch(ctx, table, id); err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

// resealBatch encrypts some secrets in the column sealed of a table anew.
func (s *Service) resealBatch(ctx context.Context, table, id string) (int, error) {
	ids := s.keys.IDs()
	if len(ids) == 0 {
		return 0, keyring.ErrNoKey
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (int, error) {
		var found []struct {
			ID     uuid.UUID
			Sealed []byte
		}
		err := tx.Gorm(ctx).Table(table).Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).
			Select(id+" AS id, sealed").Where("substring(sealed FOR ?) <> ?", keyring.IDBytes, ids[0][:]).
			Order(id).Limit(resealedRows).Find(&found).Error
		if err != nil {
			return 0, fmt.Errorf("look for secrets under other keys in %s: %w", table, err)
		}
		for _, row := range found {
			sealed, err := s.keys.Reseal(row.Sealed, keyring.Binding{OrgID: row.ID, Column: table + ".sealed"})
			if err != nil {
				return 0, fmt.Errorf("encrypt a secret of %s anew: %w", table, err)
			}
			err = tx.Gorm(ctx).Table(table).Where(id+" = ?", row.ID).Update("sealed", sealed).Error
			if err != nil {
				return 0, fmt.Errorf("store a secret of %s: %w", table, err)
			}
		}
		return len(found), nil
	})
}
