package chaos

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func TestEmbeddedServer(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	settings := program.Briskly("SV_DATA_DIR=" + dir)
	s := program.Serve(t, settings)

	t.Run("IsAloneInItsFolder", func(t *testing.T) {
		t.Parallel()
		said := program.Refuse(t, append(slices.Clip(settings), "SV_ADDR="+coretest.FreeAddress(t)), "serve")
		wantSaid(t, said, "another simplevalidations serve", dir, "DATABASE_URL")
	})

	t.Run("RunsNoPartsAlone", func(t *testing.T) {
		t.Parallel()
		for _, part := range []string{"web", "worker", "scheduler"} {
			wantSaid(t, program.Refuse(t, settings, "serve", "--only", part), "--only", "DATABASE_URL", "REDIS_URL")
		}
	})

	t.Run("SharesItsDatabaseWithCommands", func(t *testing.T) {
		t.Parallel()
		c := program.NewClient(t, program.Seed(t, settings).Harbour.Tokens.Executor)
		o := program.Building(t, "embedded")
		first := c.Start(t, s.URL(), o)
		program.WantCreated(t, first)
		program.CheckAtRest(t, joinEmbedded(t, dir))
		program.WantReplay(t, c.Start(t, s.URL(), o), first)
	})
}

func TestEmbeddedServerEnds(t *testing.T) {
	t.Parallel()

	t.Run("ByASignal", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		settings := program.Briskly("SV_DATA_DIR=" + dir)
		s := program.Serve(t, settings)
		pid := program.PostgresID(t, filepath.Join(dir, "postgres", "data"))
		if pid == 0 || !program.Exists(pid) {
			t.Fatalf("id of the running PostgreSQL = %d, want that of a process", pid)
		}
		s.Signal(t, syscall.SIGTERM)
		if got := s.ExitCode(t); got != 0 {
			t.Errorf("exit code = %d, want 0", got)
		}
		if program.Exists(pid) {
			t.Errorf("PostgreSQL runs on as process %d", pid)
		}
	})

	t.Run("ByBeingKilled", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		settings := program.Briskly("SV_DATA_DIR=" + dir)
		s := program.Serve(t, settings)
		pid := program.PostgresID(t, filepath.Join(dir, "postgres", "data"))
		s.Kill()
		program.Await(t, "PostgreSQL ends with its owner", func() bool { return !program.Exists(pid) })
	})
}

// TestStopWritesWhatWasCounted stops a server that has counted something and has hardly had the time to write it.
func TestStopWritesWhatWasCounted(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	s := program.Serve(t, i.Settings)
	program.WantCreated(t, program.NewClient(t, i.Harbour.Tokens.Executor).
		Start(t, s.URL(), program.Building(t, "counted")))
	s.Signal(t, syscall.SIGTERM)
	if got := s.ExitCode(t); got != 0 {
		t.Errorf("exit code = %d, want 0", got)
	}
	if got := program.Count(t, i.DB, `SELECT coalesce(sum(n), 0) FROM start_hours, unnest(took) AS n`); got != 1 {
		t.Errorf("new starts counted = %d, want 1", got)
	}
}

// TestStopUnderLoad stops one of two servers after the other, as an update does.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	servers := []*program.Server{program.Serve(t, i.Settings), program.Serve(t, i.Settings)}
	bases := []string{servers[0].URL(), servers[1].URL()}
	turn := make(chan string, 1)
	turn <- bases[0]
	l := program.StartLoad(t, i.Harbour.Tokens.Executor, func() string {
		base := <-turn
		turn <- base
		return base
	})
	for n, s := range servers {
		l.AwaitProgress(t, mostLife)
		<-turn
		turn <- bases[1-n]
		s.Signal(t, syscall.SIGTERM)
		if got := s.ExitCode(t); got != 0 {
			t.Errorf("exit code under load = %d, want 0", got)
		}
		program.CheckInvariants(t, i.DB)
		servers[n] = s.Again(t, i.Settings)
	}
	l.Finish(t)
	program.CheckAtRest(t, i.DB)
	l.History.Check(t, i.DB, i.Harbour.ID)
}
