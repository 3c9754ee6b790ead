package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clockStep is how often time moves for the keys. Each step sorts all of them under the server's lock: at 80,000 keys
// that takes 0.2 s, so shorter steps would stand in the way of the work.
const clockStep = time.Second

// Redis is a Redis inside this process, which nothing outside can reach. What it holds is lost when it stops.
type Redis struct {
	server  *miniredis.Miniredis
	native  *native
	stop    context.CancelFunc
	stopped chan struct{}
}

// StartRedis starts a Redis that runs the given scripts in Go, by the SHA-1 of their Lua text, and interprets all
// others. It serves until Stop, whatever becomes of ctx; scripts that wait no longer do so once ctx has ended.
func StartRedis(ctx context.Context, scripts map[string]Script, log *slog.Logger) (*Redis, error) {
	r := &Redis{server: miniredis.NewMiniRedis(), stopped: make(chan struct{})}
	// The first connection starts a server without a port.
	first, err := r.server.Dial()
	if err != nil {
		return nil, fmt.Errorf("start in-process Redis: %w", err)
	}
	_ = first.Close() // Nothing was sent.
	if r.native, err = newNative(ctx, r.server, scripts); err != nil {
		r.server.Close()
		return nil, fmt.Errorf("start in-process Redis: %w", err)
	}
	clock, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go r.moveTime(clock)
	log.InfoContext(ctx, "started the in-process Redis")
	return r, nil
}

// Dial connects to the server. It is a Dialer of Redis clients, and the address means nothing.
func (r *Redis) Dial(context.Context, string, string) (net.Conn, error) {
	select {
	case <-r.stopped:
		return nil, fmt.Errorf("connect to the in-process Redis: %w", net.ErrClosed)
	default:
	}
	// A net.Pipe has no buffer: the client would still write a pipeline while the server waits to answer its start.
	syscall.ForkLock.RLock()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("connect to the in-process Redis: %w", err)
	}
	client, err := connection(ends[0])
	if err != nil {
		_ = syscall.Close(ends[1]) // The first error counts.
		return nil, err
	}
	server, err := connection(ends[1])
	if err != nil {
		_ = client.Close() // As above.
		return nil, err
	}
	r.native.server.ServeConn(server)
	return client, nil
}

// connection takes the socket over.
func connection(socket int) (net.Conn, error) {
	file := os.NewFile(uintptr(socket), "in-process Redis")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("connect to the in-process Redis: %w", err)
	}
	return conn, nil
}

// Stop closes all connections and forgets all keys. Stopping twice does nothing.
func (r *Redis) Stop() {
	r.stop()
	<-r.stopped
	r.native.stop()
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
