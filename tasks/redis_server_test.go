package tasks_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// stoppableRedis is a redis-server that a test can stop and start again. It keeps nothing.
type stoppableRedis struct {
	url    string
	socket string
	cmd    *exec.Cmd
}

func newStoppableRedis(tb testing.TB) *stoppableRedis {
	tb.Helper()
	socket := filepath.Join(tb.TempDir(), "redis.sock")
	r := &stoppableRedis{socket: socket, url: "unix://" + socket}
	r.start(tb)
	tb.Cleanup(func() { r.stop(tb) })
	return r
}

func (r *stoppableRedis) start(tb testing.TB) {
	tb.Helper()
	r.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", r.socket,
		"--save", "", "--appendonly", "no", "--dir", filepath.Dir(r.socket))
	if err := r.cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: r.socket})
	defer client.Close()
	coretest.Await(tb, "redis-server answers", func() bool {
		return client.Ping(context.WithoutCancel(tb.Context())).Err() == nil
	})
}

// stop does nothing when the server is stopped already.
func (r *stoppableRedis) stop(tb testing.TB) {
	tb.Helper()
	if r.cmd == nil {
		return
	}
	if err := r.cmd.Process.Kill(); err != nil {
		tb.Errorf("kill redis-server: %v", err)
	}
	_ = r.cmd.Wait() // It was killed, so there is always an error.
	r.cmd = nil
}
