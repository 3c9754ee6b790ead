package tasks_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/tasks"
)

func TestParseRedisURL(t *testing.T) {
	t.Parallel()

	t.Run("ReadsOneServer", func(t *testing.T) {
		t.Parallel()
		opt := singleOptions(t, "redis://sv:secret@redis.example:6380/3?pool_size=7")
		if opt.Addr != "redis.example:6380" || opt.DB != 3 || opt.Username != "sv" || opt.Password != "secret" {
			t.Errorf("address %s, database %d, user %s, want those of the URL", opt.Addr, opt.DB, opt.Username)
		}
		if opt.PoolSize != 7 || !opt.ContextTimeoutEnabled {
			t.Errorf("pool of %d, context deadlines %t, want 7, true", opt.PoolSize, opt.ContextTimeoutEnabled)
		}
	})

	t.Run("ReadsTLSAndSockets", func(t *testing.T) {
		t.Parallel()
		if opt := singleOptions(t, "rediss://redis.example"); opt.TLSConfig == nil {
			t.Error("rediss is without TLS")
		}
		opt := singleOptions(t, "unix:///run/redis.sock?db=2")
		if opt.Network != "unix" || opt.Addr != "/run/redis.sock" {
			t.Errorf("network = %s, address = %s, want the socket of the URL", opt.Network, opt.Addr)
		}
	})

	t.Run("ReadsSentinels", func(t *testing.T) {
		t.Parallel()
		if _, ok := mustParse(t, "redis-sentinel://a:26379?master_name=m&addr=b:26379").(*redis.Client); !ok {
			t.Error("sentinels do not give a failover client")
		}
	})
}

func TestParseRedisURLOfACluster(t *testing.T) {
	t.Parallel()
	cluster, ok := mustParse(t, "rediss-cluster://a:6379?addr=b:6379").(*redis.ClusterClient)
	if !ok {
		t.Fatal("the client is not for a cluster")
	}
	opt := cluster.Options()
	if got := strings.Join(opt.Addrs, " "); got != "a:6379 b:6379" || opt.TLSConfig == nil {
		t.Errorf("addresses = %s, want a:6379 b:6379 with TLS", got)
	}
}

func TestParseRedisURLRefuses(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"NoScheme":           "localhost:6379",
		"UnknownScheme":      "http://:secret@localhost",
		"BadPort":            "redis://:secret@localhost:port",
		"BadSetting":         "redis://:secret@localhost?pool_size=many",
		"SentinelWithNoName": "redis-sentinel://:secret@a:26379",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tasks.ParseRedisURL(raw)
			if err == nil {
				t.Fatalf("parsed %s, want an error", raw)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q shows the password", err)
			}
		})
	}
}

func singleOptions(tb testing.TB, raw string) *redis.Options {
	tb.Helper()
	client, ok := mustParse(tb, raw).(*redis.Client)
	if !ok {
		tb.Fatalf("the client of %s is not for one server", raw)
	}
	return client.Options()
}

func mustParse(tb testing.TB, raw string) redis.UniversalClient { //nolint:ireturn // what it is depends on the address
	tb.Helper()
	opt, err := tasks.ParseRedisURL(raw)
	if err != nil {
		tb.Fatalf("parse %s: %v", raw, err)
	}
	client := opt.Client()
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func TestCheckEviction(t *testing.T) {
	t.Parallel()

	t.Run("AcceptsARedisThatRefuses", func(t *testing.T) {
		t.Parallel()
		client := mustParse(t, coretest.Redis(t))
		if err := tasks.CheckEviction(t.Context(), client, discard()); err != nil {
			t.Errorf("check = %v, want nil", err)
		}
	})

	t.Run("RefusesARedisThatEvicts", func(t *testing.T) {
		t.Parallel()
		client := mustParse(t, coretest.Redis(t))
		if err := client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
			t.Fatalf("set policy: %v", err)
		}
		if err := tasks.CheckEviction(t.Context(), client, discard()); !errors.Is(err, tasks.ErrEvicts) {
			t.Errorf("check = %v, want ErrEvicts", err)
		}
	})

	t.Run("AcceptsARedisThatCannotTell", func(t *testing.T) {
		t.Parallel()
		client := startInProcess(t).Client()
		defer client.Close()
		if err := tasks.CheckEviction(t.Context(), client, discard()); err != nil {
			t.Errorf("check = %v, want nil", err)
		}
	})

	t.Run("SaysWhenThereIsNoRedis", func(t *testing.T) {
		t.Parallel()
		client := mustParse(t, "unix://"+t.TempDir()+"/none.sock")
		if err := tasks.CheckEviction(t.Context(), client, discard()); err == nil || errors.Is(err, tasks.ErrEvicts) {
			t.Errorf("check = %v, want the connection's error", err)
		}
	})
}
