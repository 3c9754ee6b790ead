//go:build slow

package operations

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	// pendingList is where the queue keeps what no worker has taken yet.
	pendingList = "asynq:{jobs}:pending"
	// watchedName is what the sentinels call the servers that they watch.
	watchedName = "queue"
)

// queue is a Redis of several servers.
type queue struct {
	url string
	// master returns the address of the server that has the queue now.
	master  func(ctx context.Context) (string, error)
	servers map[string]*program.Process
}

// TestRedisFailsOver kills the server that has the queue while runs are started and executed. Another one takes its
// place, and what only the dead one knew is found in PostgreSQL.
func TestRedisFailsOver(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) queue{"Sentinel": sentinels, "Cluster": cluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := start(t)
			address := coretest.DatabaseURL(t)
			i := program.InstallOn(t, address, q.url, "DATABASE_URL="+address)
			servers := []string{program.Serve(t, i.Settings).URL(), program.Serve(t, i.Settings).URL()}
			var turn atomic.Int64
			l := program.StartLoad(t, i.Harbour.Tokens.Executor, func() string {
				return servers[int(turn.Add(1))%len(servers)]
			})
			l.AwaitProgress(t, beforeFailover)
			dead := q.masterNow(t)
			q.servers[dead].Kill()
			// Starts do not need Redis.
			l.AwaitProgress(t, afterFailover)
			program.Await(t, "another server has the queue", func() bool {
				now, err := q.master(t.Context())
				return err == nil && now != dead
			})
			l.AwaitProgress(t, afterFailover)
			l.Finish(t)
			program.CheckAtRest(t, i.DB)
			l.History.Check(t, i.DB, i.Harbour.ID)
			if got := l.Unheard.Load() + l.Refused.Load(); got > 0 {
				t.Errorf("requests that were refused or not answered = %d, want none", got)
			}
		})
	}
}

func (q queue) masterNow(tb testing.TB) string {
	tb.Helper()
	address, err := q.master(tb.Context())
	if err != nil {
		tb.Fatalf("find the server with the queue: %v", err)
	}
	return address
}

// sentinels starts a server, its replica and three sentinels.
func sentinels(tb testing.TB) queue {
	tb.Helper()
	first, second := coretest.FreeAddress(tb), coretest.FreeAddress(tb)
	q := queue{servers: map[string]*program.Process{first: startRedis(tb, first)}}
	host, port := split(tb, first)
	q.servers[second] = startRedis(tb, second, "--replicaof", host+" "+port)
	var watchers []string
	for range 3 {
		watchers = append(watchers, startSentinel(tb, host, port))
	}
	q.url = fmt.Sprintf("redis-sentinel://%s/0?master_name=%s&addr=%s", watchers[0], watchedName,
		strings.Join(watchers[1:], "&addr="))
	watcher := redis.NewSentinelClient(&redis.Options{Addr: watchers[0]})
	tb.Cleanup(func() { _ = watcher.Close() }) // It ends with what it talks to.
	q.master = func(ctx context.Context) (string, error) {
		found, err := watcher.GetMasterAddrByName(ctx, watchedName).Result()
		return strings.Join(found, ":"), err
	}
	program.Await(tb, "the sentinels know each other and the replica", func() bool {
		replicas, err := watcher.Replicas(tb.Context(), watchedName).Result()
		others, otherErr := watcher.Sentinels(tb.Context(), watchedName).Result()
		return err == nil && otherErr == nil && len(others) == 2 &&
			len(replicas) == 1 && replicas[0]["master-link-status"] == "ok"
	})
	return q
}

func startSentinel(tb testing.TB, host, port string) string {
	tb.Helper()
	address := coretest.FreeAddress(tb)
	own, ownPort := split(tb, address)
	dir := tb.TempDir()
	settings := fmt.Sprintf("bind %s\nport %s\ndir %s\nsentinel monitor %s %s %s 2\n"+
		"sentinel down-after-milliseconds %[4]s 1000\nsentinel failover-timeout %[4]s 5000\n",
		own, ownPort, dir, watchedName, host, port)
	file := filepath.Join(dir, "sentinel.conf")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		tb.Fatalf("write the settings of a sentinel: %v", err)
	}
	program.LaunchCommand(tb, exec.Command("redis-server", file, "--sentinel"))
	awaitRedis(tb, address)
	return address
}

// cluster starts three masters with a replica each.
func cluster(tb testing.TB) queue {
	tb.Helper()
	const nodes = 6
	q := queue{servers: map[string]*program.Process{}}
	var addresses []string
	for range nodes {
		address := coretest.FreeAddress(tb)
		_, bus := split(tb, coretest.FreeAddress(tb))
		q.servers[address] = startRedis(tb, address, "--cluster-enabled", "yes", "--cluster-port", bus,
			"--cluster-node-timeout", "2000")
		addresses = append(addresses, address)
	}
	arguments := append([]string{"--cluster", "create"}, addresses...)
	making := exec.CommandContext(tb.Context(), "redis-cli",
		append(arguments, "--cluster-replicas", "1", "--cluster-yes")...)
	if output, err := making.CombinedOutput(); err != nil {
		tb.Fatalf("make the cluster: %v: %s", err, output)
	}
	q.url = fmt.Sprintf("redis-cluster://%s?addr=%s", addresses[0], strings.Join(addresses[1:], "&addr="))
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses})
	tb.Cleanup(func() { _ = client.Close() }) // It ends with what it talks to.
	q.master = func(ctx context.Context) (string, error) {
		client.ReloadState(ctx)
		// A command that reaches the server shows that it is there.
		if err := client.LLen(ctx, pendingList).Err(); err != nil {
			return "", err
		}
		node, err := client.MasterForKey(ctx, pendingList)
		if err != nil {
			return "", err
		}
		return node.Options().Addr, nil
	}
	program.Await(tb, "every master has a replica that follows it", func() bool {
		return replicasInSync(tb.Context(), addresses) == nodes/2
	})
	return q
}

// replicasInSync counts the servers that have all of their master's data.
func replicasInSync(ctx context.Context, addresses []string) int {
	count := 0
	for _, address := range addresses {
		client := redis.NewClient(&redis.Options{Addr: address})
		replication, err := client.Info(ctx, "replication").Result()
		state, stateErr := client.ClusterInfo(ctx).Result()
		if client.Close() == nil && err == nil && stateErr == nil &&
			strings.Contains(replication, "master_link_status:up") && strings.Contains(state, "cluster_state:ok") {
			count++
		}
	}
	return count
}

func startRedis(tb testing.TB, address string, settings ...string) *program.Process {
	tb.Helper()
	host, port := split(tb, address)
	arguments := append([]string{
		"--bind", host, "--port", port, "--dir", tb.TempDir(), "--save", "", "--appendonly", "yes",
		"--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0",
	}, settings...)
	p := program.LaunchCommand(tb, exec.Command("redis-server", arguments...))
	awaitRedis(tb, address)
	return p
}

func awaitRedis(tb testing.TB, address string) {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	program.Await(tb, "a Redis answers", func() bool { return client.Ping(tb.Context()).Err() == nil })
}

func split(tb testing.TB, address string) (string, string) {
	tb.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatalf("split %s: %v", address, err)
	}
	return host, port
}
