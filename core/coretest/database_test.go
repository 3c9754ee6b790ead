package coretest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/embedded"
)

func TestMain(m *testing.M) { Main(m) }

func TestDatabaseURL(t *testing.T) {
	t.Parallel()

	t.Run("IsDroppedThoughInUse", func(t *testing.T) {
		t.Parallel()
		admin := connect(t, os.Getenv(DatabaseVariable))
		var name string
		t.Run("Use", func(t *testing.T) { //nolint:paralleltest // Its end is what the test looks at.
			url := DatabaseURL(t)
			idle, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatalf("connect: %v", err)
			}
			name = idle.Config().Database
		})
		if found, err := isDatabase(t.Context(), admin, name); found || err != nil {
			t.Errorf("database %s exists = %t, %v; want false", name, found, err)
		}
	})
}

func TestEnsureTemplate(t *testing.T) {
	t.Parallel()

	t.Run("MakesOneForManyAtOnce", func(t *testing.T) {
		t.Parallel()
		server := os.Getenv(DatabaseVariable)
		const template = "template_of_racers"
		t.Cleanup(func() { dropTemplate(t, server, template) })
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				if err := ensureTemplate(t.Context(), server, template); err != nil {
					t.Errorf("ensure template: %v", err)
				}
			})
		}
		group.Wait()
		half, err := isDatabase(t.Context(), connect(t, server), template+"_half")
		if half || err != nil {
			t.Errorf("unfinished template exists = %t, %v; want false", half, err)
		}
	})

	t.Run("ReplacesUnfinishedTemplate", func(t *testing.T) {
		t.Parallel()
		server := os.Getenv(DatabaseVariable)
		const template = "template_of_killed"
		t.Cleanup(func() { dropTemplate(t, server, template) })
		if err := execute(t.Context(), server, "CREATE DATABASE "+template+"_half"); err != nil {
			t.Fatalf("create unfinished template: %v", err)
		}
		if err := ensureTemplate(t.Context(), server, template); err != nil {
			t.Errorf("ensure template: %v", err)
		}
	})
}

func TestRemoveAbandoned(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	paths := map[string]string{}
	for _, name := range []string{"abandoned", "used", "new"} {
		paths[name] = filepath.Join(temp, clusterPrefix+name)
		lock, err := embedded.LockDir(paths[name], clusterLock)
		if err != nil {
			t.Fatalf("lock: %v", err)
		}
		if name == "used" {
			t.Cleanup(func() { unlock(t, lock) })
			continue
		}
		unlock(t, lock)
	}
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range []string{"abandoned", "used"} {
		if err := os.Chtimes(paths[name], hourAgo, hourAgo); err != nil {
			t.Fatalf("age folder: %v", err)
		}
	}
	if err := removeAbandoned(temp); err != nil {
		t.Fatalf("remove abandoned: %v", err)
	}
	for name, want := range map[string]bool{"abandoned": false, "used": true, "new": true} {
		if _, err := os.Stat(paths[name]); (err == nil) != want {
			t.Errorf("%s folder exists = %t, want %t", name, err == nil, want)
		}
	}
}

func TestPrepareHasNoTimeout(t *testing.T) {
	t.Parallel()
	Prepare(t, DatabaseURL(t), `DO $$ BEGIN
		IF current_setting('statement_timeout') <> '0' OR current_setting('lock_timeout') <> '0' THEN
			RAISE 'a preparation has a timeout';
		END IF;
	END $$`)
}

func connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.WithoutCancel(tb.Context())) }) // Its database may have been dropped.
	return conn
}

func dropTemplate(tb testing.TB, server, template string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	if err := execute(ctx, server, "DROP DATABASE IF EXISTS "+quote(template)); err != nil {
		tb.Errorf("drop template: %v", err)
	}
}

func unlock(tb testing.TB, lock *embedded.Lock) {
	tb.Helper()
	if err := lock.Unlock(); err != nil {
		tb.Errorf("unlock: %v", err)
	}
}
