package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// pipes is a network in memory, so that time can be that of a synctest bubble.
type pipes struct {
	connections chan net.Conn
	done        chan struct{}
	close       sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.connections <- far:
		return near, nil
	case <-p.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve answers with the handler until the test ends, and returns what reaches it.
func serve(tb testing.TB, handler http.Handler) *http.Client {
	tb.Helper()
	network := &pipes{connections: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(network) }()
	transport := &http.Transport{DialContext: network.dial}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close() // Whatever is open was left open by the test.
		if err := <-ended; !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
			tb.Errorf("serve: %v", err)
		}
	})
	return &http.Client{Transport: transport}
}

// refusesAll is a network on which nobody listens.
func refusesAll() *http.Client {
	network := &pipes{connections: make(chan net.Conn), done: make(chan struct{})}
	_ = network.Close() // It cannot fail.
	return &http.Client{Transport: &http.Transport{DialContext: network.dial}}
}

// script answers each request with the next of its answers, and the last one again and again.
type script struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	got     int
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	s.mu.Lock()
	s.got++
	answer := s.answers[min(s.got, len(s.answers))-1]
	s.mu.Unlock()
	answer(w, r)
}

// requests is how many requests have arrived.
func (s *script) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

const runID = "0199e0a4-51c0-7f0a-8a4e-0f3c5d7b9a11"

func created(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Request-Id", "req-1")
	w.Header().Set("Idempotency-Expires", "Mon, 02 Mar 2026 09:15:04 GMT")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id": "`+runID+`", "state": "PENDING"}`) // The test sees what is missing.
}

// lost does what was asked for and breaks the connection.
func lost(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close() // It is cut.
	}
}

// refuses answers with a problem.
func refuses(code api.Code, status int, retryable bool, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(api.Problem{ // The test sees what is missing.
			Status: status, Code: code, Detail: "No.", RequestID: "req-" + strconv.Itoa(status), Retryable: retryable,
		})
	}
}

// bare answers with a status alone, as proxies do.
func bare(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// made makes a client; it fails the test where that is not possible.
func made(tb testing.TB, sender *http.Client, options ...client.Option) *client.Client {
	tb.Helper()
	all := append([]client.Option{client.WithToken("sv_secret"), client.WithHTTPClient(sender)}, options...)
	c, err := client.New("http://service.example", all...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func document() client.StartRequest {
	return client.StartRequest{
		Workflow: "meter-readings", Content: strings.NewReader("meter_id,kwh\n1,2\n"), Filename: "readings.csv",
		MediaType: "text/csv", Metadata: map[string]any{"site": "harbour"},
	}
}
