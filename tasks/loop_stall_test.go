package tasks_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// TestLoopGoesOnAfterAStalledCommit lets the answer to a loop's commit never come.
func TestLoopGoesOnAfterAStalledCommit(t *testing.T) {
	t.Parallel()
	proxy := pgproxy.Start(t, coretest.DatabaseURL(t))
	database, err := db.Open(t.Context(), db.Config{
		URL: proxy.URL(), MaxConns: 2, LockTimeout: time.Second, StatementTimeout: 100 * time.Millisecond,
		IdleTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() }) // One of its connections leads nowhere.
	var commits atomic.Int64
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	proxy.Watch(func(pgproxy.Commit) pgproxy.Fault {
		if commits.Add(1) == 1 {
			return pgproxy.Fault{After: func() { <-over }}
		}
		return pgproxy.Fault{}
	})
	startLoop(t, "stalled", 10*time.Millisecond, func(ctx context.Context) (int, error) {
		return db.InTx(ctx, database, func(tx db.Tx) (int, error) {
			_, err := tx.Exec(ctx, `INSERT INTO job_ticks (job, tick) VALUES ('stalled', clock_timestamp())`)
			return 0, err
		})
	})
	coretest.Eventually(t, func() bool { return commits.Load() > 3 })
}
