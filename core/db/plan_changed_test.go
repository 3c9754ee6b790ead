package db_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

type grown struct {
	ID   int
	Name string
}

func (grown) TableName() string { return "grown" }

// A migration changes a table under a process whose connections have prepared their statements.
func TestPlanChanges(t *testing.T) {
	t.Parallel()

	readers := map[string]func(ctx context.Context, database *db.DB) (string, error){
		"Transaction": func(ctx context.Context, database *db.DB) (string, error) {
			return db.InTx(ctx, database, func(tx db.Tx) (string, error) {
				var name string
				err := tx.QueryRow(ctx, `SELECT name FROM grown`).Scan(&name)
				return name, err
			})
		},
		"Batch": func(ctx context.Context, database *db.DB) (string, error) {
			future, err := db.InBatch(ctx, database, func(batch *db.Batch) *db.Future[string] {
				return db.QueueInto(batch, func(rows pgx.Rows) (string, error) {
					return pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
				}, `SELECT name FROM grown`)
			})
			if err != nil {
				return "", err
			}
			return future.Get()
		},
		"Loader": func(ctx context.Context, database *db.DB) (string, error) {
			loader := &db.Loader{}
			found := db.Lookup(loader, pgx.RowTo[string], `SELECT name FROM grown WHERE id = asked.id`,
				db.Param{Name: "id", Type: "integer", Value: 1})
			if err := database.Load(ctx, loader); err != nil {
				return "", err
			}
			name, err := found.Get()
			return *name, err
		},
	}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := coretest.OpenDatabase(t)
			address := database.Pool.Config().ConnString()
			coretest.Prepare(t, address, `CREATE TABLE grown (id integer, name varchar(10))`)
			coretest.Prepare(t, address, `INSERT INTO grown VALUES (1, 'one')`)
			for _, change := range []string{"varchar(20)", "text", "varchar(30)"} {
				if got, err := read(t.Context(), database); err != nil || got != "one" {
					t.Errorf("before the column is a %s: %q, %v", change, got, err)
				}
				coretest.Prepare(t, address, `ALTER TABLE grown ALTER name TYPE `+change)
				if got, err := read(t.Context(), database); err != nil || got != "one" {
					t.Errorf("the column is a %s: %q, %v", change, got, err)
				}
			}
		})
	}
}

func TestModelsNameTheirColumns(t *testing.T) {
	t.Parallel()

	database := coretest.OpenDatabase(t)
	address := database.Pool.Config().ConnString()
	coretest.Prepare(t, address, `CREATE TABLE grown (id integer, name text)`)
	coretest.Prepare(t, address, `INSERT INTO grown VALUES (1, 'one')`)
	for _, column := range []string{"first", "second"} {
		model, err := gorm.G[grown](database.Gorm).Where("id = ?", 1).Take(t.Context())
		if err != nil || model.Name != "one" {
			t.Errorf("before the column %s: %v, %v", column, model, err)
		}
		coretest.Prepare(t, address, `ALTER TABLE grown ADD COLUMN `+column+` integer`)
		model, err = gorm.G[grown](database.Gorm).Where("id = ?", 1).Take(t.Context())
		if err != nil || model.Name != "one" {
			t.Errorf("with the column %s: %v, %v", column, model, err)
		}
	}
}
