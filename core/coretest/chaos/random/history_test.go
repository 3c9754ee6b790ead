package random

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// order is what a client wants: a run under a key, or to see one. All attempts at it share it.
type order struct {
	who string
	org int
	// key and document are empty where a run is read.
	key, document string
	// run is the run to be read, and foreign that it is another organization's.
	run     string
	foreign bool

	mu     sync.Mutex
	server int
}

// turn takes one server after the other.
func (o *order) turn() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.server++
	return o.server
}

// attempt is one request as its sender saw it.
type attempt struct {
	*order

	// id is the Request-Id, which the database keeps with the run that the request starts.
	id   string
	at   int
	call time.Time

	// What follows is set when the attempt has ended; end is zero until then. The status is 0 where no answer came.
	end      time.Time
	status   int
	replayed bool
	original string
	body     string
	shown    struct {
		ID    string   `json:"id"`
		RunID string   `json:"run_id"`
		Code  api.Code `json:"code"`
	}
	detail string
}

// created is the run that the answer shows, if it shows one.
func (a *attempt) created() (uuid.UUID, bool) {
	if a.status != http.StatusCreated {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(a.shown.ID)
	return id, err == nil
}

// String is the attempt as a line of a timeline.
func (a *attempt) String() string {
	outcome := a.detail
	if a.status != 0 {
		outcome = fmt.Sprintf("%d %s%s", a.status, a.shown.Code, a.shown.ID)
	}
	if a.replayed {
		outcome += " replayed"
	}
	return fmt.Sprintf("%s by %s to server %d, document %s: %s", a.id, a.who, a.at, a.document, outcome)
}

// history is all attempts in the order of their beginnings.
type history struct {
	fronts []string
	http   *http.Transport

	mu       sync.Mutex // guards what follows
	attempts []*attempt
	// bodies keeps one copy of each, of which most are replays.
	bodies map[string]string
}

// ofOrder is the key of a context's order.
type ofOrder struct{}

// RoundTrip sends a request to the next server and notes it, before and after.
func (h *history) RoundTrip(request *http.Request) (*http.Response, error) {
	wanted, ok := request.Context().Value(ofOrder{}).(*order)
	if !ok {
		return nil, fmt.Errorf("request %s is of no order", request.URL)
	}
	a := h.begin(wanted)
	sent := request.Clone(request.Context())
	sent.URL.Host, sent.GetBody = h.fronts[a.at], nil
	sent.Header.Set("Request-Id", a.id)
	response, err := h.http.RoundTrip(sent)
	if err != nil {
		h.finish(a, nil, nil, err)
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // It was only read.
	h.finish(a, response, body, err)
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}

func (h *history) begin(wanted *order) *attempt {
	a := &attempt{order: wanted, at: wanted.turn() % len(h.fronts), call: time.Now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	a.id = fmt.Sprintf("chaos-%d", len(h.attempts))
	h.attempts = append(h.attempts, a)
	return a
}

func (h *history) finish(a *attempt, response *http.Response, body []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.end = time.Now()
	if err != nil {
		a.detail = err.Error()
		return
	}
	if _, known := h.bodies[string(body)]; !known {
		h.bodies[string(body)] = string(body)
	}
	a.status, a.body = response.StatusCode, h.bodies[string(body)]
	a.replayed = response.Header.Get("Idempotent-Replayed") == "true"
	a.original = response.Header.Get("Original-Request-Id")
	if err := json.Unmarshal(body, &a.shown); err != nil {
		a.detail = "no JSON: " + string(body)
	}
	if a.status >= http.StatusBadRequest {
		a.detail = string(body)
	}
}

// all returns what has been noted. Nothing may be under way any more.
func (h *history) all() []*attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.attempts
}

// acknowledged returns a run that some client was told of, of another organization or of the same.
func (h *history) acknowledged(org int, foreign bool) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range slices.Backward(h.attempts) {
		if a.status == http.StatusCreated && (a.org != org) == foreign {
			return a.shown.ID
		}
	}
	return ""
}

// keyOf names a key in reports.
func keyOf(org int, key string) string { return fmt.Sprintf("%d/%s", org, strings.TrimSpace(key)) }

func withOrder(ctx context.Context, o *order) context.Context {
	return context.WithValue(ctx, ofOrder{}, o)
}
