package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/idemcheck"
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

// Proxy is one of idemcheck that notes the requests and can also answer by itself.
type Proxy struct {
	*idemcheck.Proxy

	// PageSize replaces page_size in requests for lists.
	PageSize int
	// Evil is the base URL of a server that no request may reach.
	Evil string

	next func(route string) Fault

	mu       sync.Mutex
	requests []*Request
}

// NewProxy starts a proxy in front of the service at the address, behind a certificate that nobody trusts if it is
// encrypted. The function chooses what is done with a request.
func NewProxy(tb testing.TB, target string, encrypted bool, next func(route string) Fault) *Proxy {
	tb.Helper()
	p := &Proxy{next: next}
	p.Proxy = idemcheck.StartProxy(target, encrypted, p.pass)
	tb.Cleanup(p.Close)
	return p
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

// pass notes a request and does with it what its fault says.
func (p *Proxy) pass(passage *idemcheck.Passage) {
	r := passage.R
	noted := &Request{Route: routeOf(r), Path: r.URL.RequestURI(), Header: r.Header.Clone(), Came: time.Now()}
	p.mu.Lock()
	p.requests = append(p.requests, noted)
	fault := p.next(noted.Route)
	p.mu.Unlock()
	defer p.note(func() { noted.Answered = time.Now() })
	if fault.Do == answerEarly {
		passage.W.Header().Set("Connection", "close")
		fault.write(passage.W, p.Evil)
		return
	}
	if err := passage.Read(); err != nil {
		return
	}
	digest := sha256.Sum256(passage.Body)
	p.note(func() {
		noted.Digest = hex.EncodeToString(digest[:])
		if len(passage.Body) <= keptBody {
			noted.Body = passage.Body
		}
	})
	if query := r.URL.Query(); p.PageSize > 0 && query.Has("page_size") {
		query.Set("page_size", strconv.Itoa(p.PageSize))
		r.URL.RawQuery = query.Encode()
	}
	p.act(passage, fault)
}

func (p *Proxy) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Proxy) act(passage *idemcheck.Passage, fault Fault) {
	switch fault.Do {
	case answer:
		fault.write(passage.W, p.Evil)
	case hang:
		passage.Await()
	case answerAfter:
		if passage.Perform() {
			fault.write(passage.W, p.Evil)
		}
	case pass, cutEvents:
		got, err := passage.Forward(true)
		if err != nil {
			passage.HangUp(false)
			return
		}
		defer got.Body.Close()
		copyAnswer(passage, got, fault)
	default:
		idemcheck.Faults()[fault.Do](passage)
	}
}

// copyAnswer passes an answer on as it comes.
func copyAnswer(passage *idemcheck.Passage, got *http.Response, fault Fault) {
	w := passage.W
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
			passage.HangUp(false)
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
