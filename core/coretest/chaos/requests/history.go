package requests

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

// Order is what a client wants: a run under a key, or to see one. All attempts at it share it.
type Order struct {
	Who string
	Org int
	// Key and Document are empty where a run is read.
	Key, Document string
	// Run is the run to be read, and Foreign that it is another organization's.
	Run     string
	Foreign bool
	// Server is the one after which the next attempt is sent.
	Server int

	mu sync.Mutex // guards Server
}

// turn takes one server after the other.
func (o *Order) turn() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Server++
	return o.Server
}

// Attempt is one request as its sender saw it.
type Attempt struct {
	*Order

	// ID is the Request-Id, which the database keeps with the run that the request starts.
	ID   string
	At   int
	Call time.Time

	// What follows is set when the attempt has ended; End is zero until then. The status is 0 where no answer came.
	End      time.Time
	Status   int
	Replayed bool
	Original string
	Body     string
	Shown    struct {
		ID    string   `json:"id"`
		RunID string   `json:"run_id"`
		Code  api.Code `json:"code"`
	}
	Detail string
}

// Created is the run that the answer shows, if it shows one.
func (a *Attempt) Created() (uuid.UUID, bool) {
	if a.Status != http.StatusCreated {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(a.Shown.ID)
	return id, err == nil
}

// String is the attempt as a line of a timeline.
func (a *Attempt) String() string {
	outcome := a.Detail
	if a.Status != 0 {
		outcome = fmt.Sprintf("%d %s%s", a.Status, a.Shown.Code, a.Shown.ID)
	}
	if a.Replayed {
		outcome += " replayed"
	}
	return fmt.Sprintf("%s by %s to server %d, document %s: %s", a.ID, a.Who, a.At, a.Document, outcome)
}

// History is all attempts in the order of their beginnings.
type History struct {
	// Fronts are the addresses of the servers, and Cell that of the other cell, for what they pass on.
	Fronts []string
	Cell   string
	HTTP   *http.Transport

	mu       sync.Mutex // guards what follows
	attempts []*Attempt
	// bodies keeps one copy of each, of which most are replays.
	bodies map[string]string
}

// ofOrder is the key of a context's order.
type ofOrder struct{}

// RoundTrip sends a request to the next server and notes it, before and after.
func (h *History) RoundTrip(request *http.Request) (*http.Response, error) {
	wanted, ok := request.Context().Value(ofOrder{}).(*Order)
	if !ok {
		return nil, fmt.Errorf("request %s is of no order", request.URL)
	}
	a := h.begin(wanted)
	var content []byte
	if request.Body != nil {
		var err error
		if content, err = io.ReadAll(request.Body); err != nil {
			return nil, fmt.Errorf("read what is to be sent: %w", err)
		}
	}
	send := func(ctx context.Context, address string) (*http.Response, error) {
		sent := request.Clone(ctx)
		sent.URL.Host, sent.GetBody, sent.Body = address, nil, io.NopCloser(bytes.NewReader(content))
		sent.Header.Set("Request-Id", a.ID)
		return h.HTTP.RoundTrip(sent) //nolint:wrapcheck // It is the caller's.
	}
	response, err := send(request.Context(), h.Fronts[a.At])
	if err == nil && response.Header.Get("X-Accel-Redirect") == "@moved" { // As nginx does it.
		_ = response.Body.Close() // It is not used.
		response, err = send(request.Context(), h.Cell)
	}
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

func (h *History) begin(wanted *Order) *Attempt {
	a := &Attempt{Order: wanted, At: wanted.turn() % len(h.Fronts), Call: time.Now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	a.ID = fmt.Sprintf("chaos-%d", len(h.attempts))
	h.attempts = append(h.attempts, a)
	return a
}

func (h *History) finish(a *Attempt, response *http.Response, body []byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.End = time.Now()
	if err != nil {
		a.Detail = err.Error()
		return
	}
	if h.bodies == nil {
		h.bodies = make(map[string]string)
	}
	if _, known := h.bodies[string(body)]; !known {
		h.bodies[string(body)] = string(body)
	}
	a.Status, a.Body = response.StatusCode, h.bodies[string(body)]
	a.Replayed = response.Header.Get("Idempotent-Replayed") == "true"
	a.Original = response.Header.Get("Original-Request-Id")
	if err := json.Unmarshal(body, &a.Shown); err != nil {
		a.Detail = "no JSON: " + string(body)
	}
	if a.Status >= http.StatusBadRequest {
		a.Detail = string(body)
	}
}

// All returns what has been noted. Nothing may be under way any more.
func (h *History) All() []*Attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.attempts
}

// Acknowledged returns a run that some client was told of, of another organization or of the same.
func (h *History) Acknowledged(org int, foreign bool) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range slices.Backward(h.attempts) {
		if a.Status == http.StatusCreated && (a.Org != org) == foreign {
			return a.Shown.ID
		}
	}
	return ""
}

// KeyOf names a key in reports.
func KeyOf(org int, key string) string { return fmt.Sprintf("%d/%s", org, strings.TrimSpace(key)) }

// WithOrder makes the attempts with a context those of an order.
func WithOrder(ctx context.Context, o *Order) context.Context {
	return context.WithValue(ctx, ofOrder{}, o)
}

// Definite reports whether an answer says how the request has ended.
func (a *Attempt) Definite() bool {
	return a.Status != 0 && a.Status != http.StatusServiceUnavailable
}
