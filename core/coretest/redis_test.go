package coretest

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestRedis(t *testing.T) { //nolint:tparallel // The end of the subtest is what the test looks at.
	t.Parallel()
	var address string
	t.Run("IsEmptyAndNotShared", func(t *testing.T) {
		for range 2 {
			address = Redis(t)
			client := newClient(t, address)
			if fresh, err := client.SetNX(t.Context(), "mine", "x", 0).Result(); !fresh || err != nil {
				t.Errorf("key was free = %t, %v; want true", fresh, err)
			}
		}
	})
	if err := newClient(t, address).Ping(t.Context()).Err(); err == nil {
		t.Error("ping after the test's end succeeded, want an error")
	}
}

func newClient(tb testing.TB, address string) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		tb.Fatalf("parse %s: %v", address, err)
	}
	client := redis.NewClient(options)
	tb.Cleanup(func() { _ = client.Close() }) // The server is gone or about to go.
	return client
}
