package edge_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// Connections that the kernel has established before the process accepts them carry requests that were sent.
func TestStopAnswersConnectionsThatWaitToBeAccepted(t *testing.T) {
	t.Parallel()
	settings, _, err := config.LoadSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	settings.ShutdownDelay = time.Nanosecond
	listener, err := edge.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	waiting := make([]net.Conn, 30)
	for i := range waiting {
		waiting[i] = dial(t, listener.Addr().String())
		if _, err := io.WriteString(waiting[i], plainGet); err != nil {
			t.Fatal(err)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	ended := make(chan error, 1)
	go func() {
		ended <- edge.Serve(stopped, listener, http.NotFoundHandler(), settings.Edge(), fixture.Discard())
	}()
	for i, conn := range waiting {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("answer on connection %d = %v, want 404", i, err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("serve = %v, want an orderly end", err)
	}
}

// A connection that is established is one that a request may have been sent on.
func TestCloseToNew(t *testing.T) {
	t.Parallel()
	listener, err := edge.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := edge.CloseToNew(listener); err != nil {
		t.Fatal(err)
	}
	dialed := make(chan error, 1)
	go func() {
		_, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		dialed <- err
	}()
	dbtest.Eventually(t, func() bool {
		select {
		case err := <-dialed:
			t.Fatalf("connect = %v while the listener is open, want no answer", err)
		default:
		}
		return isConnecting(t, listener.Addr())
	})
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-dialed; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connect = %v after the listener was closed, want it refused", err)
	}
}

// isConnecting reports whether the kernel waits for an answer from the address to a request for a connection.
func isConnecting(tb testing.TB, address net.Addr) bool {
	tb.Helper()
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		tb.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		tb.Fatal(err)
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		tb.Fatal(err)
	}
	const synSent = "02"
	return strings.Contains(string(table), fmt.Sprintf(":%04X %s ", number, synSent))
}
