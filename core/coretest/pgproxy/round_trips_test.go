package pgproxy_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, tt := range map[string]struct {
		ask  func(tx db.Tx, last *db.Batch) error
		want int64
	}{
		"Nothing": {func(db.Tx, *db.Batch) error { return nil }, 2},
		"AStatement": {func(tx db.Tx, _ *db.Batch) error {
			_, err := tx.Exec(t.Context(), "SELECT 1", pgx.QueryExecModeExec)
			return err
		}, 3},
		"WithTheCommit": {func(_ db.Tx, last *db.Batch) error {
			last.Queue(insertNote)
			last.Queue(insertNote)
			return nil
		}, 2},
	} {
		run := func() {
			_, err := db.InPipeline(t.Context(), b.through, func(*db.Batch) struct{} { return struct{}{} },
				func(tx db.Tx, _ struct{}, last *db.Batch) (struct{}, error) { return struct{}{}, tt.ask(tx, last) })
			if err != nil {
				t.Fatal(err)
			}
		}
		run() // The first time the statements are prepared.
		before := b.proxy.RoundTrips()
		run()
		if got := b.proxy.RoundTrips() - before; got != tt.want {
			t.Errorf("%s: %d round trips, want %d", name, got, tt.want)
		}
	}
}
