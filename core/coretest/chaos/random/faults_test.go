package random

import (
	"context"
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

func (n *nemesis) processFaults() []*fault {
	return []*fault{
		{"kill -9", 36, 0, time.Second, (*nemesis).kill},
		{"kill -9 of all", 5, 0, time.Second, (*nemesis).killAll},
		{"kill -9 at a commit", 18, 0, 500 * time.Millisecond, (*nemesis).killAtCommit},
		{"freeze", 20, lease / 2, 4 * lease, (*nemesis).freeze},
		{"SIGTERM", n.profile.releases, 0, 300 * time.Millisecond, (*nemesis).terminate},
		{"migration", n.profile.migrations, 0, 500 * time.Millisecond, (*nemesis).migrate},
	}
}

func (n *nemesis) otherFaults() []*fault {
	return []*fault{
		{"crash of PostgreSQL", 8, 0, time.Second, (*nemesis).crashPostgres},
		{"failover", 5, 0, time.Second, (*nemesis).failOver},
		{"loss of the standby", 4, time.Second, 3 * time.Second, (*nemesis).loseStandby},
		{"flush that fails", 4, 500 * time.Millisecond, time.Second, (*nemesis).failDisk},
		{"full disk", 4, time.Second, 3 * time.Second, (*nemesis).fillDisk},
		{"read-only", 4, time.Second, 3 * time.Second, (*nemesis).onlyRead},
		{"step of the clock", 5, 0, time.Second, (*nemesis).stepClock},
		{"turn of the month", 3, time.Second, 2 * time.Second, (*nemesis).turnMonth},
		{"all backends terminated", 6, 0, 100 * time.Millisecond, (*nemesis).terminateBackends},
		{"errors at commits", 10, time.Second, 3 * time.Second, (*nemesis).breakCommits},
		{"a session that locks", 4, time.Second, 4 * time.Second, (*nemesis).lockRows},
		{"kill of Redis", 6, 0, 2 * time.Second, (*nemesis).loseRedis},
		{"FLUSHALL", 5, 0, 10 * time.Millisecond, (*nemesis).flushRedis},
		{"Redis set back", 5, 500 * time.Millisecond, 2 * time.Second, (*nemesis).setRedisBack},
		{"Redis full", 3, 500 * time.Millisecond, 2 * time.Second, (*nemesis).fillRedis},
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
		{"suspension", 5, 500 * time.Millisecond, 2 * time.Second, (*nemesis).suspend},
		{"an organization leaves", 3 + n.profile.leaving, 200 * time.Millisecond, time.Second, (*nemesis).leave},
		{"flood by one organization", 4, 0, time.Second, (*nemesis).flood},
		{"slow readers", 4, time.Second, 3 * time.Second, (*nemesis).slowReaders},
	}
}

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

// terminate ends a server as an update does. However much is out of order, it ends in time and as it should. Where two
// releases run beside each other, either takes its place.
func (n *nemesis) terminate(tb testing.TB, e *event) func() {
	tb.Helper()
	h := n.target(e)
	up := n.down(tb, h)
	if e.happened = h.Ready(tb.Context()) && h.Send(syscall.SIGTERM) == nil; e.happened {
		if code := h.ExitCode(tb); code != 0 {
			said := strings.Split(strings.TrimSpace(h.Stderr()), "\n")
			last := strings.Join(said[max(0, len(said)-10):], "\n")
			tb.Errorf("exit code of %s = %d, want 0:\n%s", h.name, code, last)
		}
	}
	h.Kill()
	if n.migrated {
		releases := []string{n.newer, n.older}
		h.settings = append(slices.Clip(h.settings), programVariable+"="+releases[e.dice%len(releases)])
	}
	return up
}

// migrate makes the schema that of this release, while the servers are still those of the previous one. The command is
// killed once. Later on a server is replaced instead.
func (n *nemesis) migrate(tb testing.TB, e *event) func() {
	tb.Helper()
	if n.migrated {
		return n.terminate(tb, e)
	}
	settings := append(slices.Clip(n.Settings), programVariable+"="+n.newer)
	killed := program.Launch(quiet{tb}, settings, "", "migrate", "up")
	e.happened = true
	return func() {
		killed.Kill()
		n.update(tb)
	}
}

// update has commands be those of this release from now on, whose schema it makes at first.
func (n *nemesis) update(tb testing.TB) {
	tb.Helper()
	n.Settings = append(slices.Clip(n.Settings), programVariable+"="+n.newer)
	n.command(tb, "migrate", "up")
	n.migrated = true
}

func (n *nemesis) loseRedis(tb testing.TB, e *event) func() {
	tb.Helper()
	n.killRedis()
	e.happened = true
	return func() { n.killRedis = coretest.StartRedis(tb, n.Redis) }
}

// redis is a client of the Redis of both cells.
func (s *stage) redis(tb testing.TB) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(s.Redis)
	if err != nil {
		tb.Errorf("read the address of Redis: %v", err)
	}
	return redis.NewClient(options)
}

func (n *nemesis) flushRedis(tb testing.TB, e *event) func() {
	tb.Helper()
	queue := n.redis(tb)
	e.happened = queue.FlushAll(tb.Context()).Err() == nil
	_ = queue.Close() // Nothing is lost with it.
	return func() {}
}

// setRedisBack gives Redis back what it held a while before, and nothing else, as one does that starts from its last
// snapshot.
func (n *nemesis) setRedisBack(tb testing.TB, e *event) func() {
	tb.Helper()
	queue := n.redis(tb)
	ctx := context.WithoutCancel(tb.Context())
	var restore []func(redis.Pipeliner)
	for keys := queue.Scan(ctx, 0, "*", 1000).Iterator(); keys.Next(ctx); {
		key, left := keys.Val(), max(0, queue.PTTL(ctx, keys.Val()).Val())
		if dump, err := queue.Dump(ctx, key).Result(); err == nil {
			restore = append(restore, func(all redis.Pipeliner) { all.Restore(ctx, key, left, dump) })
		}
	}
	return func() {
		_, err := queue.TxPipelined(ctx, func(all redis.Pipeliner) error {
			all.FlushDB(ctx)
			for _, key := range restore {
				key(all)
			}
			return nil
		})
		e.happened = err == nil && len(restore) > 0
		_ = queue.Close() // Nothing is lost with it.
	}
}

// fillRedis has Redis take nothing more.
func (n *nemesis) fillRedis(tb testing.TB, e *event) func() {
	tb.Helper()
	queue := n.redis(tb)
	e.happened = queue.ConfigSet(tb.Context(), "maxmemory", "1").Err() == nil
	return func() {
		if err := queue.ConfigSet(context.WithoutCancel(tb.Context()), "maxmemory", "0").Err(); err != nil {
			tb.Errorf("give Redis its memory back: %v", err)
		}
		_ = queue.Close() // Nothing is lost with it.
	}
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

// troubleServices has the billing service, the validator and the receivers of webhooks fail before and after they have
// acted.
func (n *nemesis) troubleServices(_ testing.TB, e *event) func() {
	behaviors := []outside.Behavior{
		outside.FailBefore, outside.DropBefore, outside.FailAfter, outside.DropAfter, outside.Truncate, outside.Hang,
	}
	chosen := behaviors[e.dice%len(behaviors)]
	become := func(now, validator outside.Behavior) {
		n.billing.Usually(now)
		n.validator.Usually(validator)
		for _, o := range n.orgs {
			o.told.Usually(now)
		}
	}
	become(chosen, chosen)
	e.happened = true
	return func() { become(outside.Accept, outside.Pass) }
}
