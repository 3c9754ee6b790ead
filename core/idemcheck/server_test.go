package idemcheck_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lifetime is how long the shop remembers a key, where it forgets keys.
const lifetime = time.Second

// shop is an API that places orders under keys. It is correct but for the fault that was planted.
type shop struct {
	fault string
	url   string

	mu      sync.Mutex // guards what follows
	orders  []order
	records map[string]*record
	// stop ends the work of those requests that a restart finds under way.
	stop    context.CancelFunc
	running context.Context //nolint:containedctx // it is the process
}

type order struct {
	Tenant    string `json:"tenant"`
	Reference string `json:"reference"`
	Amount    int    `json:"amount"`
	ID        int    `json:"id"`
}

// record is what is known of a key.
type record struct {
	fingerprint string
	done        bool
	status      int
	body        string
	at          time.Time
}

func openShop(tb testing.TB, fault string) *shop {
	tb.Helper()
	s := &shop{fault: fault, records: make(map[string]*record)}
	s.running, s.stop = context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(s.chosen())
	if s.is("case-sensitive") {
		server.Listener = caseSensitive{server.Listener}
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server.Config.Protocols = &protocols
	server.Start()
	tb.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *shop) is(fault string) bool { return s.fault == fault }

// ServeHTTP takes orders, lists them, and is restarted.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tenant, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "-")
	switch {
	case r.URL.Path == "/restart":
		s.restart()
	case r.Method == http.MethodGet:
		s.list(w, r, tenant)
	default:
		s.order(w, r, tenant)
	}
}

func (s *shop) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.running, s.stop = context.WithCancel(context.Background())
	for key, found := range s.records {
		if s.is("memory-only") || !found.done && !s.is("stuck-after-restart") {
			delete(s.records, key)
		}
	}
}

func (s *shop) list(w http.ResponseWriter, r *http.Request, tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := slices.DeleteFunc(slices.Clone(s.orders), func(o order) bool {
		return o.Tenant != tenant || o.Reference != r.FormValue("reference")
	})
	_ = json.NewEncoder(w).Encode(append([]order{}, found...)) //nolint:errchkjson // the client sees what is missing
}

// order does the work under a key, or without one.
func (s *shop) order(w http.ResponseWriter, r *http.Request, tenant string) {
	body, err := io.ReadAll(r.Body)
	if err != nil && !s.is("does-half-requests") {
		return
	}
	key, problem := s.key(r)
	if problem != "" {
		s.refuse(w, http.StatusBadRequest, problem)
		return
	}
	if key == "" {
		status, answered := s.work(r.Context(), tenant, body)
		s.answer(w, status, answered, false)
		return
	}
	scope := s.scope(r, tenant, key)
	mine, found := s.claim(r, scope, s.fingerprint(r, body))
	if mine == nil {
		s.settle(w, found)
		return
	}
	status, answered := s.work(s.life(r), tenant, body) //nolint:contextcheck // it outlives the request
	s.finish(scope, mine, status, answered)
	if status > 0 {
		s.answer(w, status, answered, false)
	}
}

