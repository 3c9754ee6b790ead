package chaos

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
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

// fill starts runs that wait, some of them in the queue, because nothing executes any.
func fill(tb testing.TB, i *program.Installation, s *program.Server, name string) *program.History {
	tb.Helper()
	h := program.NewHistory()
	c := program.NewClient(tb, i.Harbour.Tokens.Executor)
	document := program.Readings(tb, "")
	var group sync.WaitGroup
	const clients = 8
	for n := range clients {
		group.Go(func() {
			for k := n; k < pendingRuns; k += clients {
				o := document
				o.Key = fmt.Sprintf("%s-%d", name, k)
				a, err := c.Try(tb.Context(), s.URL(), o)
				if err != nil || !a.Created() {
					tb.Errorf("start with key %s = %d, %v, want 201", o.Key, a.Status, err)
					return
				}
				if err := h.Note(o.Key, a); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	group.Wait()
	queue := redisClient(tb, i.Redis)
	program.Await(tb, "jobs are in the queue", func() bool {
		waiting, err := queue.LLen(tb.Context(), pendingList).Result()
		return err == nil && waiting > 0
	})
	return h
}

func TestRedisEmptied(t *testing.T) {
	t.Parallel()
	i := program.Install(t, program.Reachable)
	web := program.Serve(t, i.Settings, "--only", "web")
	told := program.Listen(t, web.URL(), i.Harbour.Tokens.Owner)
	h := fill(t, i, web, "emptied")
	if err := redisClient(t, i.Redis).FlushAll(t.Context()).Err(); err != nil {
		t.Fatalf("empty Redis: %v", err)
	}
	program.Launch(t, i.Settings, "", "serve", "--only", "worker")
	program.CheckAtRest(t, i.DB)
	h.Check(t, i.DB, i.Harbour.ID)
	checkEachOnce(t, i)
	program.CheckTold(t, i.DB, told)
}

func TestRedisKilled(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	web := program.Serve(t, i.Settings, "--only", "web")
	h := fill(t, i, web, "before")
	// The first Redis belongs to the installation and can only be told to end, which it does instead of answering.
	_ = redisClient(t, i.Redis).ShutdownNoSave(t.Context()).Err()
	losing := restartRedis(t, i.Redis)
	program.Launch(t, i.Settings, "", "serve", "--only", "worker")
	l := program.StartLoad(t, i.Harbour.Tokens.Executor, web.URL)
	for range redisLosses {
		l.AwaitProgress(t, mostLife)
		losing.Kill()
		// Starts do not need Redis.
		l.AwaitProgress(t, leastLife)
		losing = restartRedis(t, i.Redis)
	}
	l.Finish(t)
	program.CheckAtRest(t, i.DB)
	l.History.Add(h)
	l.History.Check(t, i.DB, i.Harbour.ID)
	checkEachOnce(t, i)
}

// checkEachOnce demands that no step was done twice, and that all documents were judged alike.
func checkEachOnce(tb testing.TB, i *program.Installation) {
	tb.Helper()
	if got := program.Count(tb, i.DB, `
		SELECT count(*) FROM (
			SELECT run_id, ordinal FROM step_runs GROUP BY 1, 2 HAVING count(*) <> 1) AS v`); got != 0 {
		tb.Errorf("steps that were done twice = %d, want 0", got)
	}
	if got := program.Count(tb, i.DB, `
		SELECT count(*) FROM (SELECT DISTINCT workflow_id, result, error_count, warning_count, recovery_point
			FROM validation_runs) AS v`); got > 2 {
		tb.Errorf("verdicts over two documents = %d, want one for each", got)
	}
}

// restartRedis starts an empty Redis in the place of one that has ended.
func restartRedis(tb testing.TB, address string) *program.Process {
	tb.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	host, port, err := net.SplitHostPort(options.Addr)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	var p *program.Process
	// The port is free only when the one before has ended.
	program.Await(tb, "Redis starts again", func() bool {
		if p == nil || p.HasEnded() {
			p = program.LaunchCommand(tb, exec.Command("redis-server", "--bind", host, "--port", port,
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
	i := program.Install(t)
	// It ends instead of answering.
	_ = redisClient(t, i.Redis).ShutdownNoSave(t.Context()).Err()
	s := program.Serve(t, i.Settings)
	c := program.NewClient(t, i.Harbour.Tokens.Executor)
	if a := c.Get(t, s.URL()+"/readyz/"); !strings.Contains(string(a.Body), "degraded") {
		t.Errorf("readiness = %s, want a degraded Redis in it", a.Body)
	}
	o := program.Readings(t, "no-redis")
	first := c.Start(t, s.URL(), o)
	program.WantCreated(t, first)
	program.WantReplay(t, c.Start(t, s.URL(), o), first)
	restartRedis(t, i.Redis)
	program.CheckAtRest(t, i.DB)
}

// A Redis that is full answers, but takes no message of a worker or for one.
func TestReadinessOfAFullRedis(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	s := program.Serve(t, i.Settings)
	c := program.NewClient(t, i.Harbour.Tokens.Executor)
	for memory, want := range map[string]string{"1": "degraded", "0": `"redis":"ok"`} {
		if err := redisClient(t, i.Redis).ConfigSet(t.Context(), "maxmemory", memory).Err(); err != nil {
			t.Fatal(err)
		}
		if a := c.Get(t, s.URL()+"/readyz/"); !strings.Contains(string(a.Body), want) {
			t.Errorf("readiness with maxmemory %s = %s, want %s", memory, a.Body, want)
		}
	}
}

func TestServeRefusesAnEvictingRedis(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	if err := redisClient(t, i.Redis).ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatalf("set the policy of Redis: %v", err)
	}
	wantSaid(t, program.Refuse(t, i.Settings, "serve"), "allkeys-lru")
}
