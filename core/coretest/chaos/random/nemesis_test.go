package random

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// event is one fault, as it was drawn and as it went.
type event struct {
	*fault

	// host is where it strikes, if it strikes one, and dice what else is left to chance.
	host, dice int
	hold, rest time.Duration

	began, ended time.Time
	// happened says that the fault really struck.
	happened bool
}

// String is the event as a line of a timeline.
func (e *event) String() string {
	return fmt.Sprintf("nemesis: %s, host %d, dice %d, for %s, struck %t",
		e.name, e.host, e.dice, e.ended.Sub(e.began).Round(time.Millisecond), e.happened)
}

// fault is a way in which something goes wrong.
type fault struct {
	name   string
	weight int
	// least and most bound for how long it holds.
	least, most time.Duration
	strike      strike
}

// strike makes a fault, and returns what heals it.
type strike func(n *nemesis, tb testing.TB, e *event) func()

// nemesis makes faults: in one lane those of the processes and in another one those of everything around them, so that
// two overlap.
type nemesis struct {
	*stage

	lanes [2][]*event
	// processes is held while the processes change.
	processes sync.Mutex
	// commits counts the errors that were made of commits.
	commits atomic.Int64
}

func processFaults() []*fault {
	return []*fault{
		{"kill -9", 36, 0, time.Second, (*nemesis).kill},
		{"kill -9 of all", 5, 0, time.Second, (*nemesis).killAll},
		{"kill -9 at a commit", 18, 0, 500 * time.Millisecond, (*nemesis).killAtCommit},
		{"freeze", 20, lease / 2, 4 * lease, (*nemesis).freeze},
		{"SIGTERM", 8, 0, 300 * time.Millisecond, (*nemesis).terminate},
	}
}

func otherFaults() []*fault {
	return []*fault{
		{"crash of PostgreSQL", 8, 0, time.Second, (*nemesis).crashPostgres},
		{"all backends terminated", 6, 0, 100 * time.Millisecond, (*nemesis).terminateBackends},
		{"errors at commits", 10, time.Second, 3 * time.Second, (*nemesis).breakCommits},
		{"a session that locks", 4, time.Second, 4 * time.Second, (*nemesis).lockRows},
		{"kill of Redis", 6, 0, 2 * time.Second, (*nemesis).loseRedis},
		{"FLUSHALL", 5, 0, 10 * time.Millisecond, (*nemesis).flushRedis},
		{"network to PostgreSQL cut", 8, 500 * time.Millisecond, 4 * time.Second, network(base, true,
			func(dice int) program.Trouble { return program.Trouble{Refuse: dice%8 < 4, Stall: dice%8 == 4} })},
		{"network to PostgreSQL flapping", 8, time.Second, 4 * time.Second, (*nemesis).flap},
		{"network to PostgreSQL silent", 4, time.Second, 4 * time.Second, network(base, false,
			func(int) program.Trouble { return program.Trouble{Stall: true} })},
		{"network to PostgreSQL slow", 3, time.Second, 3 * time.Second, network(base, false, slow)},
		{"network to Redis cut", 4, 500 * time.Millisecond, 3 * time.Second, network(queue, true,
			func(dice int) program.Trouble { return program.Trouble{Refuse: dice%2 == 0, Stall: dice%2 == 1} })},
		{"network of clients cut", 8, 200 * time.Millisecond, 2 * time.Second, network(front, true,
			func(dice int) program.Trouble { return program.Trouble{Refuse: dice%4 == 0, Stall: dice%4 == 1} })},
		{"network of clients slow", 3, 200 * time.Millisecond, 2 * time.Second, network(front, false, slow)},
		{"answers to clients lost", 6, 200 * time.Millisecond, time.Second, network(front, false,
			func(int) program.Trouble { return program.Trouble{LoseAnswers: true} })},
		{"services in trouble", 8, time.Second, 4 * time.Second, (*nemesis).troubleServices},
	}
}

