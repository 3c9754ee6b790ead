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
	// maxRetryAfter is longer than any run, and short enough to be added to.
	maxRetryAfter = 365 * 24 * time.Hour
)

// outcome is what is known of a failed attempt.
type outcome int

const (
	// final attempts would only fail in the same way again.
	final outcome = iota
	// notDone attempts had no effect on the other side.
	notDone
	// unknown attempts may have had an effect.
	unknown
)

// CallError says why there is no answer, in words that can follow the name of the validator. Reason holds nothing of
// what the other side or the network said; that is for the log.
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

// refused is the failure of an attempt that was answered with a status that is no answer. 429, and 503 with a time to
// come back, say that nothing was done; 409 says that an earlier attempt is still under way.
func refused(response *http.Response) *CallError {
	failure := &CallError{Reason: fmt.Sprintf("it answered with status %d", response.StatusCode), outcome: final}
	failure.retryAfter = parseRetryAfter(response.Header.Get("Retry-After"), time.Now())
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

// parseRetryAfter reads seconds or a date; what is neither is no time at all.
func parseRetryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// pause waits before the next attempt, for as long as the validator asks, and a random time besides so that many runs
// do not come back at once. It reports false when ctx leaves no time for another attempt.
func (c *Client) pause(ctx context.Context, attempt int, least time.Duration) bool {
	longest := min(c.firstPause<<(attempt-1), maxPause)
	wait := least + rand.N(longest+1) //nolint:gosec // it spreads load and guards nothing
	if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