// life is as long as the work may take: to the end of the process, also where the client is gone.
func (s *shop) life(r *http.Request) context.Context {
	if s.is("stuck-without-client") || s.is("forgets-without-client") {
		return r.Context()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// key is the key of a request, or what is wrong with it.
func (s *shop) key(r *http.Request) (string, string) {
	lines := r.Header.Values("Idempotency-Key")
	if len(lines) == 0 {
		if s.is("required") {
			return "", "a key is required"
		}
		return "", ""
	}
	key := lines[0]
	unquoted, err := strconv.Unquote(key)
	quoted := strings.HasPrefix(key, `"`) && err == nil
	switch {
	case len(lines) > 1 && !s.is("first-line"):
		return "", "two keys"
	case quoted && s.is("refuses-quotes"), !quoted && s.is("refuses-bare"):
		return "", "the key is in the wrong form"
	case quoted && !s.is("keeps-quotes"):
		key = unquoted
	}
	switch {
	case key == "" && s.is("shares-empty"):
		return "empty", ""
	case key == "" && s.is("accepts-empty"):
		return "", ""
	case key == "" || len(key) > 255 && !s.is("cuts-at-255"):
		return "", "a key has 1 to 255 characters"
	case strings.ContainsFunc(key, func(c rune) bool { return c > '~' }) && !s.is("random-beyond-ascii"):
		return "", "a key is ASCII"
	case s.is("random-beyond-ascii") && key[0] > '~':
		key += strconv.FormatInt(time.Now().UnixNano(), 10)
	case s.is("folds-case"):
		key = strings.ToLower(key)
	case s.is("cuts-at-64"), s.is("cuts-at-255"):
		key = key[:min(len(key), map[bool]int{true: 64, false: 255}[s.is("cuts-at-64")])]
	}
	return key, ""
}

// scope is within what a key is one key.
func (s *shop) scope(r *http.Request, tenant, key string) string {
	switch s.fault {
	case "leaks-to-tenants", "blocks-tenants":
		return key
	case "by-connection":
		return tenant + " " + key + " " + r.RemoteAddr
	case "by-process":
		return tenant + " " + key + " " + r.Host
	case "by-protocol":
		return tenant + " " + key + " " + r.Proto
	default:
		return tenant + " " + key
	}
}

func (s *shop) fingerprint(r *http.Request, body []byte) string {
	var meaning any
	decoder := json.NewDecoder(bytes.NewReader(body))
	if decoder.Decode(&meaning) == nil && !s.is("spelling-matters") {
		body, _ = json.Marshal(meaning) //nolint:errchkjson // it came from JSON
	}
	parts := []string{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body)}
	tenant, _, _ := strings.Cut(r.Header.Get("Authorization"), "-")
	switch s.fault {
	case "ignores-method":
		parts[0] = ""
	case "ignores-path":
		parts[1] = ""
	case "ignores-query":
		parts[2] = ""
	case "ignores-type":
		parts[3] = ""
	case "ignores-body":
		parts[4] = ""
	case "reads-1000-bytes":
		parts[4] = parts[4][:min(len(parts[4]), 1000)]
	case "length-matters":
		parts = append(parts, strconv.FormatInt(r.ContentLength, 10))
	case "blocks-tenants":
		parts = append(parts, tenant)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))
}

// claim returns the record if it is new, and otherwise a copy of what was found.
func (s *shop) claim(r *http.Request, scope, fingerprint string) (*record, record) {
	deadline := time.Now().Add(5 * time.Second)
	for {
		s.mu.Lock()
		held := s.records[scope]
		if held != nil && held.done && s.old(held) {
			held = nil
		}
		free := held == nil || s.is("checks-then-acts") && !held.done
		if free || s.is("claims-by-body") && held.fingerprint != fingerprint {
			mine := &record{fingerprint: fingerprint, at: time.Now()}
			if s.is("answers-early") {
				mine.done, mine.status, mine.body = true, http.StatusCreated, `{"id":1}`
			}
			s.records[scope] = mine
			s.mu.Unlock()
			return mine, record{}
		}
		found := *held
		if held.fingerprint != fingerprint {
			found.fingerprint = "other"
			if s.is("forgets-after-mismatch") {
				delete(s.records, scope)
			}
		}
		s.mu.Unlock()
		if found.done || !s.is("waits") && !s.is("works-after-waiting") || time.Now().After(deadline) {
			return nil, found
		}
		pause := 10 * time.Millisecond
		if s.is("works-after-waiting") {
			pause = time.Second
		}
		if err := s.await(r.Context(), pause); err != nil || s.is("works-after-waiting") {
			return &record{fingerprint: fingerprint}, record{}
		}
	}
}

