package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStartPostgresKeepsDataFromColdToWarm(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	cold := mustStart(t, dir)
	remember(t, cold.URL(), "first")
	if !cold.Owned() || cold.Dir() != dir {
		t.Errorf("owned = %t in %s, want true in %s", cold.Owned(), cold.Dir(), dir)
	}
	mustStop(t, cold)
	if !isClosed(cold.Done()) {
		t.Error("Done is open after Stop, want closed")
	}
	warm := mustStart(t, dir)
	wantRemembered(t, warm.URL(), "first")
}

func TestStartPostgresAppliesDurabilityAndConnections(t *testing.T) {
	t.Parallel()
	cfg := config(t, newDir(t))
	cfg.Durable, cfg.MaxConnections = false, 17
	server, err := StartPostgres(t.Context(), cfg)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { mustStop(t, server) })
	wantSetting(t, server.URL(), "fsync", "off")
	wantSetting(t, server.URL(), "jit", "off")
	wantSetting(t, server.URL(), "max_connections", "17")
	wantSetting(t, server.URL(), "data_checksums", "on")
	wantSetting(t, server.URL(), "listen_addresses", "")
}

func TestStartPostgresNamesWhatToInstall(t *testing.T) {
	t.Parallel()
	cfg := config(t, newDir(t))
	cfg.BinDir = t.TempDir()
	_, err := StartPostgres(t.Context(), cfg)
	if !errors.Is(err, ErrNoBinaries) {
		t.Fatalf("start without binaries = %v, want ErrNoBinaries", err)
	}
	for _, want := range []string{"apt-get", "dnf", "brew", "npm", "PG_BIN_DIR", "DATABASE_URL", cfg.BinDir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %s", err, want)
		}
	}
}

func TestStartPostgresLeavesNothingBehindWhenCancelled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if server, err := StartPostgres(ctx, config(t, dir)); err == nil {
		mustStop(t, server)
		t.Fatal("start with an ended context succeeded, want an error")
	}
	if !mustStart(t, dir).Owned() {
		t.Error("the next start is not the owner, want the lock free again")
	}
}

func TestPostgresFolder(t *testing.T) {
	t.Parallel()

	t.Run("WorksInPathTooLongForSockets", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(newDir(t), strings.Repeat("a", 60), strings.Repeat("b", 60), `c, "d"`)
		server := mustStart(t, dir)
		remember(t, server.URL(), "far")
		mustStop(t, server)
		wantRemembered(t, mustStart(t, dir).URL(), "far")
	})

	t.Run("WorksUnderClosedParent", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "closed", "postgres")
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			t.Fatalf("make folder: %v", err)
		}
		server := mustStart(t, dir)
		t.Cleanup(func() { removeMoved(t, dir, server.Dir()) })
		remember(t, server.URL(), "closed")
		moved, wantMoved := server.Dir() != dir, os.Geteuid() == 0
		if moved != wantMoved {
			t.Errorf("moved to %s = %t, want %t", server.Dir(), moved, wantMoved)
		}
		if joined := mustStart(t, dir); joined.Dir() != server.Dir() {
			t.Errorf("joined in %s, want %s", joined.Dir(), server.Dir())
		}
		mustStop(t, server)
		again := mustStart(t, dir)
		wantRemembered(t, again.URL(), "closed")
		mustStop(t, again)
	})

	t.Run("RefusesDataOfAnotherVersion", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		server := mustStart(t, dir)
		remember(t, server.URL(), "old")
		mustStop(t, server)
		path := filepath.Join(dataIn(dir), "PG_VERSION")
		version, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("read version: %v", err)
		}
		mustWrite(t, path, "9\n")
		if _, err := StartPostgres(t.Context(), config(t, dir)); !errors.Is(err, ErrVersion) {
			t.Fatalf("start on old data = %v, want ErrVersion", err)
		}
		mustWrite(t, path, string(version))
		wantRemembered(t, mustStart(t, dir).URL(), "old")
	})
}

func TestPostgresStop(t *testing.T) {
	t.Parallel()

	t.Run("LosesNothingWhenHurried", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		server := mustStart(t, dir)
		remember(t, server.URL(), "hurried")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := server.Stop(ctx); err != nil {
			t.Fatalf("stop: %v", err)
		}
		wantRemembered(t, mustStart(t, dir).URL(), "hurried")
	})

	t.Run("LeavesJoinedServerAlone", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		url := startOwner(t, dir).url(t)
		joined := mustStart(t, dir)
		if joined.Owned() || joined.URL() != url {
			t.Errorf("owned = %t at %s, want false at %s", joined.Owned(), joined.URL(), url)
		}
		mustStop(t, joined)
		remember(t, url, "still there")
		if isClosed(joined.Done()) {
			t.Error("Done of the joined server is closed, want open")
		}
	})

	t.Run("IsVisibleAfterAnUnexpectedEnd", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		server := mustStart(t, dir)
		remember(t, server.URL(), "killed")
		mustKill(t, serverPID(t, dir))
		select {
		case <-server.Done():
		case <-time.After(endPatience):
			t.Fatal("Done is open after the server was killed, want closed")
		}
		mustStop(t, server)
		wantRemembered(t, mustStart(t, dir).URL(), "killed")
	})
}

