package client

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Error is a refusal of the service. An answer of a proxy in front of the service has no code.
type Error struct {
	api.Problem
	// Key is the idempotency key of the request, if any.
	Key string
	// Attempts is how often the request was sent.
	Attempts int
	// RetryAfter is how long the service asks to wait; 0 if it does not say.
	RetryAfter time.Duration
}

// Error says what was refused and why.
func (e *Error) Error() string {
	text := e.Detail
	if text == "" {
		text = "the answer has the status " + strconv.Itoa(e.Status)
	}
	switch {
	case e.Code != "" && e.RequestID != "":
		return fmt.Sprintf("%s (%s, request %s)", text, e.Code, e.RequestID)
	case e.RequestID != "":
		return fmt.Sprintf("%s (request %s)", text, e.RequestID)
	default:
		return text
	}
}

// Is reports whether the target is the error's code, for errors.Is.
func (e *Error) Is(target error) bool {
	code, ok := target.(api.Code)
	return ok && e.Code != "" && code == e.Code
}

// UnknownOutcomeError says that a request may have been carried out, because it was sent and its answer never arrived.
// Repeating the call with the key is safe, and finds out.
type UnknownOutcomeError struct {
	// Key is the idempotency key to repeat the call with. It is empty for a call that takes none: then look first
	// whether the call was carried out.
	Key string
	// RunID is the id that the run has if it exists; empty if the service did not name it.
	RunID    string
	Attempts int
	// Err is why the last attempt failed.
	Err error
}

// Error says what may have happened and how to find out.
func (e *UnknownOutcomeError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("the answer did not come, and the request may have been carried out: %v", e.Err)
	}
	return fmt.Sprintf("the answer did not come: a run may exist; retry with key %s: %v", e.Key, e.Err)
}

// Unwrap returns why the last attempt failed.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// UnreachableError says that a request was never sent, or that a read-only request got no answer.
type UnreachableError struct {
	// Key is the idempotency key of the request, if any.
	Key      string
	Attempts int
	Err      error
}

// Error says that the service did not answer and why.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the service did not answer: %v", e.Err)
}

// Unwrap returns why the last attempt failed.
func (e *UnreachableError) Unwrap() error { return e.Err }

// KeyOf returns the idempotency key that a failed call had, so that it can be repeated with it.
func KeyOf(err error) string {
	if refused, ok := errors.AsType[*Error](err); ok && refused.Key != "" {
		return refused.Key
	}
	if unknown, ok := errors.AsType[*UnknownOutcomeError](err); ok {
		return unknown.Key
	}
	if unreachable, ok := errors.AsType[*UnreachableError](err); ok {
		return unreachable.Key
	}
	return ""
}
