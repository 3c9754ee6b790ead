// Package external calls validators that are services of third parties.
//
// It sends a signed document with an idempotency key to an untrusted URL and returns the answer. Time and size are
// bounded, private addresses are refused, and a call is retried only if that is safe. It keeps the keys that sign the
// calls, stores nothing else, and knows nothing of runs.
package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/tracing"
)

const (
	dialTimeout      = 10 * time.Second
	maxAnswerHeaders = 64 << 10
	maxIdle          = 16
	userAgent        = "simplevalidations"
)

// Call is one logical call, which may take several attempts.
type Call struct {
	URL     string
	Headers map[string]string
	Body    Body
	// Secrets sign the call, each on its own.
	Secrets [][]byte
	// AttemptTimeout bounds each attempt.
	AttemptTimeout time.Duration
	// Repeatable allows a retry after an attempt whose outcome is unknown.
	Repeatable bool
	// MaxAnswer is the largest answer in bytes.
	MaxAnswer int
}

// Answer is the validator's answer: 200 with a body, or 202 without one, which promises a callback.
type Answer struct {
	Status int
	Body   []byte
}

// Accepted reports whether the validator has promised a callback.
func (a Answer) Accepted() bool {
	return a.Status == http.StatusAccepted
}

// Client makes calls. Connections are not reused, so nothing leaks from one organization's call into another's.
type Client struct {
	secure, plain *http.Client
	firstPause    time.Duration
	tracer        *tracing.Tracer
}

// NewClient makes a Client. Retries back off exponentially with full jitter: the first waits for a random part of
// firstPause, and each further one for a random part of twice the last maximum.
func NewClient(policy Policy, firstPause time.Duration) *Client {
	return newClient(policy, firstPause, net.DefaultResolver)
}

func newClient(policy Policy, firstPause time.Duration, names *net.Resolver) *Client {
	return &Client{
		secure: newHTTPClient(names, policy.control(true), false),
		plain:  newHTTPClient(names, policy.control(false), false), firstPause: firstPause,
	}
}

// Client is an HTTP client that keeps to the policy. It follows no redirects: the caller decides about each address.
// Where it keeps connections, the caller closes them before it turns to the URL of another organization.
func (p Policy) Client(secure, keepConnections bool) *http.Client {
	return newHTTPClient(net.DefaultResolver, p.control(secure), keepConnections)
}

// Traced makes the client trace its calls, and send the trace context to the validators.
func (c *Client) Traced(tracer *tracing.Tracer) *Client {
	c.tracer = tracer
	return c
}

func newHTTPClient(names *net.Resolver, control dialControl, keepConnections bool) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: names, ControlContext: control}
	return &http.Client{
		// A proxy would be dialed instead of the validator, and the policy would check its address. A redirect is an
		// answer, because it leads to a URL that the workflow does not name.
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, DisableKeepAlives: !keepConnections,
			MaxIdleConnsPerHost: maxIdle, DisableCompression: true, MaxResponseHeaderBytes: maxAnswerHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Do attempts the call until there is an answer, a retry is not safe, or ctx ends. Every error is a *CallError.
func (c *Client) Do(ctx context.Context, call Call) (Answer, error) {
	for attempt := 1; ; attempt++ {
		answer, failure := c.attempt(ctx, call)
		if failure == nil {
			return answer, nil
		}
		if ctx.Err() != nil || attempt == maxAttempts || !failure.mayRepeat(call.Repeatable) {
			return Answer{}, failure
		}
		if !c.pause(ctx, attempt, failure.retryAfter) {
			return Answer{}, failure
		}
	}
}

func (c *Client) attempt(ctx context.Context, call Call) (Answer, *CallError) {
	ctx, cancel := context.WithTimeout(ctx, call.AttemptTimeout)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	request, err := newRequest(ctx, call)
	if err != nil {
		return Answer{}, &CallError{Reason: "it could not be called", outcome: final, cause: err}
	}
	ctx, span := c.tracer.Call(ctx, "validator.call", request.Header)
	defer span.End()
	span.Set("server.address", request.URL.Host)
	request = request.WithContext(ctx)
	client := c.secure
	if request.URL.Scheme == "http" {
		client = c.plain
	}
	response, err := client.Do(request)
	if err != nil {
		span.Fail(err.Error())
		failure := unanswered(err, connected.Load())
		if _, err := netip.ParseAddr(request.URL.Hostname()); err == nil && errors.Is(failure, ErrAddress) {
			failure.outcome = final
		}
		return Answer{}, failure
	}
	defer func() { _ = response.Body.Close() }() // Nothing more is wanted of it.
	span.SetInt("http.response.status_code", response.StatusCode)
	return readAnswer(response, call.MaxAnswer)
}

func newRequest(ctx context.Context, call Call) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL, call.Body.Reader())
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	signer := core.NewSigner(call.Body.subject, time.Now(), call.Secrets...)
	if _, err := io.Copy(signer, call.Body.Reader()); err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	for name, value := range call.Headers {
		request.Header.Set(name, value)
	}
	request.ContentLength = call.Body.Len()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Idempotency-Key", call.Body.key)
	request.Header.Set(core.HeaderReceipt, call.Body.subject.Receipt)
	request.Header.Set(core.HeaderRun, call.Body.subject.Run)
	request.Header.Set(core.HeaderSignature, signer.Header())
	return request, nil
}

// unanswered classifies an attempt without an answer. Without a connection, the validator has received nothing. A name
// that leads to a forbidden address is treated like one that leads nowhere, retries included: otherwise authors could
// find out which names the internal network has.
func unanswered(err error, connected bool) *CallError {
	switch {
	case !connected:
		const reason = "it could not be reached, or its address is not public nor in the operator's SV_EXTERNAL_ALLOW"
		return &CallError{Reason: reason, outcome: notDone, cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &CallError{Reason: "it did not answer in time", outcome: unknown, cause: err}
	default:
		return &CallError{Reason: "it did not answer", outcome: unknown, cause: err}
	}
}

func readAnswer(response *http.Response, limit int) (Answer, *CallError) {
	switch response.StatusCode {
	case http.StatusAccepted:
		return Answer{Status: http.StatusAccepted}, nil
	case http.StatusOK:
	default:
		return Answer{}, refused(response)
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return Answer{}, &CallError{Reason: "its answer is compressed, which was not asked for", outcome: final}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch {
	case len(body) > limit:
		return Answer{}, &CallError{Reason: fmt.Sprintf("its answer is larger than %d bytes", limit), outcome: final}
	case errors.Is(err, context.DeadlineExceeded):
		return Answer{}, &CallError{Reason: "it did not answer in time", outcome: unknown, cause: err}
	case err != nil:
		return Answer{}, &CallError{Reason: "the connection ended within its answer", outcome: unknown, cause: err}
	default:
		return Answer{Status: http.StatusOK, Body: body}, nil
	}
}
