package db_test

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

func TestSessionsReadTablesByIndex(t *testing.T) {
	t.Parallel()
	for name, pooled := range map[string]bool{"Direct": false, "BehindAPooler": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, err := db.Open(t.Context(), db.Config{
				URL: coretest.DatabaseURL(t), MaxConns: 2, Pooled: pooled,
				LockTimeout: time.Minute, StatementTimeout: time.Minute, IdleTimeout: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = database.Close() }) // Nothing is lost with it.
			const query = `SELECT current_setting('enable_seqscan') || current_setting('enable_bitmapscan') ||
				current_setting('jit')`
			_, err = db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
				var settings string
				err := tx.QueryRow(t.Context(), query).Scan(&settings)
				if settings != "offoffoff" {
					t.Errorf("settings of a transaction = %s, want all off", settings)
				}
				return 0, err
			})
			if err != nil {
				t.Fatal(err)
			}
			// A pooler gives the session to others, who must not find it changed.
			if settings := coretest.One[string](t, database, query); pooled == (settings == "offoffoff") {
				t.Errorf("settings of the session = %s, want them off only without a pooler", settings)
			}
		})
	}
}