func (*shop) await(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (s *shop) old(found *record) bool {
	switch s.fault {
	case "expires":
		return time.Since(found.at) > lifetime
	case "expires-early":
		return time.Since(found.at) > lifetime/4
	default:
		return false
	}
}

// settle answers a request whose key is taken.
func (s *shop) settle(w http.ResponseWriter, found record) {
	switch {
	case found.fingerprint == "other" && s.is("mismatch-is-400"):
		s.refuse(w, http.StatusBadRequest, "the key was used for another request")
	case found.fingerprint == "other":
		s.refuse(w, http.StatusUnprocessableEntity, "the key was used for another request")
	case !found.done && s.is("busy-is-500"):
		s.refuse(w, http.StatusInternalServerError, "duplicate key value violates unique constraint")
	case !found.done && s.is("busy-is-425"):
		w.Header().Set("Retry-After", "1")
		s.refuse(w, http.StatusTooEarly, "the key is in use")
	case !found.done:
		if !s.is("no-retry-after") {
			w.Header().Set("Retry-After", "1")
		}
		s.refuse(w, http.StatusConflict, "the key is in use")
	default:
		s.answer(w, found.status, found.body, true)
	}
}

var referenceOf = regexp.MustCompile(`"reference"\s*:\s*"([^"]*)"`)

// work places an order. The status is 0 where the work was given up.
func (s *shop) work(ctx context.Context, tenant string, body []byte) (int, string) {
	asked := struct {
		Reference string `json:"reference"`
		Amount    int    `json:"amount"`
		Delay     int    `json:"delay_ms"`
	}{}
	if err := json.Unmarshal(body, &asked); err != nil {
		part := referenceOf.FindSubmatch(body)
		if part == nil || !s.is("does-half-requests") {
			return http.StatusBadRequest, `{"error":"no JSON"}`
		}
		asked.Reference = string(part[1])
	}
	if asked.Amount < 0 {
		return http.StatusBadRequest, `{"error":"amount"}`
	}
	if asked.Amount == 500 {
		if s.is("works-before-500") {
			s.place(tenant, asked.Reference, 500)
		}
		return http.StatusInternalServerError, `{"error":"broken"}`
	}
	if s.await(ctx, time.Duration(max(10, asked.Delay))*time.Millisecond) != nil {
		if s.is("forgets-without-client") {
			s.place(tenant, asked.Reference, asked.Amount)
		}
		return 0, ""
	}
	id := s.place(tenant, asked.Reference, asked.Amount)
	return http.StatusCreated, fmt.Sprintf(`{"id":%d,"reference":%q,"amount":%d}`, id, asked.Reference, asked.Amount)
}

func (s *shop) place(tenant, reference string, amount int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, order{tenant, reference, amount, len(s.orders) + 1})
	return len(s.orders)
}

// finish stores the answer, or frees the key of work that was not done.
func (s *shop) finish(scope string, mine *record, status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case status == 0 && (s.is("stuck-without-client") || s.is("stuck-after-restart")):
	case status == 0, status >= 500 && !s.is("stores-500"), status >= 400 && status < 500 && !s.is("stores-400"):
		if s.records[scope] == mine {
			delete(s.records, scope)
		}
	default:
		mine.done, mine.status, mine.body, mine.at = true, status, body, time.Now()
	}
}

func (s *shop) refuse(w http.ResponseWriter, status int, problem string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"status":%d,"detail":%q}`, status, problem) // The client sees what is missing.
}

func (s *shop) answer(w http.ResponseWriter, status int, body string, again bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", fmt.Sprintf("/orders/%x", sha256.Sum256([]byte(body))))
	if again && !s.is("unmarked") {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	if again {
		switch s.fault {
		case "replays-as-200":
			status = http.StatusOK
		case "replays-other-body":
			body = `{"status":"processed"}`
		case "replays-other-bytes":
			body += " "
		case "replays-without-headers":
			w.Header().Del("Location")
		}
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // As above.
}
