package random

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/chaos/requests"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

const (
	// floodSenders is how many requests of a flood are under way at once. Each sender sends so many beside other
	// faults, or where nothing is out of order.
	floodSenders, faultyOrders, calmOrders = 12, 15, 60
	// slowReaders are so many connections, with so many answers unread on each.
	slowReaders, unread = 20, 200
)

// spell is a time for which an organization is suspended: from begin, certainly from sure to unsure, and until end.
type spell struct{ begin, sure, unsure, end time.Time }

// suspend suspends one of the organizations that stay for a while.
func (n *nemesis) suspend(tb testing.TB, e *event) func() {
	tb.Helper()
	if !n.migrated { // The previous release has other commands for it.
		return func() {}
	}
	o := n.orgs[e.dice%organizations]
	s := n.beginSpell(tb, o)
	e.happened = true
	return func() {
		s.unsure = time.Now()
		n.command(tb, "org", "set", o.Slug, "--suspended=false", "--reason", "chaos")
		s.end = time.Now()
	}
}

func (n *nemesis) beginSpell(tb testing.TB, o *org) *spell {
	tb.Helper()
	s := &spell{begin: time.Now()}
	o.spells = append(o.spells, s)
	n.command(tb, "org", "set", o.Slug, "--suspended", "--reason", "chaos")
	s.sure = time.Now()
	return s
}

