package program

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Answer is a response that was read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Created reports whether the answer is that something was created, now or by an earlier request.
func (a Answer) Created() bool { return a.Status == http.StatusCreated }

// Replayed reports whether the answer says that it is an earlier one.
func (a Answer) Replayed() bool { return a.Header.Get("Idempotent-Replayed") == "true" }

// Problem reads a refusal. What is none is shown as its detail.
func (a Answer) Problem() api.Problem {
	var p api.Problem
	if err := json.Unmarshal(a.Body, &p); err != nil {
		return api.Problem{Detail: string(a.Body)}
	}
	return p
}

// Run reads the id of the run that the answer shows.
func (a Answer) Run(tb testing.TB) uuid.UUID {
	tb.Helper()
	var shown struct {
		ID uuid.UUID `json:"id"`
	}
	if err := json.Unmarshal(a.Body, &shown); err != nil || shown.ID == uuid.Nil {
		tb.Fatalf("answer %d is not a run: %v: %s", a.Status, err, a.Body)
	}
	return shown.ID
}

// WantCreated demands a first answer.
func WantCreated(tb testing.TB, a Answer) {
	tb.Helper()
	if !a.Created() || a.Replayed() {
		tb.Fatalf("answer = %d (replayed %t), want a first 201: %s", a.Status, a.Replayed(), a.Body)
	}
}

// WantReplay demands the bytes of the first answer again.
func WantReplay(tb testing.TB, got, first Answer) {
	tb.Helper()
	if !got.Created() || !got.Replayed() {
		tb.Fatalf("answer = %d (replayed %t), want a replayed 201: %s", got.Status, got.Replayed(), got.Body)
	}
	if !bytes.Equal(got.Body, first.Body) {
		tb.Errorf("replay = %s, want %s", got.Body, first.Body)
	}
	for _, name := range []string{"Location", "Content-Type", "Idempotency-Expires"} {
		if got, want := got.Header.Get(name), first.Header.Get(name); got != want {
			tb.Errorf("replayed %s = %q, want %q", name, got, want)
		}
	}
	if got, want := got.Header.Get("Original-Request-Id"), first.Header.Get("Request-Id"); got != want {
		tb.Errorf("Original-Request-Id = %q, want %q", got, want)
	}
}

// WantProblem demands a refusal.
func WantProblem(tb testing.TB, a Answer, status int, code api.Code) api.Problem {
	tb.Helper()
	p := a.Problem()
	if a.Status != status || p.Code != code {
		tb.Fatalf("answer = %d %s, want %d %s: %s", a.Status, p.Code, status, code, a.Body)
	}
	return p
}
