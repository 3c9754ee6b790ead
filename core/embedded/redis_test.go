package embedded

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestRedis(t *testing.T) {
	t.Parallel()
	server, err := StartRedis(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(server.Stop)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatalf("parse %s: %v", server.URL(), err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() }) // The server may be gone, and the test has seen what it wanted.

	if err := client.Set(t.Context(), "brief", "x", time.Second).Err(); err != nil {
		t.Fatalf("set: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), endPatience)
	defer cancel()
	if !poll(ctx, func() bool { return errors.Is(client.Get(ctx, "brief").Err(), redis.Nil) }) {
		t.Error("key with a TTL of 1 s never expired")
	}

	stranger := redis.NewClient(&redis.Options{Addr: options.Addr})
	t.Cleanup(func() { _ = stranger.Close() }) // As above.
	if err := stranger.Ping(t.Context()).Err(); err == nil {
		t.Error("ping without the password succeeded, want an error")
	}

	server.Stop()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("ping after Stop succeeded, want an error")
	}
	server.Stop()
}
