package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

const (
	// maxAnswer is what is read of an answer, and maxExcerpt what is kept of it, in bytes.
	maxAnswer  = 16 << 10
	maxExcerpt = 1 << 10
	// maxRetryAfter bounds what a receiver may ask for.
	maxRetryAfter = 24 * time.Hour
	userAgent     = "simplevalidations-webhooks"
)

// outcome is how an attempt has ended.
type outcome struct {
	at      time.Time
	took    time.Duration
	status  int
	reason  string
	excerpt string
	// retryAfter is how long the receiver wants to be left alone, at least.
	retryAfter time.Duration
}

// ok reports whether the receiver has accepted the event.
func (o outcome) ok() bool { return o.reason == "" }

// attempt sends an event once.
func (d *Deliverer) attempt(ctx context.Context, client *http.Client, to lease, event Event) outcome {
	at := time.Now().UTC()
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	done := send(ctx, client, to, event, at)
	done.at, done.took = at, time.Since(at)
	return done
}

func send(ctx context.Context, client *http.Client, to lease, event Event, at time.Time) outcome {
	// It is the same each time.
	body, err := json.Marshal(event.Event)
	if err != nil {
		return outcome{reason: "The event could not be rendered."}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return outcome{reason: "The URL cannot be called."}
	}
	for name, value := range to.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("User-Agent", userAgent)
	core.SignWebhook(request.Header, to.signature, event.ID, at, body, to.secrets...)
	response, err := client.Do(request)
	if err != nil {
		return outcome{reason: unanswered(err)}
	}
	defer func() { _ = response.Body.Close() }() // Nothing more is wanted of it.
	// Whether the receiver has accepted the event is known from the status, also if the rest never comes.
	answer, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return answered(response, answer)
}

func answered(response *http.Response, answer []byte) outcome {
	done := outcome{
		status: response.StatusCode, excerpt: core.StorableUpTo(string(answer), maxExcerpt),
		retryAfter: min(external.ParseRetryAfter(response.Header.Get("Retry-After"), time.Now()), maxRetryAfter),
	}
	switch status := response.StatusCode; {
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		done.reason = fmt.Sprintf("It redirects with status %d, which is not followed.", status)
	case status == http.StatusGone:
		done.reason = "It answered with status 410: it wants no more events."
	default:
		done.reason = fmt.Sprintf("It answered with status %d.", status)
	}
	return done
}

// unanswered says why there was no answer. It does not tell a name that does not exist from one that leads inside the
// network of the service: an administrator could ask which names there are.
func unanswered(err error) string {
	_, unknown := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, malformed := errors.AsType[tls.RecordHeaderError](err)
	dial, failed := errors.AsType[*net.OpError](err)
	switch {
	case unknown || errors.Is(err, external.ErrAddress):
		return "Its name leads to no address that may be called."
	case untrusted:
		return "Its certificate is not valid."
	case malformed || errors.Is(err, http.ErrSchemeMismatch):
		return "It does not speak TLS."
	case failed && dial.Op == "dial":
		return "No connection could be made."
	case errors.Is(err, context.DeadlineExceeded):
		return "It did not answer in time."
	default:
		return "The connection ended before the answer."
	}
}

// pause is how long to wait after so many failed tries: the time of the schedule with a random part, so that many
// deliveries are not tried at once, and what the receiver asks for if that is longer. It is never after the last.
func pause(schedule []time.Duration, tries int, retryAfter time.Duration) time.Duration {
	if tries > len(schedule) {
		return never
	}
	wait := schedule[tries-1]
	wait += rand.N(wait/jitterPart + 1) //nolint:gosec // it spreads load and guards nothing
	return max(wait, retryAfter)
}

const (
	// jitterPart is the part of a pause that is random.
	jitterPart = 5
	// never is a pause that does not end.
	never = -time.Hour
)
