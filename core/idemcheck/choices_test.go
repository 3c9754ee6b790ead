package idemcheck_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/idemcheck"
)

// TestChoices has APIs that do what they may, each with the case that would accuse it falsely.
func TestChoices(t *testing.T) {
	t.Parallel()
	for choice, name := range map[string]string{
		"limits":            "mismatch/body",
		"no-chunks":         "body/chunked",
		"breaks-http2":      "replay/http2",
		"unique-references": "tenant/same-request",
		"says-nothing":      "mismatch/path",
		"never-answers":     "lost/duplicate",
	} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			if result := check(t, choice, idemcheck.ProfileStrict, name).Results[0]; result.Outcome ==
				idemcheck.OutcomeFailed {
				t.Errorf("%s = failed, want no accusation: %s\n%+v", name, result.Reason, result.Seen)
			}
		})
	}
}

// TestRequestWithoutBody cannot lose half of it.
func TestRequestWithoutBody(t *testing.T) {
	t.Parallel()
	var placed atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			placed.Add(1)
		}
		_, _ = fmt.Fprint(w, placed.Load()) // The client sees what is missing.
	}))
	t.Cleanup(server.Close)
	none := func(string) (string, bool) { return "", false }
	d, err := idemcheck.Read([]byte(`{request: {url: "/orders/{{ref}}"}, effects: {url: /}}`), none)
	if err != nil {
		t.Fatal(err)
	}
	c := idemcheck.Checker{Description: d, Base: server.URL, Only: []string{"lost/half-request"}, Lookup: none}
	report, err := c.Run(t.Context())
	if err != nil || report.Results[0].Outcome != idemcheck.OutcomeUnjudged {
		t.Errorf("report = %+v (%v), want nothing judged", report, err)
	}
}

// TestCurlOfOtherProcess names the process that the request went to.
func TestCurlOfOtherProcess(t *testing.T) {
	t.Parallel()
	seen := check(t, "", idemcheck.ProfileStrict, "replay/process").Results[0].Seen
	if !strings.Contains(seen[0].Curl, "http://127.0.0.1:") || !strings.Contains(seen[1].Curl, "http://localhost:") {
		t.Errorf("seen = %+v, want the address of each process", seen)
	}
}

// chosen is the shop behind what it chooses to do otherwise.
func (s *shop) chosen() http.Handler {
	var placed atomic.Int64
	var busy sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		switch {
		case r.Method == http.MethodGet:
		case s.is("limits") && placed.Add(1)%3 == 0:
			s.refuse(w, http.StatusTooManyRequests, "slow down")
			return
		case s.is("no-chunks") && r.ContentLength < 0:
			s.refuse(w, http.StatusLengthRequired, "say how long it is")
			return
		case s.is("breaks-http2") && r.ProtoMajor > 1:
			panic(http.ErrAbortHandler)
		case s.is("unique-references") && s.taken(r):
			s.refuse(w, http.StatusConflict, "the reference is taken")
			return
		case s.is("says-nothing"): // Each address has its own keys.
			digest := fnv.New64a()
			_, _ = io.WriteString(digest, r.URL.String())
			r.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%x", key, digest.Sum64()))
			recorder := httptest.NewRecorder()
			s.ServeHTTP(recorder, r)
			w.WriteHeader(recorder.Code)
			_, _ = io.WriteString(w, `{"status":"accepted"}`) // The client sees what is missing.
			return
		case s.is("never-answers"):
			if _, taken := busy.LoadOrStore(key, true); taken {
				_, _ = io.Copy(io.Discard, r.Body) // Only then is it seen that the client is gone.
				<-r.Context().Done()
				return
			}
			defer busy.Delete(key)
		}
		s.ServeHTTP(w, r)
	})
}

// taken reports whether another tenant has an order with the reference of the request.
func (s *shop) taken(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	found := referenceOf.FindSubmatch(body)
	if err != nil || found == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		if o.Reference == string(found[1]) && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "+o.Tenant) {
			return true
		}
	}
	return false
}

// caseSensitive is a listener whose requests have no key where its header is written in lower case.
type caseSensitive struct{ net.Listener }

func (l caseSensitive) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return caseSensitiveConn{conn}, err
}

type caseSensitiveConn struct{ net.Conn }

func (c caseSensitiveConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	copy(into, bytes.ReplaceAll(into[:n], []byte("\nidempotency-key:"), []byte("\nidempotency-kez:")))
	return n, err
}
