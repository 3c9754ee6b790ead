package random

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/postgres"
)

func (n *nemesis) crashPostgres(tb testing.TB, e *event) func() {
	tb.Helper()
	n.pair.Crash(tb)
	e.happened = true
	return func() { n.pair.Revive(tb) }
}

func (n *nemesis) terminateBackends(tb testing.TB, e *event) func() {
	tb.Helper()
	_, err := n.DB.Pool.Exec(tb.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
	e.happened = err == nil
	return func() {}
}

// breakCommits makes of each third commit what a server or a network that fails makes of it.
func (n *nemesis) breakCommits(_ testing.TB, e *event) func() {
	faults := []pgproxy.Fault{
		{Lose: true},
		{Swallow: true},
		{Lose: true, Error: pgproxy.Error{Severity: "FATAL", Code: "57P01"}},
		{Error: pgproxy.Error{Severity: "FATAL", Code: "57P01"}},
		{Error: pgproxy.Error{Severity: "PANIC", Code: "53100"}},
		{Lose: true, Error: pgproxy.Error{Severity: "ERROR", Code: "40001"}},
	}
	before := n.commits.Load()
	var seen atomic.Int64
	for _, h := range n.hosts {
		h.proxy.Watch(func(c pgproxy.Commit) pgproxy.Fault {
			if nth := seen.Add(1); nth%3 == 0 && !slices.ContainsFunc(c.Writes, isCopy) {
				n.commits.Add(1)
				return faults[(int(nth/3)+e.dice)%len(faults)]
			}
			return pgproxy.Fault{}
		})
	}
	return func() {
		e.happened = n.commits.Load() > before
		for _, h := range n.hosts {
			h.proxy.Watch(passing)
		}
	}
}

func isCopy(write string) bool { return strings.HasPrefix(write, "copy ") }

// lockRows has a session hold the counters of all organizations, on which starts then wait.
func (n *nemesis) lockRows(tb testing.TB, e *event) func() {
	tb.Helper()
	tx, err := n.DB.Pool.Begin(tb.Context())
	if err != nil {
		return func() {}
	}
	_, err = tx.Exec(tb.Context(), "SELECT FROM usage_counters FOR UPDATE")
	e.happened = err == nil
	return func() { _ = tx.Rollback(context.WithoutCancel(tb.Context())) } // Nothing has changed.
}

// failOver loses the primary with its machine and promotes the standby. What leads to the primary follows.
func (n *nemesis) failOver(tb testing.TB, e *event) func() {
	tb.Helper()
	n.pair.KillPrimary(tb)
	n.pair.Promote(tb)
	for _, road := range n.roads {
		road.Lead("unix", n.pair.Socket(tb))
	}
	e.happened = true
	return func() { n.pair.Renew(tb) }
}

// loseStandby has commits wait.
func (n *nemesis) loseStandby(tb testing.TB, e *event) func() {
	tb.Helper()
	losses := postgres.Losses()
	loss := losses[e.dice%len(losses)]
	n.pair.Lose(tb, loss)
	e.happened = true
	return func() { n.pair.TakeBack(tb, loss) }
}

// failDisk fails a flush of the log, after which the primary panics and recovers by itself.
func (n *nemesis) failDisk(tb testing.TB, e *event) func() {
	tb.Helper()
	fault := postgres.Fault{Call: "fdatasync", Reason: syscall.EIO, Folder: postgres.Log}
	if err := n.ground.Break(postgres.First, fault); err != nil {
		tb.Error(err)
	}
	return func() {
		e.happened = n.ground.Broke()
		n.ground.Mend(tb)
		n.pair.Revive(tb)
	}
}

// fillDisk has no file of the servers become longer. A primary that needs more log than it has ends.
func (n *nemesis) fillDisk(tb testing.TB, e *event) func() {
	tb.Helper()
	before := strings.Count(n.pair.Said(tb), " 53100 ")
	if err := n.ground.Break(postgres.Any, postgres.Fault{
		Call: "pwrite", Reason: syscall.ENOSPC, Folder: postgres.All,
	}); err != nil {
		tb.Error(err)
	}
	return func() {
		n.ground.Mend(tb)
		n.pair.Revive(tb)
		e.happened = strings.Count(n.pair.Said(tb), " 53100 ") > before
	}
}

// onlyRead lets all new transactions only read.
func (n *nemesis) onlyRead(tb testing.TB, e *event) func() {
	tb.Helper()
	tell := func(statement string) {
		for _, each := range []string{statement, "SELECT pg_reload_conf()"} {
			coretest.Prepare(tb, n.pair.PrimaryURL(), each)
		}
	}
	tell("ALTER SYSTEM SET default_transaction_read_only = on")
	e.happened = true
	return func() { tell("ALTER SYSTEM RESET default_transaction_read_only") }
}

// stepClock moves the clock of the servers beyond leases, keys or an hour, or a little back.
func (n *nemesis) stepClock(tb testing.TB, e *event) func() {
	tb.Helper()
	n.ground.Advance(tb, []time.Duration{lifetime + time.Second, time.Hour, -2 * time.Second, 2 * lease}[e.dice%4])
	e.happened = true
	return func() {}
}

// turnMonth moves the clock of the servers to a moment before the next month.
func (n *nemesis) turnMonth(tb testing.TB, e *event) func() {
	tb.Helper()
	now := n.ground.Now().UTC()
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	n.ground.Advance(tb, next.Sub(now)-500*time.Millisecond)
	e.happened = true
	return func() {}
}
