package tasks_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/tasks"
)

func TestParseRedisURL(t *testing.T) {
	t.Parallel()

	t.Run("ReadsOneServer", func(t *testing.T) {
		t.Parallel()
		client, ok := mustParse(t, "redis://sv:secret@redis.example:6380/3?pool_size=7").(*redis.Client)
		if !ok {
			t.Fatal("the client is not for one server")
		}
		opt := client.Options()
		if opt.Addr != "redis.example:6380" || opt.DB != 3 || opt.Username != "sv" || opt.Password != "secret" {
			t.Errorf("address %s, database %d, user %s, want those of the URL", opt.Addr, opt.DB, opt.Username)
		}
		if opt.PoolSize != 7 || !opt.ContextTimeoutEnabled {
			t.Errorf("pool of %d, context deadlines %t, want 7, true", opt.PoolSize, opt.ContextTimeoutEnabled)
		}
	})

	t.Run("ReadsTLSAndSockets", func(t *testing.T) {
		t.Parallel()
		if client, ok := mustParse(t, "rediss://redis.example").(*redis.Client); !ok || client.Options().TLSConfig == nil {
			t.Error("rediss is without TLS")
		}
		if client, ok := mustParse(t, "unix:///run/redis.sock?db=2").(*redis.Client); !ok ||
			client.Options().Network != "unix" || client.Options().Addr != "/run/redis.sock" {
			t.Error("unix is not the socket of the URL")
		}
	})

	t.Run("ReadsSentinelsAndClusters", func(t *testing.T) {
		t.Parallel()
		if _, ok := mustParse(t, "redis-sentinel://a:26379?master_name=m&addr=b:26379").(*redis.Client); !ok {
			t.Error("sentinels do not give a failover client")
		}
		cluster, ok := mustParse(t, "rediss-cluster://a:6379?addr=b:6379").(*redis.ClusterClient)
		if !ok {
			t.Fatal("the client is not for a cluster")
		}
		if got := strings.Join(cluster.Options().Addrs, " "); got != "a:6379 b:6379" || cluster.Options().TLSConfig == nil {
			t.Errorf("addresses = %s, want a:6379 b:6379 with TLS", got)
		}
	})

	for name, raw := range map[string]string{
		"NoScheme":           "localhost:6379",
		"UnknownScheme":      "http://:secret@localhost",
		"BadPort":            "redis://:secret@localhost:port",
		"BadSetting":         "redis://:secret@localhost?pool_size=many",
		"SentinelWithNoName": "redis-sentinel://:secret@a:26379",
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
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

func mustParse(tb testing.TB, raw string) redis.UniversalClient {
	tb.Helper()
	opt, err := tasks.ParseRedisURL(raw)
	if err != nil {
		tb.Fatalf("parse %s: %v", raw, err)
	}
	client := opt.Client()
	tb.Cleanup(func() { _ = client.Close() })
	return client
}
