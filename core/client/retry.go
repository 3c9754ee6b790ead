package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// maxRetryAfter is the longest Retry-After that is honored. A longer one ends the call.
const maxRetryAfter = time.Minute

// failure is why one attempt failed.
type failure struct {
	err     error
	refused *Error
	// lost says that the service may have done what was asked for.
	lost bool
	// final says that a retry would fail in the same way.
	final bool
}

// Error returns the cause.
func (f *failure) Error() string { return f.err.Error() }

// callerError is why a request could not be sent, which is not the service's fault: the document cannot be read, or an
// address, such as a link to a next page, leads away from the service.
type callerError struct{ error }

// Unwrap returns why.
func (e callerError) Unwrap() error { return e.error }

// failureOf judges an attempt without an answer. The context is that of the whole call.
func failureOf(ctx context.Context, err error) *failure {
	_, own := errors.AsType[callerError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, unencrypted := errors.AsType[tls.RecordHeaderError](err)
	if own || untrusted || unencrypted || errors.Is(err, http.ErrSchemeMismatch) {
		return &failure{err: err, final: true}
	}
	return &failure{err: err, lost: !isUnsent(err), final: ctx.Err() != nil}
}

// isUnsent reports whether there was not even a connection.
func isUnsent(err error) bool {
	broken, ok := errors.AsType[*net.OpError](err)
	return ok && (broken.Op == "dial" || broken.Op == "proxyconnect")
}

// retryable reports whether sending the request again is safe and may succeed.
func (f *failure) retryable(r request) bool {
	safe := r.key != "" || !r.creates
	switch {
	case f.final, f.lost && !safe:
		// Whatever the answer says: without a key the service cannot distinguish a retry from another request.
		return false
	case f.refused == nil:
		return true
	case f.refused.Code != "":
		return f.refused.Retryable && f.refused.Status != http.StatusUnprocessableEntity
	default:
		// A proxy in front of the service answered.
		return safe && slices.Contains(
			[]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, f.refused.Status)
	}
}

func (f *failure) retryAfter() time.Duration {
	if f.refused == nil {
		return 0
	}
	return f.refused.RetryAfter
}

// conclude makes the error of the whole call. If the answer of any attempt was lost, the outcome is unknown, unless a
// later answer settles it.
func (r request) conclude(f *failure, lost bool, attempts int) error {
	refused := f.refused
	_, own := errors.AsType[callerError](f.err)
	switch {
	case own && !lost:
		return f.err
	case refused != nil && (!r.creates || !lost || tellsTheOutcome(refused.Code)):
		return refused
	case r.creates && lost:
		unknown := &UnknownOutcomeError{Key: r.key, Attempts: attempts, Err: f.err}
		if refused != nil {
			unknown.RunID = refused.RunID
		}
		return unknown
	default:
		return &UnreachableError{Key: r.key, Attempts: attempts, Err: f.err}
	}
}

// tellsTheOutcome reports whether the service refuses so only after it has looked the key up and not found it, so that
// no earlier attempt can have succeeded.
func tellsTheOutcome(code api.Code) bool {
	switch code {
	case api.CodeQuotaExceeded, api.CodePaymentRequired, api.CodeKeyReused, api.CodeWorkflowInactive,
		api.CodeWorkflowHasNoSteps, api.CodeUnsupportedMediaType, api.CodeDocumentGone:
		return true
	default:
		return false
	}
}

// wait is the time before the next attempt, if there may be one.
func (r Retries) wait(attempts int, asked time.Duration) (time.Duration, bool) {
	if attempts >= r.Attempts || asked > maxRetryAfter {
		return 0, false
	}
	if asked > 0 {
		// Clients that were refused together should not come back together.
		return asked + jitter(r.MinWait), true
	}
	limit := r.MinWait
	for range attempts - 1 {
		limit = min(2*limit, r.MaxWait)
	}
	return jitter(min(limit, r.MaxWait)), true
}

// jitter is a random time up to the limit.
func jitter(limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	return rand.N(limit) //nolint:gosec // nobody gains from guessing it
}

// retryAfter reads the header, which is a number of seconds or a date.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(0, seconds), math.MaxInt32)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