// newNemesis draws the faults for so long.
func newNemesis(s *stage, seed uint64, long time.Duration) *nemesis {
	n := &nemesis{stage: s}
	for lane, faults := range [][]*fault{processFaults(), otherFaults()} {
		dice := rand.New(rand.NewPCG(seed, uint64(1000+lane)))
		total := 0
		for _, f := range faults {
			total += f.weight
		}
		for at := time.Duration(0); at < long; {
			face := dice.IntN(total)
			chosen := slices.IndexFunc(faults, func(f *fault) bool { face -= f.weight; return face < 0 })
			f := faults[chosen]
			e := &event{
				fault: f, host: dice.IntN(3), dice: dice.IntN(1000),
				hold: f.least + time.Duration(dice.Int64N(int64(f.most-f.least))),
				rest: 200*time.Millisecond + time.Duration(dice.Int64N(int64(900*time.Millisecond))),
			}
			n.lanes[lane] = append(n.lanes[lane], e)
			at += e.hold + e.rest
		}
	}
	return n
}

// run makes the faults until the time is over.
func (n *nemesis) run(tb testing.TB, long time.Duration) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), long)
	defer cancel()
	var lanes sync.WaitGroup
	for _, lane := range n.lanes {
		lanes.Go(func() {
			for _, e := range lane {
				if !rest(ctx, e.rest) {
					return
				}
				e.began = time.Now()
				heal := e.strike(n, tb, e)
				rest(ctx, e.hold)
				heal()
				e.ended = time.Now()
				n.processes.Lock()
				n.revive(tb)
				n.processes.Unlock()
			}
		})
	}
	lanes.Wait()
}

// rest reports false when the time was over before.
func rest(ctx context.Context, long time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(long):
		return true
	}
}

// events are those that have begun.
func (n *nemesis) events() []*event {
	begun := slices.DeleteFunc(slices.Concat(n.lanes[0], n.lanes[1]), func(e *event) bool { return e.ended.IsZero() })
	slices.SortFunc(begun, func(a, b *event) int { return a.began.Compare(b.began) })
	return begun
}

func (n *nemesis) target(e *event) *host { return n.hosts[e.host] }

// down marks the hosts, and returns what starts them again.
func (n *nemesis) down(tb testing.TB, hosts ...*host) func() {
	tb.Helper()
	n.processes.Lock()
	defer n.processes.Unlock()
	for _, h := range hosts {
		h.down = true
	}
	return func() {
		n.processes.Lock()
		defer n.processes.Unlock()
		for _, h := range hosts {
			h.down = false // Whoever comes next starts it.
		}
	}
}

func (n *nemesis) kill(tb testing.TB, e *event) func() {
	tb.Helper()
	return n.killThese(tb, e, n.target(e))
}

func (n *nemesis) killAll(tb testing.TB, e *event) func() {
	tb.Helper()
	return n.killThese(tb, e, n.hosts...)
}

func (n *nemesis) killThese(tb testing.TB, e *event, hosts ...*host) func() {
	tb.Helper()
	up := n.down(tb, hosts...)
	for _, h := range hosts {
		e.happened = e.happened || !h.HasEnded()
		h.Kill()
	}
	return up
}

// killAtCommit kills a server just before or just after one of its next commits.
func (n *nemesis) killAtCommit(tb testing.TB, e *event) func() {
	tb.Helper()
	h, struck := n.target(e), make(chan struct{})
	left := atomic.Int64{}
	left.Store(int64(1 + e.dice%5))
	up := n.down(tb, h)
	kill := func() { h.Kill(); close(struck) }
	h.proxy.Watch(func(pgproxy.Commit) pgproxy.Fault {
		if left.Add(-1) != 0 {
			return pgproxy.Fault{}
		}
		if e.dice%2 == 0 {
			return pgproxy.Fault{Before: kill}
		}
		return pgproxy.Fault{After: kill}
	})
	select {
	case <-struck:
		e.happened = true
	case <-time.After(3 * time.Second):
	}
	return func() { h.proxy.Watch(passing); up() }
}

func passing(pgproxy.Commit) pgproxy.Fault { return pgproxy.Fault{} }

