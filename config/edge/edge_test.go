package edge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// serveWeb serves a handler as the process does, and returns its address.
func serveWeb(tb testing.TB, handler http.HandlerFunc, change func(*config.Settings)) string {
	tb.Helper()
	settings := defaultSettings(tb)
	change(&settings)
	return serveOn(tb, listen(tb), handler, settings)
}

func defaultSettings(tb testing.TB) config.Settings {
	tb.Helper()
	settings, _, err := config.LoadSettings(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return settings
}

// serveOn is serveWeb on a listener.
func serveOn(tb testing.TB, listener net.Listener, handler http.HandlerFunc, settings config.Settings) string {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- edge.Serve(ctx, listener, handler, settings.Edge(), fixture.Discard()) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			tb.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

func dial(tb testing.TB, address string) net.Conn {
	tb.Helper()
	conn, err := net.DialTimeout("tcp", address, fixture.Patience)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() }) // It may be closed already.
	if err := conn.SetDeadline(time.Now().Add(fixture.Patience)); err != nil {
		tb.Fatal(err)
	}
	return conn
}

// askPlainly sends a request on a connection and reads the answer to its end.
func askPlainly(tb testing.TB, conn net.Conn) answer {
	tb.Helper()
	if _, err := io.WriteString(conn, plainGet); err != nil {
		tb.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		tb.Fatalf("read the answer: %v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return answer{Status: response.StatusCode, Header: response.Header, Body: body}
}

const plainGet = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"

// deadlineListener notes whether a deadline for writing was set on any of its connections.
type deadlineListener struct {
	net.Listener

	isSet atomic.Bool
}

func (l *deadlineListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return deadlineConn{conn, l}, err
}

type deadlineConn struct {
	net.Conn

	listener *deadlineListener
}

func (c deadlineConn) SetWriteDeadline(deadline time.Time) error {
	if !deadline.IsZero() {
		c.listener.isSet.Store(true)
	}
	return c.Conn.SetWriteDeadline(deadline)
}

func TestClientThatReadsNothingIsDisconnected(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	listener := &deadlineListener{Listener: listen(t)}
	settings := defaultSettings(t)
	settings.WriteTimeout = 50 * time.Millisecond
	address := serveOn(t, listener, func(w http.ResponseWriter, _ *http.Request) {
		part := make([]byte, 1<<20)
		for {
			if !listener.isSet.Load() {
				failed <- errors.New("there is no deadline for writing")
				return
			}
			if _, err := w.Write(part); err != nil {
				failed <- err
				return
			}
		}
	}, settings)
	if _, err := io.WriteString(dial(t, address), plainGet); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() { //nolint:errorlint // the connection's own error
			t.Errorf("write = %v, want its deadline to pass", err)
		}
	case <-time.After(fixture.Patience):
		t.Error("the handler still writes to a client that does not read")
	}
}

func TestConnectionsBeyondTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	address := serveWeb(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		func(settings *config.Settings) { settings.MaxConnections = 1 })
	first := dial(t, address)
	if got := askPlainly(t, first); got.Status != http.StatusNoContent {
		t.Fatalf("first connection = %d, want 204", got.Status)
	}
	refused := askPlainly(t, dial(t, address))
	var problem api.Problem
	if err := json.Unmarshal(refused.Body, &problem); err != nil {
		t.Fatalf("body %s: %v", refused.Body, err)
	}
	if refused.Status != http.StatusServiceUnavailable || problem.Code != api.CodeUnavailable {
		t.Errorf("second connection = %d %s, want 503 and a problem", refused.Status, refused.Body)
	}
	fixture.WantHeader(t, refused, map[string]string{
		"Retry-After": "1", "Content-Type": core.ProblemType, "Request-Id": problem.RequestID,
	})
	if got := askPlainly(t, first); got.Status != http.StatusNoContent {
		t.Errorf("first connection again = %d, want 204", got.Status)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	dbtest.Eventually(t, func() bool {
		next := dial(t, address)
		defer next.Close()
		return askPlainly(t, next).Status == http.StatusNoContent
	})
}

// A proxy that believes the Content-Length takes what follows the first chunk for a request of its own.
func TestNothingFollowsABodyInChunks(t *testing.T) {
	t.Parallel()
	served := make(chan string, 2)
	address := serveWeb(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // It is short.
		served <- r.URL.Path
	}, func(*config.Settings) {})
	conn := dial(t, address)
	const smuggling = "POST /first HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" +
		// If it is answered after all, the connection ends then, and the test with it.
		"0\r\n\r\nGET /second HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, smuggling); err != nil {
		t.Fatal(err)
	}
	answers, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("read to the end of the connection: %v", err)
	}
	if n := strings.Count(string(answers), "HTTP/1.1 "); n != 1 || len(served) != 1 {
		t.Errorf("answers = %q, served %d, want one answer and the end of the connection", answers, len(served))
	}
}

func TestEncryptedService(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.BaseURL = "https://checks.example" })
	s.WithPassword(t)
	const strict = "max-age=31536000"
	fixture.WantHeader(t, s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer}),
		map[string]string{
			"Strict-Transport-Security": strict,
		})
	got := s.AnswerTo(t, fixture.SignIn(fixture.VisitorEmail, fixture.VisitorPassword))
	fixture.WantHeader(t, got, map[string]string{"Strict-Transport-Security": strict})
	cookies := (&http.Response{Header: got.Header}).Cookies()
	at := slices.IndexFunc(cookies, func(cookie *http.Cookie) bool { return cookie.Name == "__Host-sv_session" })
	if at < 0 {
		t.Fatalf("cookies = %v, want a session of this host alone", cookies)
	}
	session := cookies[at]
	if !session.Secure || session.Path != "/" || session.Domain != "" || !session.HttpOnly {
		t.Errorf("cookie = %v, want it Secure, for /, and for no domain", session)
	}
	account := call{Path: "/app/account/"}
	s.Visit(t, http.StatusOK, account.With("Cookie", session.Name+"="+session.Value))
	// A cookie that a subdomain could have planted is none.
	s.Visit(t, http.StatusSeeOther, account.With("Cookie", "sv_session="+session.Value))
	chosen := s.AnswerTo(t, fixture.Post("/app/theme/", "", url.Values{"theme": {"dark"}, "back": {"/app/"}}))
	if cookie := chosen.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-sv_theme=dark; Path=/;") {
		t.Errorf("Set-Cookie = %q, want a cookie of this host alone", cookie)
	}
}

func TestPagesAreNotKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	session := s.Visitor(t, api.RoleExecutor)
	for path, want := range map[string]string{
		"/app/account/": "no-store", fixture.HarbourPages: "no-store", fixture.HarbourPages + "runs/": "no-store",
		fixture.HarbourPages + "nothing/": "no-store",
		// Back shows this form with its key, so that it starts nothing twice.
		fixture.LaunchMeters: "private, no-cache",
	} {
		fixture.WantHeader(t, s.AnswerTo(t, fixture.Page(path, session)), map[string]string{"Cache-Control": want})
	}
	// Without a session there are secrets, too: those of links.
	link := s.LinkOf(t, s.Invited(t, "kim@b.example"))
	for _, path := range []string{"/app/sign-in/", "/app/sign-in/code/", "/app/password/made-up/", link} {
		fixture.WantHeader(t, s.AnswerTo(t, fixture.Page(path, "")), map[string]string{
			"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
			"Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
		})
	}
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() }) // It may be closed already.
	return listener
}
