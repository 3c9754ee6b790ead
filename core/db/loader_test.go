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

// double looks up twice a number up to 1,000.
func double(
	number any, scan func(pgx.CollectableRow) (int, error),
) (*db.Loader, *db.Future[*int]) {
	loader := new(db.Loader)
	found := db.Lookup(loader, scan, `SELECT 2 * n FROM generate_series(1, 1000) AS n WHERE n = asked.number`,
		db.Param{Name: "number", Type: "integer", Value: number})
	return loader, found
}

// sum looks up the sum of two numbers.
func sum(loader *db.Loader, a, b int) *db.Future[*int] {
	return db.Lookup(loader, pgx.RowTo[int], `SELECT asked.a + asked.b`,
		db.Param{Name: "a", Type: "integer", Value: a}, db.Param{Name: "b", Type: "integer", Value: b})
}

func wantFound(tb testing.TB, future *db.Future[*int], want int) {
	tb.Helper()
	if found, err := future.Get(); err != nil || found == nil || *found != want {
		tb.Errorf("found = %v, %v, want %d", found, err, want)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	load := func(ctx context.Context, n int) error {
		loader, found := double(n, pgx.RowTo[int])
		err := database.Load(ctx, loader)
		if err == nil {
			wantFound(t, found, 2*n)
		}
		return err
	}

	t.Run("GivesEachRequestItsOwnRow", func(t *testing.T) {
		t.Parallel()
		var callers sync.WaitGroup
		for n := 1; n <= 300; n++ {
			callers.Go(func() {
				if err := load(t.Context(), n); err != nil {
					t.Errorf("look %d up: %v", n, err)
				}
			})
		}
		callers.Wait()
	})

	t.Run("AnswersAllQuestionsOfARequest", func(t *testing.T) {
		t.Parallel()
		loader, first := double(1, pgx.RowTo[int])
		second, third := sum(loader, 2, 3), sum(loader, 4, 5)
		if err := database.Load(t.Context(), loader); err != nil {
			t.Fatal(err)
		}
		wantFound(t, first, 2)
		wantFound(t, second, 5)
		wantFound(t, third, 9)
	})

	t.Run("FindsWhatAParameterStandsFor", func(t *testing.T) {
		t.Parallel()
		loader := new(db.Loader)
		both := make([]*db.Future[*int], 0, 2)
		for _, query := range []string{"", "SELECT 10 * given.a"} {
			both = append(both, db.Lookup(loader, pgx.RowTo[int], `SELECT asked.a + asked.b`,
				db.Param{Name: "a", Type: "integer", Value: 2, Query: query},
				db.Param{Name: "b", Type: "integer", Value: 3}))
		}
		if err := database.Load(t.Context(), loader); err != nil {
			t.Fatal(err)
		}
		wantFound(t, both[0], 5)
		wantFound(t, both[1], 23)
	})

	t.Run("FindsNilWhereThereIsNoRow", func(t *testing.T) {
		t.Parallel()
		loader, future := double(1001, func(pgx.CollectableRow) (int, error) {
			t.Error("scanned a row that is not there")
			return 0, nil
		})
		if err := database.Load(t.Context(), loader); err != nil {
			t.Fatal(err)
		}
		if found, err := future.Get(); found != nil || err != nil {
			t.Errorf("found = %v, %v, want nil", found, err)
		}
	})

	t.Run("RefusesToTellWhatWasNotLoaded", func(t *testing.T) {
		t.Parallel()
		_, future := double(1, pgx.RowTo[int])
		if found, err := future.Get(); err == nil {
			t.Errorf("found = %v before it was loaded, want an error", found)
		}
	})

	t.Run("KeepsOneRequestsTroubleFromTheOthers", func(t *testing.T) {
		t.Parallel()
		refused := errors.New("refused")
		var callers sync.WaitGroup
		for n := 1; n <= 200; n++ {
			callers.Go(func() {
				switch n % 10 {
				case 3:
					loader, _ := double(1<<40, pgx.RowTo[int])
					if err := database.Load(t.Context(), loader); err == nil {
						t.Error("looked up a number that is not an integer")
					}
				case 7:
					loader, _ := double(7, func(pgx.CollectableRow) (int, error) { return 0, refused })
					if err := database.Load(t.Context(), loader); !errors.Is(err, refused) {
						t.Errorf("err = %v, want that of the scan", err)
					}
				default:
					if err := load(t.Context(), n); err != nil {
						t.Errorf("look %d up: %v", n, err)
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
		for n := 1; n <= 200; n++ {
			callers.Go(func() {
				if err := load(t.Context(), n); err != nil {
					t.Errorf("look %d up: %v", n, err)
				}
			})
			callers.Go(func() {
				// It may be answered all the same.
				_ = load(gone, n)
			})
		}
		callers.Wait()
	})
}
