package chaos

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// pendingList is where the queue keeps what no worker has taken yet.
const pendingList = "asynq:{jobs}:pending"

func redisClient(tb testing.TB, address string) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	c := redis.NewClient(options)
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close the Redis client: %v", err)
		}
	})
	return c
}

// fill starts runs that wait in the queue, because nothing executes any.
func fill(tb testing.TB, i *installation, s *server, name string) *history {
	tb.Helper()
	h := newHistory()
	c := newClient(tb, i.harbour.Tokens.Executor)
	document := readings(tb, "")
	var group sync.WaitGroup
	const clients = 8
	for n := range clients {
		group.Go(func() {
			for k := n; k < pendingRuns; k += clients {
				o := document
				o.key = fmt.Sprintf("%s-%d", name, k)
				a, err := c.try(tb.Context(), s.url(), o)
				if err != nil || !a.created() {
					tb.Errorf("start with key %s = %d, %v, want 201", o.key, a.status, err)
					return
				}
				if err := h.note(o.key, a); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	group.Wait()
	await(tb, "all jobs are in the queue", func() bool {
		return count(tb, i.db, "SELECT count(*) FROM staged_jobs") == 0
	})
	return h
}

func TestRedisEmptied(t *testing.T) {
	t.Parallel()
	i := install(t)
	web := serve(t, i.settings, "--only", "web")
	h := fill(t, i, web, "emptied")
	queue := redisClient(t, i.redis)
	waiting, err := queue.LLen(t.Context(), pendingList).Result()
	if err != nil || waiting != pendingRuns {
		t.Fatalf("waiting jobs = %d, %v, want %d", waiting, err, pendingRuns)
	}
	if err := queue.FlushAll(t.Context()).Err(); err != nil {
		t.Fatalf("empty Redis: %v", err)
	}
	launch(t, i.settings, "", "serve", "--only", "worker")
	checkAtRest(t, i.db)
	h.check(t, i.db, i.harbour.ID)
	checkEachOnce(t, i)
}

func TestRedisKilled(t *testing.T) {
	t.Parallel()
	i := install(t)
	web := serve(t, i.settings, "--only", "web")
	h := fill(t, i, web, "before")
	// The first Redis belongs to the installation and can only be told to end, which it does instead of answering.
	_ = redisClient(t, i.redis).ShutdownNoSave(t.Context()).Err()
	losing := restartRedis(t, i.redis)
	launch(t, i.settings, "", "serve", "--only", "worker")
	l := startLoad(t, i.harbour.Tokens.Executor, web.url)
	for range redisLosses {
		l.awaitProgress(t, mostLife)
		losing.kill()
		// Starts do not need Redis.
		l.awaitProgress(t, leastLife)
		losing = restartRedis(t, i.redis)
	}
	l.finish(t)
	checkAtRest(t, i.db)
	maps.Copy(l.history.first, h.first)
	l.history.check(t, i.db, i.harbour.ID)
	checkEachOnce(t, i)
}

// checkEachOnce demands that no step was done twice, and that all documents were judged alike.
func checkEachOnce(tb testing.TB, i *installation) {
	tb.Helper()
	if got := count(tb, i.db, `
		SELECT count(*) FROM (SELECT run_id FROM step_runs GROUP BY 1 HAVING count(*) <> 1) AS v`); got != 0 {
		tb.Errorf("runs without exactly one step = %d, want 0", got)
	}
	if got := count(tb, i.db, `
		SELECT count(*) FROM (SELECT DISTINCT workflow_id, result, error_count, warning_count
			FROM validation_runs) AS v`); got > 2 {
		tb.Errorf("verdicts over two documents = %d, want one for each", got)
	}
}

// restartRedis starts an empty Redis in the place of one that has ended.
func restartRedis(tb testing.TB, address string) *process {
	tb.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	host, port, err := net.SplitHostPort(options.Addr)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	var p *process
	// The port is free only when the one before has ended.
	await(tb, "Redis starts again", func() bool {
		if p == nil || p.hasEnded() {
			p = launchCommand(tb, exec.Command("redis-server", "--bind", host, "--port", port,
				"--requirepass", options.Password, "--dir", tb.TempDir(), "--save", "", "--appendonly", "no",
				"--maxmemory-policy", "noeviction"))
		}
		return pings(tb.Context(), options)
	})
	return p
}

func pings(ctx context.Context, options *redis.Options) bool {
	c := redis.NewClient(options)
	defer c.Close()
	return c.Ping(ctx).Err() == nil
}

func TestServeWithoutRedis(t *testing.T) {
	t.Parallel()
	i := install(t)
	// It ends instead of answering.
	_ = redisClient(t, i.redis).ShutdownNoSave(t.Context()).Err()
	s := serve(t, i.settings)
	c := newClient(t, i.harbour.Tokens.Executor)
	if a := c.get(t, s.url()+"/readyz/"); !strings.Contains(string(a.body), "degraded") {
		t.Errorf("readiness = %s, want a degraded Redis in it", a.body)
	}
	o := readings(t, "no-redis")
	first := c.start(t, s.url(), o)
	wantCreated(t, first)
	wantReplay(t, c.start(t, s.url(), o), first)
	restartRedis(t, i.redis)
	checkAtRest(t, i.db)
}

func TestServeRefusesAnEvictingRedis(t *testing.T) {
	t.Parallel()
	i := install(t)
	if err := redisClient(t, i.redis).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatalf("set the policy of Redis: %v", err)
	}
	wantSaid(t, refuse(t, i.settings, "serve"), "allkeys-lru")
}
