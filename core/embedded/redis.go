package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clockStep is how often time moves for the keys. Each step sorts all of them under the server's lock: at 80,000 keys
// that takes 0.2 s, so shorter steps would stand in the way of the work.
const clockStep = time.Second

// Redis is a Redis inside this process. What it holds is lost when it stops.
type Redis struct {
	server   *miniredis.Miniredis
	password string
	stop     context.CancelFunc
	stopped  chan struct{}
}

// StartRedis starts a Redis on a free port of the loopback interface, behind a random password, as every user of the
// machine can reach the port. It runs until Stop, whatever becomes of ctx.
func StartRedis(ctx context.Context, log *slog.Logger) (*Redis, error) {
	r := &Redis{server: miniredis.NewMiniRedis(), password: rand.Text(), stopped: make(chan struct{})}
	r.server.RequireAuth(r.password)
	if err := r.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start in-process Redis: %w", err)
	}
	clock, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go r.moveTime(clock)
	log.InfoContext(ctx, "started the in-process Redis", "address", r.server.Addr())
	return r, nil
}

// URL is the address of the server, with its password.
func (r *Redis) URL() string {
	return (&url.URL{Scheme: "redis", User: url.UserPassword("", r.password), Host: r.server.Addr()}).String()
}

// Stop closes all connections and forgets all keys. Stopping twice does nothing.
func (r *Redis) Stop() {
	r.stop()
	<-r.stopped
	r.server.Close()
}

// moveTime makes keys expire: the server's own clock stands still.
func (r *Redis) moveTime(ctx context.Context) {
	defer close(r.stopped)
	ticker := time.NewTicker(clockStep)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			r.server.FastForward(now.Sub(last))
			last = now
		}
	}
}
