package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// TestCommitIsNeverCanceled gives up commits of every kind while they wait for a standby that is away. The server has
// to wait on, because it would show what no standby has.
func TestCommitIsNeverCanceled(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for _, statement := range []string{
		"CREATE TABLE job_ticks (job text, tick timestamptz)",
		"ALTER ROLE app SET synchronous_commit = on",
		"ALTER ROLE app SET log_min_messages = warning", // The server warns when it gives up a wait.
		"ALTER SYSTEM SET synchronous_standby_names = 'away'",
		"SELECT pg_reload_conf()",
	} {
		coretest.Prepare(t, server.URL(), statement)
	}
	observer := coretest.Connect(t, server.URL())
	await(t, observer, `SELECT current_setting('synchronous_standby_names') = 'away'`)
	database := coretest.Connect(t, server.URL())
	commits := commitsOfEachKind(database)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	results := make(map[string]chan error)
	for kind, commit := range commits {
		result := make(chan error, 1)
		results[kind] = result
		go func() { result <- commit(ctx, kind) }()
	}
	const waiting = `SELECT count(*) = $1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
	await(t, observer, waiting, len(commits))
	giveUp()
	for kind, result := range results {
		err := <-result
		isSingle := strings.HasPrefix(kind, "statement")
		if err == nil || !isSingle && !errors.Is(err, db.ErrOutcomeUnknown) {
			t.Errorf("%s = %v, want an unknown outcome", kind, err)
		}
		if n := ticks(t, observer, kind); n != 0 {
			t.Errorf("rows of a %s that no standby has = %d, want none to be seen", kind, n)
		}
	}
	if !coretest.One[bool](t, observer, waiting, len(commits)) {
		t.Error("a commit has stopped to wait")
	}
	coretest.Prepare(t, server.URL(), "ALTER SYSTEM RESET synchronous_standby_names")
	coretest.Prepare(t, server.URL(), "SELECT pg_reload_conf()")
	for kind := range commits {
		await(t, observer, `SELECT count(*) = 1 FROM job_ticks WHERE job = $1`, kind)
	}
	if err := database.Close(); err != nil { // It waits until the driver has done with each connection.
		t.Fatal(err)
	}
	log, err := server.Log()
	if err != nil || strings.Contains(log, "canceling") {
		t.Errorf("the server's log = %s, %v, want nothing canceled", log, err)
	}
}

// commitsOfEachKind are the ways to commit a row with a name.
func commitsOfEachKind(database *db.DB) map[string]func(ctx context.Context, name string) error {
	const insertModel = `INSERT INTO job_ticks (job, tick) VALUES (?, now())`
	return map[string]func(context.Context, string) error{
		"transaction": func(ctx context.Context, name string) error {
			_, err := db.InTx(ctx, database, func(tx db.Tx) (int64, error) {
				tag, err := tx.Exec(ctx, insertTick, name)
				return tag.RowsAffected(), err
			})
			return err
		},
		"pipeline": func(ctx context.Context, name string) error {
			open := func(*db.Batch) struct{} { return struct{}{} }
			_, err := db.InPipeline(ctx, database, open, func(_ db.Tx, _ struct{}, last *db.Batch) (int, error) {
				last.Queue(insertTick, name)
				return 0, nil
			})
			return err
		},
		"batch": func(ctx context.Context, name string) error {
			_, err := db.InBatch(ctx, database, func(batch *db.Batch) int {
				batch.Queue(insertTick, name)
				return 0
			})
			return err
		},
		"transaction of models": func(ctx context.Context, name string) error {
			_, err := db.InGormTx(ctx, database, func(tx db.GormTx) (int64, error) {
				inserted := tx.Gorm(ctx).Exec(insertModel, name)
				return inserted.RowsAffected, inserted.Error
			})
			return err
		},
		"statement": func(ctx context.Context, name string) error {
			_, err := database.Pool.Exec(ctx, insertTick, name)
			return err
		},
		"statement of models": func(ctx context.Context, name string) error {
			return database.Gorm.WithContext(ctx).Exec(insertModel, name).Error
		},
	}
}

// TestAbandonedStatement gives up statements that would run for hours.
func TestAbandonedStatement(t *testing.T) {
	t.Parallel()
	const places, statements = 2, 5
	address := coretest.DatabaseURL(t)
	observer := coretest.Connect(t, address)
	database, err := db.Open(t.Context(), db.Config{
		URL: address + "&application_name=abandons", MaxConns: places,
		LockTimeout: time.Minute, StatementTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range statements {
		ctx, giveUp := context.WithCancel(t.Context())
		sleep := fmt.Sprintf("SELECT pg_sleep(%d)", 3600+n)
		ended := make(chan error, 1)
		go func() {
			_, err := database.Pool.Exec(ctx, sleep)
			ended <- err
		}()
		await(t, observer, `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE application_name = 'abandons' AND query = $1 AND wait_event = 'PgSleep'`, sleep)
		giveUp()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("abandoned statement = %v, want it canceled", err)
		}
		sessions := coretest.One[int](t, observer,
			`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'abandons'`)
		if sessions > places {
			t.Errorf("sessions on the server = %d, want at most the %d of the pool", sessions, places)
		}
	}
	await(t, observer, `SELECT count(*) = 0 FROM pg_stat_activity
		WHERE application_name = 'abandons' AND wait_event = 'PgSleep'`)
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
}

// startServer starts a server for the test alone, whose settings it may change.
func startServer(tb testing.TB) *coretest.Cluster {
	tb.Helper()
	server, err := coretest.StartCluster(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Remove(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("remove the server: %v", err)
		}
	})
	return server
}

// await waits until the query finds that it is so.
func await(tb testing.TB, database *db.DB, query string, args ...any) {
	tb.Helper()
	coretest.Eventually(tb, func() bool { return coretest.One[bool](tb, database, query, args...) })
}