// command runs a command until it succeeds. What it does once more changes nothing.
func (n *nemesis) command(tb testing.TB, args ...string) {
	tb.Helper()
	var p *program.Process
	for range 20 {
		p = program.Launch(quiet{tb}, n.Settings, "", args...)
		p.AwaitEnd(tb)
		if p.Succeeded() {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	tb.Errorf("%v failed again and again: %s", args, p.Stderr())
}

// leave deletes the next organization that may leave or moves it to the other cell, whose command is killed once.
func (n *nemesis) leave(tb testing.TB, e *event) func() {
	tb.Helper()
	chosen := organizations
	for chosen < len(n.orgs) && !n.orgs[chosen].leaves.IsZero() {
		chosen++
	}
	if chosen == len(n.orgs) {
		return n.suspend(tb, e)
	}
	o := n.orgs[chosen]
	args := []string{"org", "delete", o.Slug}
	if o.moves = chosen%2 == 0; o.moves {
		args = []string{"org", "move", o.Slug, "--to", n.file, "--within", "8s"}
	} else {
		n.beginSpell(tb, o)
	}
	n.crowd.note(map[bool]string{true: "moved", false: "deleted"}[o.moves])
	o.leaves = time.Now()
	killed := program.Launch(quiet{tb}, n.Settings, "", args...)
	e.happened = true
	return func() {
		killed.Kill()
		if !killed.Succeeded() {
			n.command(tb, args...)
		}
		o.left = time.Now()
	}
}

// flood has the clients of one organization send as much as they can.
func (n *nemesis) flood(tb testing.TB, e *event) func() {
	tb.Helper()
	var open sync.WaitGroup
	n.crowd.flood(tb.Context(), &open, e.id, faultyOrders)
	e.happened = true
	return open.Wait
}

// flood returns when all has been begun.
func (c *crowd) flood(ctx context.Context, open *sync.WaitGroup, name string, orders int) {
	for sender := range floodSenders {
		v := &virtual{crowd: c}
		open.Go(func() {
			for k := range orders {
				_ = v.send(ctx, &requests.Order{ // The history has it.
					Who: "flooding", Document: "A", Key: fmt.Sprintf("%s-%s-%d-%d", c.orgs[0].Slug, name, sender, k),
				}, 1, answerPatience)
			}
		})
	}
}

// slowReaders ask for long lists and do not read them.
func (n *nemesis) slowReaders(tb testing.TB, e *event) func() {
	tb.Helper()
	request := fmt.Sprintf("GET /api/runs/?limit=100 HTTP/1.1\r\nHost: slow\r\nAuthorization: Bearer %s\r\n\r\n",
		n.orgs[0].Tokens.Owner)
	var open []net.Conn
	for k := range slowReaders {
		var dialer net.Dialer
		conn, err := dialer.DialContext(tb.Context(), "tcp", n.fronts()[k%2].front.Address())
		if err != nil {
			break // The server may be down.
		}
		open = append(open, conn)
		// So many answers fill what stands between them and the server.
		_, err = io.WriteString(conn, strings.Repeat(request, unread))
		_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // It is open.
		if _, readErr := io.ReadFull(conn, make([]byte, 1)); err != nil || readErr != nil {
			break
		}
		e.happened = true
	}
	return func() {
		for _, conn := range open {
			_ = conn.Close() // It was only read.
		}
	}
}

// judgeStanding holds an answer against what was done with the organization. It reports whether the rest of the checks
// are for it.
func (t *trial) judgeStanding(name string, a *requests.Attempt) bool {
	o := t.orgs[a.Org]
	suspended := a.Shown.Code == api.CodeOrganizationSuspended
	allowed := false
	for _, s := range o.spells {
		during := a.End.After(s.begin) && (s.end.IsZero() || a.Call.Before(s.end))
		allowed = allowed || during
		certain := a.Call.After(s.sure) && (s.unsure.IsZero() || a.End.Before(s.unsure))
		if _, created := a.Created(); created && certain {
			t.fail(name, "%s was answered although its organization was suspended", a.ID)
		}
	}
	switch {
	case suspended:
		t.counts["suspended"]++
		if !allowed {
			t.fail(name, "%s was told that its organization is suspended", a.ID)
		}
		return false
	case a.Status == http.StatusUnauthorized && !o.leaves.IsZero() && !o.moves && a.End.After(o.leaves):
		t.counts["gone"]++
		return false
	case !o.left.IsZero() && !o.moves && a.Call.After(o.left) && a.Definite():
		t.fail(name, "%s was answered %d although its organization was deleted", a.ID, a.Status)
	}
	return true
}

// excused reports whether an organization that leaves explains what a trigger has found.
func (t *trial) excused(found *misdeed) bool {
	o := t.orgs[t.number(found.OrgID)]
	return found.Became == "nothing" && !o.leaves.IsZero() && found.At.After(o.leaves)
}

// judgeLeft wants nothing to be left of organizations where they have left.
func (t *trial) judgeLeft(tb testing.TB) {
	tb.Helper()
	for n, o := range t.orgs {
		if o.left.IsZero() {
			continue
		}
		program.Await(tb, "nothing is left of "+o.Slug, func() bool {
			return len(program.RowsOf(tb, t.DB, o.ID)) == 0
		})
		there := program.Count(tb, t.other.DB, "SELECT count(*) FROM validation_runs WHERE org_id = $1", o.ID)
		runs := 0
		for _, r := range t.runs {
			if r.OrgID == o.ID {
				runs++
			}
		}
		if o.moves && there != runs || !o.moves && there != 0 {
			t.fail("", "organization %d has %d runs in the other cell, of %d", n, there, runs)
		}
	}
}

// calm is part of the keys of a flood that comes when nothing is out of order.
const calm = "calm"

// floodCalmly lets a flood into the queue at once, beside what the other clients do. It returns when that was.
func (c *crowd) floodCalmly(tb testing.TB) time.Time {
	tb.Helper()
	conn, err := c.DB.Pool.Acquire(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(tb.Context(), `SELECT pg_advisory_lock($1)`, jobs.EnqueueLock); err != nil {
		tb.Fatal(err)
	}
	var open sync.WaitGroup
	c.flood(tb.Context(), &open, calm, calmOrders)
	open.Wait()
	flooded := time.Now()
	if _, err := conn.Exec(tb.Context(), `SELECT pg_advisory_unlock($1)`, jobs.EnqueueLock); err != nil {
		tb.Fatal(err)
	}
	program.Await(tb, "the flood is over", func() bool {
		return program.Count(tb, c.DB, `SELECT count(*) FROM validation_runs
			WHERE org_id = $1 AND state <> 'COMPLETED'`, c.orgs[0].ID) == 0
	})
	return flooded
}
