package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// keptBody is the size up to which the body of a request is kept.
const keptBody = 1 << 20

// Request is a request as it came.
type Request struct {
	Route, Path string
	Header      http.Header
	// Digest is of the body, unless the proxy did not read it.
	Digest string
	Body   []byte
	Came   time.Time
	// Answered is when the proxy was done with the request.
	Answered time.Time
}

// Proxy stands between a client and the service, and fails on demand.
type Proxy struct {
	// PageSize replaces page_size in requests for lists.
	PageSize int
	// Evil is the base URL of a server that no request may reach.
	Evil string

	target string
	http   *http.Client
	ended  chan struct{}
	next   func(route string) Fault

	mu       sync.Mutex
	requests []*Request
}

// NewProxy makes a proxy in front of the service at the address. The function chooses what is done with a request.
func NewProxy(tb testing.TB, target string, next func(route string) Fault) *Proxy {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 100} // more than are under way
	p := &Proxy{target: target, next: next, ended: make(chan struct{}), http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	tb.Cleanup(transport.CloseIdleConnections)
	return p
}

// Serve starts the proxy on a port, or behind a certificate that nobody trusts.
func (p *Proxy) Serve(tb testing.TB, encrypted bool) *httptest.Server {
	tb.Helper()
	server := httptest.NewUnstartedServer(p)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if encrypted {
		server.StartTLS()
	} else {
		server.Start()
	}
	tb.Cleanup(func() {
		close(p.ended)
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// InTurn chooses the faults of each route in their order.
func InTurn(faults map[string][]Fault) func(route string) Fault {
	var mu sync.Mutex
	left := make(map[string][]Fault)
	for route, some := range faults {
		left[route] = slices.Clone(some)
	}
	return func(route string) Fault {
		mu.Lock()
		defer mu.Unlock()
		if len(left[route]) == 0 {
			return Fault{Do: pass}
		}
		first := &left[route][0]
		chosen := *first
		first.Times--
		if first.Times == 0 || first.Times == -1 {
			left[route] = left[route][1:]
		}
		if chosen.Times < 0 {
			left[route] = []Fault{chosen}
		}
		return chosen
	}
}

// Requests returns the requests on a route in their order, or all without one.
func (p *Proxy) Requests(route string) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Request
	for _, r := range p.requests {
		if route == "" || r.Route == route {
			found = append(found, *r)
		}
	}
	return found
}

// ServeHTTP forwards or fails.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noted := &Request{Route: routeOf(r), Path: r.URL.RequestURI(), Header: r.Header.Clone(), Came: time.Now()}
	p.mu.Lock()
	p.requests = append(p.requests, noted)
	fault := p.next(noted.Route)
	p.mu.Unlock()
	defer p.note(func() { noted.Answered = time.Now() })
	if fault.Do == answerEarly {
		w.Header().Set("Connection", "close")
		fault.write(w, p.Evil)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	digest := sha256.Sum256(body)
	p.note(func() {
		noted.Digest = hex.EncodeToString(digest[:])
		if len(body) <= keptBody {
			noted.Body = body
		}
	})
	p.act(w, r, body, fault)
}

func (p *Proxy) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Proxy) act(w http.ResponseWriter, r *http.Request, body []byte, fault Fault) {
	switch fault.Do {
	case answer:
		fault.write(w, p.Evil)
		return
	case dropBefore, resetBefore:
		hangUp(w, fault.Do == resetBefore)
		return
	case hang:
		p.await(r)
		return
	}
	// What has been sent arrives, also where the client does not wait for the answer.
	ctx := r.Context()
	if fault.Do != pass && fault.Do != cutEvents && fault.Do != buffer {
		ctx = context.WithoutCancel(ctx)
	}
	got, err := p.forward(ctx, r, body)
	if err != nil {
		hangUp(w, false)
		return
	}
	defer got.Body.Close()
	if fault.Do == pass || fault.Do == cutEvents {
		copyAnswer(w, got, fault)
		return
	}
	whole, err := io.ReadAll(got.Body)
	if err != nil {
		hangUp(w, false)
		return
	}
	switch fault.Do {
	case dropAfter, resetAfter:
		hangUp(w, fault.Do == resetAfter)
	case cut:
		writeHalf(w, got, whole)
	case late:
		p.await(r)
	case answerAfter:
		fault.write(w, p.Evil)
	case buffer:
		maps.Copy(w.Header(), got.Header)
		w.WriteHeader(got.StatusCode)
		_, _ = w.Write(whole) // The client sees what is missing.
	}
}

// await waits until the client gives up.
func (p *Proxy) await(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-p.ended:
	}
}

func (p *Proxy) forward(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	address, err := url.Parse(p.target + r.URL.RequestURI())
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	if query := address.Query(); p.PageSize > 0 && query.Has("page_size") {
		query.Set("page_size", strconv.Itoa(p.PageSize))
		address.RawQuery = query.Encode()
	}
	onward, err := http.NewRequestWithContext(ctx, r.Method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	onward.Header, onward.GetBody = r.Header.Clone(), nil
	return p.http.Do(onward)
}

// copyAnswer passes an answer on as it comes.
func copyAnswer(w http.ResponseWriter, got *http.Response, fault Fault) {
	maps.Copy(w.Header(), got.Header)
	w.WriteHeader(got.StatusCode)
	control := http.NewResponseController(w)
	ends := []byte("\n\n")
	events := 0
	part := make([]byte, 4<<10)
	for {
		n, err := got.Body.Read(part)
		events += bytes.Count(part[:n], ends)
		if fault.Do == cutEvents && events >= fault.Events {
			first := bytes.SplitAfter(part[:n], ends)
			first = first[:len(first)-1-(events-fault.Events)]
			_, _ = w.Write(append(bytes.Join(first, nil), "event: run.compl"...)) // It is broken on purpose.
			_ = control.Flush()
			hangUp(w, false)
			return
		}
		_, _ = w.Write(part[:n]) // The client sees what is missing.
		_ = control.Flush()
		if err != nil {
			return
		}
	}
}

var routes = []struct {
	name, method string
	path         *regexp.Regexp
}{
	{"start", http.MethodPost, regexp.MustCompile(`^/api/workflows/[^/]+/start/$`)},
	{"workflows", http.MethodGet, regexp.MustCompile(`^/api/workflows/$`)},
	{"rerun", http.MethodPost, regexp.MustCompile(`^/api/runs/[^/]+/rerun/$`)},
	{"cancel", http.MethodPost, regexp.MustCompile(`^/api/runs/[^/]+/cancel/$`)},
	{"events", http.MethodGet, regexp.MustCompile(`^/api/runs/[^/]+/events/$`)},
	{"findings", http.MethodGet, regexp.MustCompile(`^/api/runs/[^/]+/findings/$`)},
	{"get", http.MethodGet, regexp.MustCompile(`^/api/runs/[^/]+/$`)},
	{"runs", http.MethodGet, regexp.MustCompile(`^/api/runs/$`)},
	{"me", http.MethodGet, regexp.MustCompile(`^/api/me/$`)},
}

func routeOf(r *http.Request) string {
	for _, route := range routes {
		if r.Method == route.method && route.path.MatchString(r.URL.Path) {
			return route.name
		}
	}
	return "other"
}
