package crash

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/postgres"
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
	*postgres.Ground
	server *embedded.Postgres
}

// newFailingDisk starts the server for the test alone.
func newFailingDisk(tb testing.TB) *failingDisk {
	tb.Helper()
	d := &failingDisk{Ground: postgres.NewGround(tb)}
	d.server = coretest.StartPostgres(tb, filepath.Join(coretest.OpenFolder(tb), "postgres"))
	tb.Setenv(coretest.DatabaseVariable, d.server.URL())
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
	err := d.Break(s.backend, postgres.Fault{Call: fault.call, Reason: fault.reason, Folder: postgres.Log})
	if err != nil {
		tb.Error(err)
	}
}

// startOfServer is when the server's helpers began: all of them are new after a crash.
const startOfServer = "SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'"

// awaitRecovery demands that the order was carried out and that the server has restarted because of it.
func (d *failingDisk) awaitRecovery(tb testing.TB, s *stage, begun time.Time) {
	tb.Helper()
	if !d.Broke() {
		tb.Fatal("the order is still there: the call that is to fail was not made")
	}
	program.Await(tb, "the server recovers", func() bool {
		var now time.Time
		err := s.DB.Pool.QueryRow(tb.Context(), startOfServer).Scan(&now)
		return err == nil && now.After(begun)
	})
}
