package chaos

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/embedded"
)

// TestServersKilledUnderLoad has clients turn from server to server, so that they send a request again to one while
// the database still commits what the other was killed at.
func TestServersKilledUnderLoad(t *testing.T) {
	t.Parallel()
	i := program.Install(t, program.Reachable)
	servers := []*program.Server{program.Serve(t, i.Settings), program.Serve(t, i.Settings)}
	told := program.Listen(t, servers[0].URL(), i.Harbour.Tokens.Owner)
	bases := []string{servers[0].URL(), servers[1].URL()}
	l := program.StartLoad(t, i.Harbour.Tokens.Executor, func() string { return bases[rand.IntN(len(bases))] })
	for n := range serverKills {
		l.AwaitProgress(t, leastLife+rand.IntN(mostLife-leastLife))
		killed := servers[n%len(servers)]
		killed.Kill()
		program.CheckInvariants(t, i.DB)
		servers[n%len(servers)] = killed.Again(t, i.Settings)
	}
	l.Finish(t)
	program.CheckAtRest(t, i.DB)
	l.History.Check(t, i.DB, i.Harbour.ID)
	program.CheckTold(t, i.DB, told)
	if l.Unheard.Load() == 0 {
		t.Error("no request was cut off, so the kills showed nothing")
	}
}

func TestEmbeddedServerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	settings := program.Briskly("SV_DATA_DIR=" + dir)
	s := program.Serve(t, settings)
	demo := program.Seed(t, settings)
	base := s.URL()
	l := program.StartLoad(t, demo.Harbour.Tokens.Executor, func() string { return base })
	for range embeddedKills {
		l.AwaitProgress(t, leastLife+rand.IntN(mostLife-leastLife))
		s.Kill()
		s = s.Again(t, settings)
	}
	l.Finish(t)
	database := joinEmbedded(t, dir)
	program.CheckAtRest(t, database)
	l.History.Check(t, database, demo.Harbour.ID)
	if l.Unheard.Load() == 0 {
		t.Error("no request was cut off, so the kills showed nothing")
	}
}

// dataDir returns a folder that the user who runs PostgreSQL for root can reach, which tb.TempDir does not.
func dataDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "simplevalidations-data-") //nolint:usetesting // its parent is closed to others
	if err != nil {
		tb.Fatalf("make folder: %v", err)
	}
	tb.Cleanup(func() {
		// A killed program's PostgreSQL may still write while it ends.
		program.Await(tb, "the folder can be removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		tb.Fatalf("open folder: %v", err)
	}
	return dir
}

// joinEmbedded connects to the private PostgreSQL of a running server.
func joinEmbedded(tb testing.TB, dir string) *db.DB {
	tb.Helper()
	server := joinPostgres(tb, dir)
	return coretest.Connect(tb, server.URL())
}

func joinPostgres(tb testing.TB, dir string) *embedded.Postgres {
	tb.Helper()
	server, err := embedded.StartPostgres(tb.Context(), embedded.PostgresConfig{
		Dir: filepath.Join(dir, "postgres"), BinDir: os.Getenv("PG_BIN_DIR"), Durable: true,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatalf("join the private PostgreSQL: %v", err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("leave the private PostgreSQL: %v", err)
		}
	})
	if server.Owned() {
		tb.Fatal("the private PostgreSQL was not running")
	}
	return server
}
