package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// double looks for twice a number up to 1,000.
func double(number any, scan func(pgx.CollectableRow) error) *db.Loader {
	var lookups db.Loader
	lookups.Queue(scan, `SELECT 2 * n FROM generate_series(1, 1000) AS n WHERE n = asked.number`,
		db.Param{Name: "number", Type: "integer", Value: number})
	return &lookups
}

func into(found *int) func(pgx.CollectableRow) error {
	return func(row pgx.CollectableRow) error { return row.Scan(found) }
}

func TestLookUp(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)

	t.Run("GivesEachRequestItsOwnRow", func(t *testing.T) {
		t.Parallel()
		var callers sync.WaitGroup
		for n := range 300 {
			callers.Go(func() {
				var found int
				if err := database.Load(t.Context(), double(n, into(&found))); err != nil || found != 2*n {
					t.Errorf("looked up %d: %d, %v, want %d", n, found, err, 2*n)
				}
			})
		}
		callers.Wait()
	})

	t.Run("AnswersAllQuestionsOfARequest", func(t *testing.T) {
		t.Parallel()
		var first, second, third int
		lookups := double(1, into(&first))
		lookups.Queue(into(&second), `SELECT asked.a + asked.b`,
			db.Param{Name: "a", Type: "bigint", Value: 2}, db.Param{Name: "b", Type: "bigint", Value: 3})
		lookups.Queue(into(&third), `SELECT asked.a + asked.b`,
			db.Param{Name: "a", Type: "bigint", Value: 4}, db.Param{Name: "b", Type: "bigint", Value: 5})
		if err := database.Load(t.Context(), lookups); err != nil || first != 2 || second != 5 || third != 9 {
			t.Errorf("found %d, %d, %d, %v, want 2, 5, 9", first, second, third, err)
		}
	})

	t.Run("ScansNothingWhereThereIsNoRow", func(t *testing.T) {
		t.Parallel()
		err := database.Load(t.Context(), double(1001, func(pgx.CollectableRow) error {
			t.Error("scanned a row that is not there")
			return nil
		}))
		if err != nil {
			t.Errorf("err = %v, want none", err)
		}
	})

	t.Run("KeepsOneRequestsTroubleFromTheOthers", func(t *testing.T) {
		t.Parallel()
		refused := errors.New("refused")
		var callers sync.WaitGroup
		for n := range 200 {
			callers.Go(func() {
				var found int
				switch n % 10 {
				case 3:
					if err := database.Load(t.Context(), double(1<<40, into(&found))); err == nil {
						t.Error("looked up a number that is no integer")
					}
				case 7:
					err := database.Load(t.Context(), double(7, func(pgx.CollectableRow) error { return refused }))
					if !errors.Is(err, refused) {
						t.Errorf("err = %v, want that of the scan", err)
					}
				default:
					if err := database.Load(t.Context(), double(n, into(&found))); err != nil || found != 2*n {
						t.Errorf("looked up %d: %d, %v, want %d", n, found, err, 2*n)
					}
				}
			})
		}
		callers.Wait()
	})

	t.Run("GoesOnForTheOthersWhenOneHasGone", func(t *testing.T) {
		t.Parallel()
		gone, leave := context.WithCancel(t.Context())
		leave()
		var callers sync.WaitGroup
		for n := range 200 {
			callers.Go(func() {
				var found int
				if err := database.Load(t.Context(), double(n, into(&found))); err != nil || found != 2*n {
					t.Errorf("looked up %d: %d, %v, want %d", n, found, err, 2*n)
				}
			})
			callers.Go(func() {
				// It may be answered all the same.
				_ = database.Load(gone, double(n, func(pgx.CollectableRow) error { return nil }))
			})
		}
		callers.Wait()
	})
}