func TestTakeOverByOneOfMany(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	const starters = 4
	servers := make([]*Postgres, starters)
	var group sync.WaitGroup
	for i := range starters {
		group.Go(func() {
			server, err := StartPostgres(t.Context(), config(t, dir))
			if err != nil {
				t.Errorf("start: %v", err)
				return
			}
			servers[i] = server
		})
	}
	group.Wait()
	owners := 0
	for _, server := range servers {
		if server == nil {
			continue
		}
		t.Cleanup(func() { mustStop(t, server) })
		if server.Owned() {
			owners++
		}
	}
	if owners != 1 {
		t.Errorf("owners = %d, want 1", owners)
	}
}

func TestTakeOverAfterOwnerWasKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	owner := startOwner(t, dir)
	remember(t, owner.url(t), "kept")
	owner.kill()
	server := mustStart(t, dir)
	if !server.Owned() {
		t.Error("owned = false, want true")
	}
	wantRemembered(t, server.URL(), "kept")
}

func TestTakeOverAfterOwnerAndServerWereKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	owner := startOwner(t, dir)
	url := owner.url(t)
	remember(t, url, "kept")
	end := keepBusy(t, url)
	mustKill(t, serverPID(t, dir))
	owner.kill()
	started := make(chan *Postgres)
	go func() {
		defer close(started)
		server, err := StartPostgres(t.Context(), config(t, dir))
		if err != nil {
			t.Errorf("start in %s: %v", dir, err)
			return
		}
		started <- server
	}()
	// The session still has the memory of the killed server.
	log := &cluster{dir: dir}
	eventually(t, "no attempt was refused", func() bool {
		return strings.Contains(log.tail(), "pre-existing shared memory block")
	})
	end()
	server, ok := <-started
	if !ok {
		return
	}
	t.Cleanup(func() { mustStop(t, server) })
	wantRemembered(t, server.URL(), "kept")
}

func TestTakeOverAfterInitdbWasKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	owner := startOwner(t, dir)
	eventually(t, "initdb did not begin", func() bool {
		return len(matches(filepath.Join(dir, "init-*", "base"))) > 0
	})
	owner.kill()
	remember(t, mustStart(t, dir).URL(), "whole")
	if left := matches(filepath.Join(dir, "init-*")); len(left) > 0 {
		t.Errorf("left %v, want nothing of the killed initdb", left)
	}
}

func TestTakeOverFromOrphan(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	server := mustStart(t, dir)
	remember(t, server.URL(), "orphaned")
	mustStop(t, server)
	orphan := startOrphan(t, dir)
	next := mustStart(t, dir)
	if err := orphan.Wait(); err != nil {
		t.Errorf("orphan ended with %v, want an orderly end", err)
	}
	wantRemembered(t, next.URL(), "orphaned")
}

func TestTakeOverFromZombie(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	server := mustStart(t, dir)
	remember(t, server.URL(), "undead")
	mustStop(t, server)
	orphan := startOrphan(t, dir)
	mustKill(t, orphan.Process.Pid)
	wantRemembered(t, mustStart(t, dir).URL(), "undead")
	if err := orphan.Wait(); err == nil {
		t.Error("orphan ended by itself, want it killed")
	}
}

func TestTakeOverFromPidFileOfStranger(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	mustStop(t, mustStart(t, dir))
	mustWrite(t, filepath.Join(dataIn(dir), "postmaster.pid"), strconv.Itoa(os.Getpid())+"\n"+dataIn(dir)+"\n")
	remember(t, mustStart(t, dir).URL(), "mine")
}

func TestTakeOverFromBrokenPidFile(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	mustStop(t, mustStart(t, dir))
	mustWrite(t, filepath.Join(dataIn(dir), "postmaster.pid"), "")
	remember(t, mustStart(t, dir).URL(), "mine")
}

func wantSetting(tb testing.TB, url, setting, want string) {
	tb.Helper()
	var got string
	err := mustConnect(tb, url).QueryRow(tb.Context(), "SELECT current_setting($1)", setting).Scan(&got)
	if err != nil {
		tb.Fatalf("read %s: %v", setting, err)
	}
	if got != want {
		tb.Errorf("%s = %q, want %q", setting, got, want)
	}
}

func mustKill(tb testing.TB, pid int) {
	tb.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		tb.Fatalf("kill %d: %v", pid, err)
	}
}

func mustWrite(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatalf("write %s: %v", path, err)
	}
	owner, err := accountFor(filepath.Dir(path))
	if err != nil {
		tb.Fatalf("find user: %v", err)
	}
	if err := owner.own(path); err != nil {
		tb.Fatalf("write %s: %v", path, err)
	}
}

// removeMoved removes a cluster that stands outside of the test's folder.
func removeMoved(tb testing.TB, base, dir string) {
	tb.Helper()
	if dir == base {
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		tb.Errorf("remove cluster: %v", err)
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
