package coretest

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	redisPatience = 3 * time.Minute
	redisPoll     = 10 * time.Millisecond
)

// Redis returns the address of a new and empty redis-server, for this test alone. It is killed at the test's end.
func Redis(tb testing.TB) string {
	tb.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("no redis-server on PATH: install redis-server (Debian, Ubuntu) or redis (Fedora, macOS): %v", err)
	}
	address, password := FreeAddress(tb), rand.Text()
	if ended := startRedis(tb, program, address, password); !awaitRedis(tb.Context(), address, password, ended) {
		tb.Fatalf("redis-server did not start on %s", address)
	}
	return "redis://:" + password + "@" + address + "/0"
}

func startRedis(tb testing.TB, program, address, password string) <-chan struct{} {
	tb.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatalf("split %s: %v", address, err)
	}
	dir := tb.TempDir()
	cmd := exec.Command(program, "--bind", host, "--port", port, "--requirepass", password, "--dir", dir,
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
		"--logfile", filepath.Join(dir, "redis.log"))
	ended, err := StartCommand(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // It may have ended by itself.
		<-ended
	})
	return ended
}

// awaitRedis reports whether the server answered before it ended.
func awaitRedis(ctx context.Context, address, password string, ended <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	ticker := time.NewTicker(redisPoll)
	defer ticker.Stop()
	for {
		if accepts(ctx, address, password) {
			return true
		}
		select {
		case <-ended:
			return false
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

func accepts(ctx context.Context, address, password string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return false
	}
	if _, err := fmt.Fprintf(conn, "AUTH %s\r\n", password); err != nil {
		return false
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && answer == "+OK\r\n"
}
