package program

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// commitsAtOnce is how many commits of starts a server has under way. Those that come meanwhile form a group.
const commitsAtOnce = 2

// ForCrowds is a setting of servers that crowds are sent to: those that hold a crowd up wait as long as it takes to
// come together.
const ForCrowds = "SV_DB_LOCK_TIMEOUT=9s"

// Crowd sends requests to one server in such a way that the starts among them are committed in a group: while they
// arrive, all commits that the server makes at once wait for the counter of an organization, and then one of them ends.
type Crowd struct {
	DB   *db.DB
	Base string
	// Holder is the organization. None of the crowd is of it.
	Holder Tenant
	// Queued counts the starts that wait in the server, for a crowd of starts alone none of which may come late. It is
	// nil where some may.
	Queued func() int
}

// Reply is what a request of a crowd has got: an answer, or an error when the answer is not known.
type Reply struct {
	Answer
	Err error
}

// Send sends the requests, which have their tokens, and lets them go when all are there. The returned function waits
// until each has an answer or none.
func (c Crowd) Send(tb testing.TB, requests ...*http.Request) func() []Reply {
	tb.Helper()
	c.warm(tb, len(requests))
	end := c.hold(tb)
	client := NewClient(tb, "")
	replies := make([]Reply, len(requests))
	var open, sent sync.WaitGroup
	for i, request := range requests {
		sent.Add(1)
		traced := request.WithContext(httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { sent.Done() },
		}))
		open.Go(func() { replies[i].Answer, replies[i].Err = client.Do(traced) })
	}
	sent.Wait()
	c.awaitArrival(tb, len(requests))
	c.letGo(tb)
	return func() []Reply {
		open.Wait()
		end()
		return replies
	}
}

// awaitArrival waits until the requests that were sent have come to their commits, as far as that can be told.
func (c Crowd) awaitArrival(tb testing.TB, requests int) {
	tb.Helper()
	if c.Queued != nil {
		Await(tb, "all starts wait for their commit", func() bool { return c.Queued() == requests })
		return
	}
	// When these are answered, those that were sent before have come to their commits.
	passing := NewClient(tb, c.Holder.Tokens.Executor)
	for range requests {
		c.pass(tb, passing)
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
			_, _ = client.Try(tb.Context(), c.Base, Building(tb, "")) // What becomes of it is no matter.
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

// warm has the server open its connections to the database, which would make some of the crowd late.
func (c Crowd) warm(tb testing.TB, requests int) {
	tb.Helper()
	client := NewClient(tb, c.Holder.Tokens.Executor)
	var group sync.WaitGroup
	for range requests {
		group.Go(func() { c.pass(tb, client) })
	}
	group.Wait()
}

// pass sends a request that the server answers at once.
func (c Crowd) pass(tb testing.TB, client *Client) {
	tb.Helper()
	if a := client.Get(tb, c.Base+"/api/me/"); a.Status != http.StatusOK {
		tb.Errorf("answer = %d %s, want 200", a.Status, a.Body)
	}
}
