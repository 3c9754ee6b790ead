package db_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

func TestReads(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	const query = `SELECT n FROM generate_series(1, $1::int) AS n ORDER BY n`

	t.Run("CollectTheRowsOfEachLookUp", func(t *testing.T) {
		t.Parallel()
		var reads db.Reads
		var all, none []int
		var one int
		reads.Queue(db.AllInto(&all, pgx.RowTo[int]), query, 3)
		reads.Queue(db.AllInto(&none, pgx.RowTo[int]), query, 0)
		reads.Queue(db.OneInto(&one, pgx.RowTo[int]), query, 1)
		if err := database.Read(t.Context(), &reads); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(all, []int{1, 2, 3}) || len(none) != 0 || one != 1 {
			t.Errorf("found %v, %v and %d, want 1 to 3, nothing and 1", all, none, one)
		}
	})

	for rows, want := range map[int]error{0: pgx.ErrNoRows, 2: pgx.ErrTooManyRows} {
		t.Run("EndWhereOneRowIsNotThere:"+want.Error(), func(t *testing.T) {
			t.Parallel()
			var reads db.Reads
			var one, next int
			reads.Queue(db.OneInto(&one, pgx.RowTo[int]), query, rows)
			reads.Queue(db.OneInto(&next, pgx.RowTo[int]), query, 1)
			if err := database.Read(t.Context(), &reads); !errors.Is(err, want) {
				t.Errorf("err = %v, want %v", err, want)
			}
			if next != 0 {
				t.Errorf("the next look-up found %d, want it not read", next)
			}
		})
	}
}
