package coretest

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Redis returns the address of a new and empty redis-server, for this test alone. It is killed at the test's end.
func Redis(tb testing.TB) string {
	tb.Helper()
	address := "redis://:" + rand.Text() + "@" + FreeAddress(tb) + "/0"
	StartRedis(tb, address)
	return address
}

// StartRedis starts an empty redis-server at an address, as soon as one that is ending there has ended. It returns what
// kills it, which the test's end does as well.
func StartRedis(tb testing.TB, address string) func() {
	tb.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("no redis-server on PATH: install redis-server (Debian, Ubuntu) or redis (Fedora, macOS): %v", err)
	}
	at, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("read the address of Redis: %v", err)
	}
	password, _ := at.User.Password()
	var cmd *exec.Cmd
	var ended <-chan struct{}
	start := func() {
		dir := tb.TempDir()
		cmd = exec.Command(program, "--bind", at.Hostname(), "--port", at.Port(), "--requirepass", password,
			"--dir", dir, "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
			"--logfile", filepath.Join(dir, "redis.log"))
		if ended, err = StartCommand(cmd); err != nil {
			tb.Fatal(err)
		}
	}
	kill := func() {
		_ = cmd.Process.Kill() // It may have ended by itself.
		<-ended
	}
	start()
	tb.Cleanup(func() { kill() })
	Await(tb, "redis-server answers", func() bool {
		select {
		case <-ended:
			start()
		default:
		}
		return accepts(tb.Context(), at.Host, password)
	})
	return kill
}

func accepts(ctx context.Context, address, password string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		return false
	}
	if _, err := fmt.Fprintf(conn, "AUTH %s\r\n", password); err != nil {
		return false
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && answer == "+OK\r\n"
}
