package api

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/migrations"
)

// A migration waits for a backup that reads all tables, and the requests that come meanwhile do not wait for both: the
// database ends a statement that waits for a lock for ten seconds, which is long beside what a migration takes.
func TestMigrationUnderLoadBesideALongReader(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.DBLockTimeout = 10 * time.Second })
	name := pgx.Identifier{coretest.One[string](t, s.DB, `SELECT current_database()`)}.Sanitize()
	s.Exec(t, `ALTER DATABASE `+name+` SET lock_timeout = '10s'`)
	s.DB.Pool.Reset() // New connections have the setting.
	run := s.Started(t, s.Start(t, "first")).ID
	token := s.Harbour.Tokens.Owner
	calls := []call{
		s.Start(t, "first"), s.Start(t, ""),
		{Path: "/api/me/", Token: token},
		{Path: "/api/workflows/", Token: token},
		{Path: "/api/runs/" + run + "/", Token: token},
	}

	reader, err := s.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const backup = `LOCK TABLE organizations, memberships, api_tokens, workflows, validation_runs IN ACCESS SHARE MODE`
	if _, err := reader.Exec(t.Context(), backup); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	failed := make(chan struct{})
	fail := sync.OnceFunc(func() { close(failed) })
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				for _, c := range calls {
					got, err := s.Send(context.WithoutCancel(ctx), c)
					if err != nil || got.Status >= http.StatusBadRequest {
						t.Errorf("%s %s = %d %s, %v", c.Method, c.Path, got.Status, got.Body, err)
						fail()
					}
				}
			}
		})
	}

	gaveWay := make(chan struct{}, 100)
	migrated := make(chan error, 1)
	go func() {
		_, err := migrations.Apply(db.Unlimited(ctx), s.DB.SQL, nextRelease(t), slog.New(signals{gaveWay}))
		migrated <- err
	}()
	// The reader ends after the migration has given way to it some times, or when a request has failed.
	for range 3 {
		select {
		case <-gaveWay:
		case <-failed:
		}
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-migrated; err != nil {
		t.Errorf("migrate: %v", err)
	}
	stop()
	clients.Wait()
	s.Exec(t, `SELECT added_later FROM api_tokens`)
}

// nextRelease is all migrations and one more, which changes the tables that each request reads.
func nextRelease(tb testing.TB) fs.FS {
	tb.Helper()
	files := fstest.MapFS{"99999_next.sql": {Data: []byte("-- +goose Up\n" +
		"ALTER TABLE organizations ADD COLUMN added_later int;\nALTER TABLE memberships ADD COLUMN added_later int;\n" +
		"ALTER TABLE workflows ADD COLUMN added_later int;\nALTER TABLE api_tokens ADD COLUMN added_later int;\n")}}
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range names {
		text, err := migrations.FS.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// signals is a log that sends fixture.One signal for each record.
type signals struct {
	records chan<- struct{}
}

func (signals) Enabled(context.Context, slog.Level) bool { return true }

func (s signals) Handle(context.Context, slog.Record) error {
	s.records <- struct{}{}
	return nil
}

func (s signals) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s signals) WithGroup(string) slog.Handler { return s }
