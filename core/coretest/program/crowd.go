package program

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// commitsAtOnce is how many commits of starts a server has under way. Those that come meanwhile form a group.
const commitsAtOnce = 2

// Crowd sends starts to one server in such a way that they are committed in a group: while they arrive, all commits
// that the server makes at once wait for the counter of an organization, and then one of them ends. The server must not
// give up waiting for a lock before that.
type Crowd struct {
	DB     *db.DB
	Server *Server
	// Holder is the organization. None of the crowd is of it.
	Holder Tenant
}

// Reply is what a request of a crowd has got: an answer, or an error when the answer is not known.
type Reply struct {
	Answer
	Err error
}

// Send sends the starts, which have their tokens, and lets them go when all are there. The returned function waits
// until each has an answer or none.
func (c Crowd) Send(tb testing.TB, requests ...*http.Request) func() []Reply {
	tb.Helper()
	end := c.hold(tb)
	client := NewClient(tb, "")
	replies := make([]Reply, len(requests))
	var open sync.WaitGroup
	for i, request := range requests {
		open.Go(func() { replies[i].Answer, replies[i].Err = client.Do(request) })
	}
	Await(tb, "all starts wait for their commit", func() bool { return c.Server.queued(tb) == len(requests) })
	c.letGo(tb)
	return func() []Reply {
		open.Wait()
		end()
		return replies
	}
}

// hold keeps the server from committing starts. The returned function ends the starts that do so.
func (c Crowd) hold(tb testing.TB) func() {
	tb.Helper()
	tx, err := c.DB.Pool.Begin(tb.Context())
	if err != nil {
		tb.Fatalf("begin: %v", err)
	}
	unlock := sync.OnceFunc(func() { _ = tx.Rollback(context.WithoutCancel(tb.Context())) }) // Nothing has changed.
	tb.Cleanup(unlock)
	if _, err := tx.Exec(tb.Context(), `
		INSERT INTO usage_counters AS u (org_id, metric, period_start, used)
		VALUES ($1, 'runs', date_trunc('month', now() AT TIME ZONE 'UTC'), 0)
		ON CONFLICT ON CONSTRAINT usage_counters_pkey DO UPDATE SET used = u.used`, c.Holder.ID); err != nil {
		tb.Fatalf("lock the counter: %v", err)
	}
	client := NewClient(tb, c.Holder.Tokens.Executor)
	var holding sync.WaitGroup
	for n := range commitsAtOnce {
		holding.Go(func() {
			_, _ = client.Try(tb.Context(), c.Server.URL(), Building(tb, "")) // What becomes of it is no matter.
		})
		// Two that arrive together would share a commit.
		Await(tb, "a commit waits for the counter", func() bool {
			return Count(tb, c.DB, "SELECT count(*) "+waiting) == n+1
		})
	}
	return func() { unlock(); holding.Wait() }
}

// waiting are the sessions that wait for a lock.
const waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

// letGo ends one of the commits that wait. The next one is that of the crowd.
func (c Crowd) letGo(tb testing.TB) {
	tb.Helper()
	got := Count(tb, c.DB, "SELECT count(pg_cancel_backend(pid)) FROM (SELECT pid "+waiting+" LIMIT 1) AS one")
	if got != 1 {
		tb.Fatalf("commits that were ended = %d, want 1", got)
	}
}
