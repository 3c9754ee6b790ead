//go:build slow

package operations

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/postgres"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// beforeFailover is how many keys are answered before the primary dies, and afterFailover how many more have to be.
const beforeFailover, afterFailover = 150, 150

const restartStarts = 200

// TestFailoverToASynchronousStandby kills the primary with everything that belongs to it, as the loss of its machine
// does, and promotes the standby. What was acknowledged is on the standby, and what was not is found out by sending
// the requests again.
func TestFailoverToASynchronousStandby(t *testing.T) { //nolint:paralleltest // It measures.
	pair := postgres.StartPair(t)
	i := program.InstallOn(t, pair.URL(t), coretest.Redis(t), "DATABASE_URL="+pair.URL(t))
	servers := []string{program.Serve(t, i.Settings).URL(), program.Serve(t, i.Settings).URL()}
	var turn atomic.Int64
	l := program.StartLoad(t, i.Harbour.Tokens.Executor, func() string {
		return servers[int(turn.Add(1))%len(servers)]
	})
	l.AwaitProgress(t, beforeFailover)
	refused := l.Refused.Load()
	begun := time.Now()
	pair.KillPrimary(t)
	pair.Promote(t)
	promoted := time.Since(begun).Round(time.Millisecond)
	l.AwaitProgress(t, afterFailover)
	t.Logf("promoted in %s, requests refused for the moment since then %d", promoted, l.Refused.Load()-refused)
	l.Finish(t)
	if l.Unheard.Load() > 0 {
		t.Errorf("requests without an answer = %d, want none: the servers lived", l.Unheard.Load())
	}
	program.CheckAtRest(t, i.DB)
	l.History.Check(t, i.DB, i.Harbour.ID)
}

// TestServersOutliveARestart restarts PostgreSQL while nothing is asked of it, so that all connections of all pools are
// dead. Nobody may notice.
func TestServersOutliveARestart(t *testing.T) {
	t.Parallel()
	pair := postgres.StartPair(t)
	i := program.InstallOn(t, pair.URL(t), coretest.Redis(t), "DATABASE_URL="+pair.URL(t), "SV_ENQUEUE_INTERVAL=1h",
		"SV_SWEEP_INTERVAL=1h", "SV_COMPLETE_INTERVAL=1h")
	s := program.Serve(t, i.Settings, "--only", "web")
	c := program.NewClient(t, i.Harbour.Tokens.Executor)
	told := program.NewHistory()
	crowd(t, c, s.URL(), told, "before", restartStarts)
	pair.Restart(t)
	crowd(t, c, s.URL(), told, "after", restartStarts)
}
