package external

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	maxAttempts = 8
	maxPause    = 20 * time.Second
	// maxRetryAfter is longer than any run, and short enough not to overflow.
	maxRetryAfter = 365 * 24 * time.Hour
)

// outcome says whether a failed attempt may have had an effect.
type outcome int

const (
	// final attempts would fail in the same way again.
	final outcome = iota
	// notDone attempts had no effect on the validator.
	notDone
	// unknown attempts may have had an effect.
	unknown
)

// CallError says why there is no answer. Reason is a clause with the validator as its subject, for users; it repeats
// nothing that the validator or the network has sent. The cause is for the log.
type CallError struct {
	Reason string

	outcome    outcome
	retryAfter time.Duration
	cause      error
}

// Error returns the reason with its cause.
func (f *CallError) Error() string {
	if f.cause == nil {
		return f.Reason
	}
	return f.Reason + ": " + f.cause.Error()
}

// Unwrap returns the cause.
func (f *CallError) Unwrap() error {
	return f.cause
}

// Unknown reports whether the call may have had an effect.
func (f *CallError) Unknown() bool {
	return f.outcome == unknown
}

func (f *CallError) mayRepeat(repeatable bool) bool {
	return f.outcome == notDone || f.outcome == unknown && repeatable
}

// refused classifies an attempt that was answered with an error status. 429, and 503 with Retry-After, mean that
// nothing was done; 409 means that an earlier attempt is still in flight.
func refused(response *http.Response) *CallError {
	failure := &CallError{Reason: fmt.Sprintf("it answered with status %d", response.StatusCode), outcome: final}
	failure.retryAfter = ParseRetryAfter(response.Header.Get("Retry-After"), time.Now())
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests,
		status == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
		failure.outcome = notDone
	case status >= http.StatusInternalServerError, status == http.StatusConflict, status == http.StatusRequestTimeout:
		failure.outcome = unknown
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		failure.Reason = "it redirects elsewhere, which is not followed"
	}
	return failure
}

// ParseRetryAfter reads seconds or a date. Anything else is 0.
func ParseRetryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// pause waits before the next attempt: for Retry-After, and a random time so that many runs do not retry at once. It
// returns false if ctx leaves no time for another attempt.
func (c *Client) pause(ctx context.Context, attempt int, least time.Duration) bool {
	longest := min(c.firstPause<<(attempt-1), maxPause)
	wait := least + rand.N(longest+1) //nolint:gosec // it spreads load and guards nothing
	if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) <= wait {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}
