package crash

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/embedded"
)

// diskFault is a system call that fails while PostgreSQL commits.
type diskFault struct {
	call   string
	reason syscall.Errno
	// committed tells whether the recovery finds the commit.
	committed int
}

// TestDiskFailsAtCommit lets the disk fail under PostgreSQL while it commits. It panics, tells its client so, restarts
// and recovers. Where the flush has failed, what it has not acknowledged is there after the recovery; where
// the write has failed, it is not.
//
//nolint:paralleltest // The crash ends all sessions of its server.
func TestDiskFailsAtCommit(t *testing.T) {
	disk := newFailingDisk(t)
	faults := map[string]diskFault{
		"flush": {"fdatasync", syscall.EIO, 1},
		"full":  {"pwrite", syscall.ENOSPC, 0},
	}
	places := map[string][]int{"first": {3}, "create": {1}}
	if exhaustive {
		places = map[string][]int{"first": {3}, "rerun": {1}, "create": {1}, "overage": {3, 5, 6}}
	}
	for _, f := range requestFlows() {
		for _, number := range places[f.name] {
			for kind, fault := range faults {
				for key, keyless := range map[string]bool{"keyed": false, "keyless": true} {
					if !exhaustive && (kind != "flush" || keyless != (f.name == "first")) {
						continue
					}
					t.Run(fmt.Sprintf("%s/B%d/%s/%s", f.name, number, kind, key), func(t *testing.T) {
						disk.strike(t, f, f.places()[number-1], fault, keyless)
					})
				}
			}
		}
	}
}

// failingDisk is a PostgreSQL whose system calls can be made to fail.
type failingDisk struct {
	server *embedded.Postgres
	// order names the call that fails next.
	order string
}

// newFailingDisk starts the server for the test alone.
func newFailingDisk(tb testing.TB) *failingDisk {
	tb.Helper()
	dir := coretest.OpenFolder(tb)
	d := &failingDisk{order: filepath.Join(dir, "order")}
	library := filepath.Join(dir, "failing_disk.so")
	built := exec.CommandContext(tb.Context(), "gcc", "-shared", "-fPIC", "-O1", "-o", library,
		"testdata/failing_disk.c", "-ldl")
	if output, err := built.CombinedOutput(); err != nil {
		tb.Fatalf("build the failing disk, which takes gcc: %v\n%s", err, output)
	}
	open(tb, library)
	server, err := embedded.StartPostgres(tb.Context(), embedded.PostgresConfig{
		Dir: filepath.Join(dir, "postgres"), BinDir: d.wrap(tb, dir, library), Durable: true,
		Log: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	d.server = server
	tb.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("stop the database: %v", err)
		}
	})
	tb.Setenv(coretest.DatabaseVariable, server.URL())
	d.calmWriter(tb)
	return d
}

// calmWriter keeps the server's background writer of the log from flushing a commit before its own session does: then
// the call that is to fail would never be made.
func (d *failingDisk) calmWriter(tb testing.TB) {
	tb.Helper()
	for _, setting := range []string{
		"ALTER SYSTEM SET wal_writer_delay = '10s'", "ALTER SYSTEM SET wal_writer_flush_after = '1GB'",
		"SELECT pg_reload_conf()",
	} {
		coretest.Prepare(tb, d.server.URL(), setting)
	}
}

// wrap makes a folder of server binaries that load the library.
func (d *failingDisk) wrap(tb testing.TB, dir, library string) string {
	tb.Helper()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		tb.Fatal(err)
	}
	open(tb, bin)
	installed := installedBinaries(tb)
	for name, environment := range map[string]string{
		"initdb": "", "postgres": "LD_PRELOAD='" + library + "' FAILING_DISK='" + d.order + "' ",
	} {
		script := "#!/bin/sh\n" + environment + "exec '" + filepath.Join(installed, name) + "' \"$@\"\n"
		path := filepath.Join(bin, name)
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			tb.Fatal(err)
		}
		open(tb, path)
	}
	return bin
}

// open lets the user of PostgreSQL read and execute a file, whatever the umask of the tests is.
func open(tb testing.TB, path string) {
	tb.Helper()
	if err := os.Chmod(path, 0o755); err != nil {
		tb.Fatal(err)
	}
}

// installedBinaries asks the server of all other tests where it comes from.
func installedBinaries(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv("PG_BIN_DIR"); dir != "" {
		return dir
	}
	db := coretest.Connect(tb, os.Getenv(coretest.DatabaseVariable))
	return coretest.One[string](tb, db, "SELECT setting FROM pg_config() WHERE name = 'BINDIR'")
}

// strike runs one case: the disk fails at the commit, the server recovers, and everything goes on.
func (d *failingDisk) strike(t *testing.T, f flow, where at, fault diskFault, keyless bool) {
	t.Helper()
	s := newStage(t, f)
	s.keyless = keyless
	if keyless {
		where = where.withoutKey()
	}
	begun := coretest.One[time.Time](t, s.DB, startOfServer)
	s.strikeWith(where, pgproxy.Fault{Before: func() { d.fail(t, s, fault); close(s.struck) }})
	s.launch(t)
	program.Receive(t, "the disk fails", s.struck)
	s.sending.Wait()
	d.awaitRecovery(t, s, begun)
	s.checkTold(t, outcome{committed: fault.committed})
	s.release(t)
	if keyless {
		s.checkLeft(t)
		return
	}
	s.passTime(t)
	s.finish(t, retry)
	s.conclude(t)
}

// fail orders the call to fail in the session that is about to commit.
func (d *failingDisk) fail(tb testing.TB, s *stage, fault diskFault) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := d.make(fmt.Sprintf("%d %s %d", s.backend, fault.call, int(fault.reason))); err != nil {
		tb.Errorf("order the disk to fail: %v", err)
	}
}

// make gives an order, which the user of PostgreSQL can read whatever the umask of the tests is.
func (d *failingDisk) make(order string) error {
	if err := os.WriteFile(d.order, []byte(order), 0o644); err != nil {
		return err
	}
	return os.Chmod(d.order, 0o644)
}

// startOfServer is when the server's helpers began: all of them are new after a crash.
const startOfServer = "SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'"

// awaitRecovery demands that the order was carried out and that the server has restarted because of it.
func (d *failingDisk) awaitRecovery(tb testing.TB, s *stage, begun time.Time) {
	tb.Helper()
	if _, err := os.Stat(d.order); !errors.Is(err, os.ErrNotExist) {
		tb.Fatalf("the order is still there: the call that is to fail was not made: %v", err)
	}
	program.Await(tb, "the server recovers", func() bool {
		var now time.Time
		err := s.DB.Pool.QueryRow(tb.Context(), startOfServer).Scan(&now)
		return err == nil && now.After(begun)
	})
}
