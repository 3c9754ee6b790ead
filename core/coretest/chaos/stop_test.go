package chaos

import (
	"slices"
	"syscall"
	"testing"
)

func TestEmbeddedServer(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	settings := briskly("SV_DATA_DIR=" + dir)
	s := serve(t, settings)

	t.Run("IsAloneInItsFolder", func(t *testing.T) {
		t.Parallel()
		said := refuse(t, append(slices.Clip(settings), "SV_ADDR="+freeAddress(t)), "serve")
		wantSaid(t, said, "another simplevalidations serve", dir, "DATABASE_URL")
	})

	t.Run("RunsNoPartsAlone", func(t *testing.T) {
		t.Parallel()
		for _, part := range []string{"web", "worker", "scheduler"} {
			wantSaid(t, refuse(t, settings, "serve", "--only", part), "--only", "DATABASE_URL", "REDIS_URL")
		}
	})

	t.Run("SharesItsDatabaseWithCommands", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, seed(t, settings).harbour.Tokens.Executor)
		o := building(t, "embedded")
		first := c.start(t, s.url(), o)
		wantCreated(t, first)
		checkAtRest(t, joinEmbedded(t, dir))
		wantReplay(t, c.start(t, s.url(), o), first)
	})
}

func TestEmbeddedServerEnds(t *testing.T) {
	t.Parallel()

	t.Run("ByASignal", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		settings := briskly("SV_DATA_DIR=" + dir)
		s := serve(t, settings)
		pid := postgresID(t, dir)
		if pid == 0 || !runs(pid) {
			t.Fatalf("id of the running PostgreSQL = %d, want that of a process", pid)
		}
		s.signal(t, syscall.SIGTERM)
		if got := s.exitCode(t); got != 0 {
			t.Errorf("exit code = %d, want 0", got)
		}
		if runs(pid) {
			t.Errorf("PostgreSQL runs on as process %d", pid)
		}
	})

	t.Run("ByBeingKilled", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		settings := briskly("SV_DATA_DIR=" + dir)
		s := serve(t, settings)
		pid := postgresID(t, dir)
		s.kill()
		await(t, "PostgreSQL ends with its owner", func() bool { return !runs(pid) })
	})
}

// TestStopUnderLoad stops one of two servers after the other, as an update does.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	i := install(t)
	servers := []*server{serve(t, i.settings), serve(t, i.settings)}
	bases := []string{servers[0].url(), servers[1].url()}
	turn := make(chan string, 1)
	turn <- bases[0]
	l := startLoad(t, i.harbour.Tokens.Executor, func() string {
		base := <-turn
		turn <- base
		return base
	})
	for n, s := range servers {
		l.awaitProgress(t, mostLife)
		<-turn
		turn <- bases[1-n]
		s.signal(t, syscall.SIGTERM)
		if got := s.exitCode(t); got != 0 {
			t.Errorf("exit code under load = %d, want 0", got)
		}
		checkInvariants(t, i.db)
		servers[n] = s.again(t, i.settings)
	}
	l.finish(t)
	checkAtRest(t, i.db)
	l.history.check(t, i.db, i.harbour.ID)
}
