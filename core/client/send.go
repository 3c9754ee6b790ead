package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"time"
)

const (
	headerKey       = "Idempotency-Key"
	headerReplayed  = "Idempotent-Replayed"
	headerOriginal  = "Original-Request-Id"
	headerExpires   = "Idempotency-Expires"
	headerRequestID = "Request-Id"
	problemType     = "application/problem+json"
	// maxAnswer bounds what is read of an answer into memory.
	maxAnswer = 256 << 20
)

// request is a call in a form that can be sent several times.
type request struct {
	method string
	// path begins with a slash and may have a query.
	path   string
	header http.Header
	body   *body
	key    string
	// creates says that carrying the call out twice would do its work twice.
	creates bool
}

// answer is a success that was read to its end.
type answer struct {
	status   int
	header   http.Header
	body     []byte
	attempts int
}

// send sends the request, with retries, until it has a final answer.
func (c *Client) send(ctx context.Context, r request) (answer, error) {
	ends := time.Now().Add(c.retries.Budget)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(ends) {
		ends = deadline
	}
	lost := false
	for number := 1; ; number++ {
		got, tried, failed := c.try(ctx, r, number)
		c.onAttempt(tried)
		if failed == nil {
			return got, nil
		}
		lost = lost || failed.lost
		wait, again := c.retries.wait(number, failed.retryAfter())
		if !failed.retryable(r) || !again || time.Now().Add(wait).After(ends) {
			return answer{}, r.conclude(failed, lost, number)
		}
		c.onRetry(tried, wait)
		c.log.InfoContext(ctx, "retry", "method", r.method, "path", r.path, "attempt", number, "wait_ms",
			wait.Milliseconds(), "key", r.key, "error", failed)
		if err := sleep(ctx, wait); err != nil {
			failed.err = errors.Join(failed.err, err)
			return answer{}, r.conclude(failed, lost, number)
		}
	}
}

// try sends the request once.
func (c *Client) try(ctx context.Context, r request, number int) (answer, Attempt, *failure) {
	began := time.Now()
	tried := Attempt{Method: r.method, Path: r.path, Number: number, Key: r.key}
	attemptCtx, cancel := context.WithTimeout(ctx, c.retries.Attempt)
	defer cancel()
	got, err := c.exchange(attemptCtx, r)
	got.attempts = number
	tried.Took, tried.Status, tried.Err = time.Since(began), got.status, err
	tried.RequestID = got.header.Get(headerRequestID)
	if err != nil {
		return answer{}, tried, failureOf(ctx, err)
	}
	if got.status >= http.StatusOK && got.status < http.StatusMultipleChoices {
		return got, tried, nil
	}
	refused := refusal(got, r.key)
	tried.Err = refused
	return answer{}, tried, &failure{
		err: refused, refused: refused,
		lost: got.status >= http.StatusInternalServerError && refused.Code != ErrUnavailable,
	}
}

// exchange sends the request once and reads the answer to its end.
func (c *Client) exchange(ctx context.Context, r request) (answer, error) {
	ready, sending, err := c.prepare(ctx, r)
	if err != nil {
		return answer{}, err
	}
	defer sending.detach()
	response, err := c.http.Do(ready)
	if err != nil {
		if sendErr := sending.failed(); sendErr != nil {
			return answer{}, &sourceError{err: sendErr}
		}
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: content}, nil
}

// prepare makes the request of one attempt. It has no GetBody: otherwise the transport would resend the request by
// itself, unseen by WithOnAttempt and the limits of retries.
func (c *Client) prepare(ctx context.Context, r request) (*http.Request, *sending, error) {
	target, err := c.resolve(r.path)
	if err != nil {
		return nil, nil, err
	}
	sending, err := r.body.open()
	if err != nil {
		return nil, nil, &sourceError{err: err}
	}
	ready, err := http.NewRequestWithContext(ctx, r.method, target, sending.reader())
	if err != nil {
		return nil, nil, fmt.Errorf("make the request: %w", err)
	}
	ready.ContentLength, ready.GetBody = r.body.size(), nil
	maps.Copy(ready.Header, r.header)
	ready.Header.Set("User-Agent", c.userAgent)
	if c.token != "" {
		ready.Header.Set("Authorization", "Bearer "+c.token)
	}
	if r.key != "" {
		ready.Header.Set(headerKey, r.key)
	}
	return ready, sending, nil
}

// resolve puts a path behind the base URL. A path that names a host, as a forged link to a next page could, is refused:
// it would be sent the token.
func (c *Client) resolve(path string) (string, error) {
	target, err := url.Parse(path)
	if err != nil || target.IsAbs() || target.Host != "" || target.Path == "" || target.Path[0] != '/' {
		return "", &addressError{address: path}
	}
	return c.base.String() + target.String(), nil
}

// call sends the request and reads the answer into the value.
func call[T any](ctx context.Context, c *Client, r request) (T, answer, error) {
	var value T
	got, err := c.send(ctx, r)
	if err != nil {
		return value, got, err
	}
	err = json.Unmarshal(got.body, &value)
	switch {
	case err == nil:
		return value, got, nil
	case r.creates:
		return value, got, &UnknownOutcomeError{Key: r.key, Attempts: got.attempts, Err: notUnderstood(err)}
	default:
		return value, got, notUnderstood(err)
	}
}

func notUnderstood(err error) error {
	return fmt.Errorf("the answer is not that of this service: %w", err)
}

// get reads what is at the path.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	value, _, err := call[T](ctx, c, request{method: http.MethodGet, path: path})
	return value, err
}

func refusal(got answer, key string) *Error {
	refused := &Error{Key: key, Attempts: got.attempts, RetryAfter: retryAfter(got.header)}
	mediaType, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err == nil && mediaType == problemType {
		// What cannot be read stays empty, and the status says enough.
		_ = json.Unmarshal(got.body, &refused.Problem)
	}
	refused.Status = got.status
	if refused.RequestID == "" {
		refused.RequestID = got.header.Get(headerRequestID)
	}
	return refused
}
