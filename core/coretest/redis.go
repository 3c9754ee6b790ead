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

// Redis returns the address of a new and empty redis-server, for this test alone. It is killed at the test's end.
func Redis(tb testing.TB) string {
	tb.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("no redis-server on PATH: install redis-server (Debian, Ubuntu) or redis (Fedora, macOS): %v", err)
	}
	address, password := FreeAddress(tb), rand.Text()
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
	Await(tb, "redis-server answers", func() bool {
		select {
		case <-ended:
			tb.Fatalf("redis-server did not start on %s", address)
		default:
		}
		return accepts(tb.Context(), address, password)
	})
	return "redis://:" + password + "@" + address + "/0"
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