func (n *nemesis) freeze(tb testing.TB, e *event) func() {
	tb.Helper()
	h := n.target(e)
	up := n.down(tb, h)
	e.happened = !h.HasEnded() && h.Freeze() == nil
	return func() {
		_ = h.Send(syscall.SIGCONT) // It may have ended.
		up()
	}
}

// terminate ends a server as an update does. However much is out of order, it ends in time and as it should.
func (n *nemesis) terminate(tb testing.TB, e *event) func() {
	tb.Helper()
	h := n.target(e)
	up := n.down(tb, h)
	if e.happened = h.Ready(tb.Context()) && h.Send(syscall.SIGTERM) == nil; e.happened {
		if code := h.ExitCode(tb); code != 0 {
			tb.Errorf("exit code of %s = %d, want 0", h.name, code)
		}
	}
	h.Kill()
	return up
}

func (n *nemesis) crashPostgres(tb testing.TB, e *event) func() {
	tb.Helper()
	n.stopPostgres(tb)
	e.happened = true
	return func() { n.postgres = coretest.StartPostgres(tb, n.folder) }
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

func (n *nemesis) loseRedis(tb testing.TB, e *event) func() {
	tb.Helper()
	n.killRedis()
	e.happened = true
	return func() { n.killRedis = coretest.StartRedis(tb, n.Redis) }
}

func (n *nemesis) flushRedis(tb testing.TB, e *event) func() {
	tb.Helper()
	options, err := redis.ParseURL(n.Redis)
	if err != nil {
		tb.Errorf("read the address of Redis: %v", err)
		return func() {}
	}
	queue := redis.NewClient(options)
	e.happened = queue.FlushAll(tb.Context()).Err() == nil
	_ = queue.Close() // Nothing is lost with it.
	return func() {}
}

func base(n *nemesis, e *event) *program.Link  { return n.target(e).base }
func queue(n *nemesis, e *event) *program.Link { return n.target(e).queue }
func front(n *nemesis, e *event) *program.Link { return n.fronts()[e.host%2].front }

func slow(dice int) program.Trouble {
	return program.Trouble{Delay: time.Duration(5+dice%40) * time.Millisecond}
}

// network gives a link of a host trouble, and cuts its connections on one side or on both if that is wanted.
func network(
	of func(n *nemesis, e *event) *program.Link, cut bool, trouble func(dice int) program.Trouble,
) strike {
	return func(n *nemesis, tb testing.TB, e *event) func() { //nolint:thelper // The order is that of methods.
		tb.Helper()
		l, sides := of(n, e), []program.Side{program.Clients, program.Servers, program.Both}
		l.Become(trouble(e.dice))
		if cut {
			l.Cut(sides[e.dice/8%len(sides)], e.dice%16 < 8)
		}
		e.happened = true
		return l.Mend
	}
}

// flap loses the sessions of a server in the middle of whatever they do, again and again. PostgreSQL does not notice,
// so that what they have locked stays locked for a while.
func (n *nemesis) flap(_ testing.TB, e *event) func() {
	l, stop := n.target(e).base, make(chan struct{})
	var flapping sync.WaitGroup
	flapping.Go(func() {
		for {
			l.Cut(program.Clients, e.dice%2 == 0)
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(30+e.dice%200) * time.Millisecond):
			}
		}
	})
	e.happened = true
	return func() {
		close(stop)
		flapping.Wait()
		l.Mend()
	}
}

// troubleServices has the billing service and the validator fail before and after they have acted.
func (n *nemesis) troubleServices(_ testing.TB, e *event) func() {
	behaviors := []outside.Behavior{
		outside.FailBefore, outside.DropBefore, outside.FailAfter, outside.DropAfter, outside.Truncate, outside.Hang,
	}
	chosen := behaviors[e.dice%len(behaviors)]
	n.billing.Usually(chosen)
	n.validator.Usually(chosen)
	e.happened = true
	return func() {
		n.billing.Usually(outside.Accept)
		n.validator.Usually(outside.Pass)
	}
}
