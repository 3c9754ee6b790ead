package edge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const (
	// drainPatience is far above what anything here takes, so that only what hangs fails.
	drainPatience = 3 * time.Minute
	// muchMore is far above what the buffers of a connection hold.
	muchMore = 64 << 20
)

// wideLimits let nothing end a drain but its client.
func wideLimits() drainLimits {
	return drainLimits{bytes: muchMore, total: time.Hour, pause: time.Hour, atOnce: 1}
}

// refuser refuses every request without a look at its body, but for those to /ok.
func refuser(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ok" {
		w.WriteHeader(http.StatusOK)
		return
	}
	http.Error(w, "refused", http.StatusUnauthorized)
}

// peer is one connection to a server, on which requests are written as they are.
type peer struct {
	net.Conn

	answers *bufio.Reader
}

func setupDrain(tb testing.TB, limits drainLimits, handler http.HandlerFunc) func() *peer {
	tb.Helper()
	return setupDrainUntil(tb.Context(), tb, limits, handler)
}

func setupDrainUntil(
	ctx context.Context, tb testing.TB, limits drainLimits, handler http.HandlerFunc,
) func() *peer {
	tb.Helper()
	server := httptest.NewServer(drainRefused(ctx, limits, handler))
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return func() *peer {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = conn.Close() }) // It may be closed already.
		if err := conn.SetDeadline(time.Now().Add(drainPatience)); err != nil {
			tb.Fatal(err)
		}
		return &peer{Conn: conn, answers: bufio.NewReader(conn)}
	}
}

func (p *peer) write(tb testing.TB, text string) {
	tb.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		tb.Fatalf("write: %v", err)
	}
}

// announce begins a request with a body of a length.
func (p *peer) announce(tb testing.TB, path string, length int, header ...string) {
	tb.Helper()
	p.write(tb, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n%s\r\n", path, length,
		strings.Join(header, "")))
}

// want reads one answer to its end.
func (p *peer) want(tb testing.TB, status int) {
	tb.Helper()
	answer, err := http.ReadResponse(p.answers, nil)
	if err != nil {
		tb.Fatalf("answer = %v, want %d", err, status)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		tb.Fatalf("answer ended with %v", err)
	}
	if answer.StatusCode != status {
		tb.Fatalf("status = %d, want %d", answer.StatusCode, status)
	}
}

// wantClosed wants the server to end the connection without another answer.
func (p *peer) wantClosed(tb testing.TB) {
	tb.Helper()
	rest, err := io.ReadAll(p.answers)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // a deadline is not wrapped
		tb.Error("the connection is open, want it closed")
	}
	if len(rest) != 0 {
		tb.Errorf("another answer = %q, want none", rest)
	}
}

func TestDrainKeepsTheConnection(t *testing.T) {
	t.Parallel()
	const length = 15 << 20
	document := strings.Repeat("x", length)
	for name, send := range map[string]func(testing.TB, *peer){
		"OfAKnownLength": func(tb testing.TB, p *peer) {
			tb.Helper()
			p.announce(tb, "/", length)
			p.write(tb, document)
		},
		"InChunks": func(tb testing.TB, p *peer) {
			tb.Helper()
			p.write(tb, "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n")
			p.write(tb, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", length, document))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := setupDrain(t, wideLimits(), refuser)()
			for range 2 {
				send(t, p)
				p.want(t, http.StatusUnauthorized)
			}
			p.announce(t, "/ok", 0)
			p.want(t, http.StatusOK)
		})
	}
}

func TestDrainSendsTheAnswerFirst(t *testing.T) {
	t.Parallel()
	p := setupDrain(t, wideLimits(), refuser)()
	p.announce(t, "/", 1000)
	p.want(t, http.StatusUnauthorized)
	p.write(t, strings.Repeat("x", 1000))
	p.announce(t, "/ok", 0)
	p.want(t, http.StatusOK)
}

func TestDrainLeavesABodyThatWaitsForPermission(t *testing.T) {
	t.Parallel()
	p := setupDrain(t, wideLimits(), refuser)()
	p.announce(t, "/", muchMore, "Expect: 100-continue\r\n")
	p.want(t, http.StatusUnauthorized)
	p.wantClosed(t)
}

func TestDrainFollowsAPermission(t *testing.T) {
	t.Parallel()
	p := setupDrain(t, wideLimits(), func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadFull(r.Body, make([]byte, 10))
		if err != nil {
			t.Errorf("read the beginning of a body: %v", err)
		}
		refuser(w, r)
	})()
	const length = 15 << 20
	p.announce(t, "/", length, "Expect: 100-continue\r\n")
	p.want(t, http.StatusContinue)
	p.write(t, strings.Repeat("x", length))
	p.want(t, http.StatusUnauthorized)
}

func TestDrainEnds(t *testing.T) {
	t.Parallel()

	t.Run("WhereNothingComes", func(t *testing.T) {
		t.Parallel()
		limits := wideLimits()
		limits.pause = 100 * time.Millisecond
		p := setupDrain(t, limits, refuser)()
		p.announce(t, "/", 1000)
		p.want(t, http.StatusUnauthorized)
		// What comes too late must not be taken for a request.
		p.wantClosed(t)
	})

	t.Run("WhereItTakesTooLong", func(t *testing.T) {
		t.Parallel()
		limits := wideLimits()
		limits.total = 100 * time.Millisecond
		p := setupDrain(t, limits, refuser)()
		p.announce(t, "/", 1000)
		p.want(t, http.StatusUnauthorized)
		p.wantClosed(t)
	})

	t.Run("WhereThereIsTooMuch", func(t *testing.T) {
		t.Parallel()
		limits := wideLimits()
		limits.bytes = 1 << 20
		p := setupDrain(t, limits, refuser)()
		p.announce(t, "/", muchMore)
		p.want(t, http.StatusUnauthorized)
		if n, err := io.Copy(p, io.LimitReader(endless{}, muchMore)); err == nil {
			t.Errorf("the server took %d bytes, want about %d", n, limits.bytes)
		}
	})

	t.Run("WithTheServer", func(t *testing.T) {
		t.Parallel()
		ctx, stop := context.WithCancel(t.Context())
		p := setupDrainUntil(ctx, t, wideLimits(), refuser)()
		p.announce(t, "/", 1000)
		p.want(t, http.StatusUnauthorized)
		stop()
		p.wantClosed(t)
	})
}

// endless is a document without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestDrainsAtOnce(t *testing.T) {
	t.Parallel()
	connect := setupDrain(t, wideLimits(), refuser)
	first, second := connect(), connect()
	first.announce(t, "/", 1000)
	first.want(t, http.StatusUnauthorized)
	// The only drain is taken, so this one is answered and closed.
	second.announce(t, "/", muchMore)
	second.want(t, http.StatusUnauthorized)
	second.wantClosed(t)
	// The end of the first gives its place back.
	first.write(t, strings.Repeat("x", 1000))
	first.announce(t, "/ok", 0)
	first.want(t, http.StatusOK)
	third := connect()
	third.announce(t, "/", 1000)
	third.want(t, http.StatusUnauthorized)
	third.write(t, strings.Repeat("x", 1000))
	third.announce(t, "/ok", 0)
	third.want(t, http.StatusOK)
}
