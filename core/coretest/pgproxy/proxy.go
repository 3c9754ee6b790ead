package pgproxy

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Fault is what happens at a commit. The zero value lets it pass.
type Fault struct {
	// Before is called before the commit is sent to the server, which waits for it.
	Before func()
	// Lose ends the connection instead of sending the commit.
	Lose bool
	// Abandon ends the client's side of the connection where the server has got everything but the commit, for which it
	// waits until the channel is closed: it learns of the loss no sooner.
	Abandon <-chan struct{}
	// After is called when the server has answered and before the client learns of it.
	After func()
	// Swallow ends the connection instead of delivering the answer.
	Swallow bool
	// Error takes the place of the server's answer to the commit, if it has a severity: it is what a server tells
	// that fails after the commit, or with Lose before it. A server that is told to Lose rolls back instead. Commits of
	// COPY cannot be lost with an error.
	Error Error
}

// Error is an error of the server.
type Error struct {
	// Severity is ERROR, after which the session goes on, or FATAL or PANIC, which end it.
	Severity string
	// Code is the SQLSTATE.
	Code string
	// Translated leaves out the severity in its untranslated form, as PostgreSQL did before version 9.6.
	Translated bool
}

// Judge decides what happens at a commit. Connections ask at the same time.
type Judge func(Commit) Fault

// Proxy is a proxy in front of a database. It ends with its test.
type Proxy struct {
	address  *url.URL
	server   endpoint
	listener net.Listener
	grammar  grammar
	open     sync.WaitGroup
	silent   atomic.Bool
	trips    atomic.Int64

	mu       sync.Mutex
	judge    Judge
	sessions map[*session]struct{}
	cuts     []string
}

// endpoint is where a server listens.
type endpoint struct {
	network, address string
}

// Start starts a proxy in front of the database with the address. Everything passes until Watch says otherwise.
func Start(tb testing.TB, address string) *Proxy {
	tb.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("read the address of a database: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	p := &Proxy{
		server: serverOf(parsed), listener: listener, grammar: newGrammar(),
		judge: func(Commit) Fault { return Fault{} }, sessions: make(map[*session]struct{}),
	}
	p.address = through(parsed, listener.Addr().String())
	p.open.Go(p.accept)
	tb.Cleanup(p.stop)
	return p
}

// URL is the address of the database through the proxy.
func (p *Proxy) URL() string { return p.address.String() }

// Watch makes the judge decide from now on.
func (p *Proxy) Watch(judge Judge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// RoundTrips counts how often clients have asked for an answer so far, after their greetings.
func (p *Proxy) RoundTrips() int64 { return p.trips.Load() }

// Silence lets no request through any more, without a word, as a network does that has lost its way.
func (p *Proxy) Silence() { p.silent.Store(true) }

// CutAt ends the connection of the next request that has the text, instead of passing the request on.
func (p *Proxy) CutAt(texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append(p.cuts, texts...)
}

// Uncut returns the texts of which no request has come yet.
func (p *Proxy) Uncut() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.cuts)
}

// isCut reports whether a request is one at which its connection ends.
func (p *Proxy) isCut(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := len(p.cuts)
	p.cuts = slices.DeleteFunc(p.cuts, func(text string) bool { return bytes.Contains(request, []byte(text)) })
	return len(p.cuts) < left
}

func (p *Proxy) decide(commit Commit) Fault {
	p.mu.Lock()
	judge := p.judge
	p.mu.Unlock()
	return judge(commit)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.server.network, p.server.address)
		if err != nil {
			_ = client.Close() // It is told by this that there is no server.
			continue
		}
		s := newSession(p, client, server)
		if !p.enter(s) {
			s.cut()
			continue
		}
		p.open.Go(func() {
			defer p.leave(s)
			s.run()
		})
	}
}

// enter reports false when the proxy is being stopped.
func (p *Proxy) enter(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions == nil {
		return false
	}
	p.sessions[s] = struct{}{}
	return true
}

func (p *Proxy) leave(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
}

func (p *Proxy) stop() {
	_ = p.listener.Close() // Nothing is lost with it.
	p.mu.Lock()
	open := p.sessions
	p.sessions = nil
	p.mu.Unlock()
	for s := range open {
		s.cut()
	}
	p.open.Wait()
}

// serverOf finds the server: the parameters win over the authority, as they do for clients.
func serverOf(address *url.URL) endpoint {
	host, port := address.Hostname(), address.Port()
	query := address.Query()
	if query.Get("host") != "" {
		host = query.Get("host")
	}
	if query.Get("port") != "" {
		port = query.Get("port")
	}
	if port == "" {
		port = "5432"
	}
	if strings.HasPrefix(host, "/") {
		return endpoint{"unix", fmt.Sprintf("%s/.s.PGSQL.%s", host, port)}
	}
	return endpoint{"tcp", net.JoinHostPort(host, port)}
}

func through(address *url.URL, listener string) *url.URL {
	changed := *address
	changed.Host = listener
	query := changed.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	changed.RawQuery = query.Encode()
	return &changed
}
