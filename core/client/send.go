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

	"github.com/simplevalidations/simplevalidations/core/api"
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
	// path begins with a slash and may have a query, to which the other query is added.
	path   string
	query  url.Values
	header http.Header
	body   *body
	// json or file becomes the body.
	json any
	file []byte
	// keyed says that the call takes a key. Without one the client makes one.
	keyed bool
	key   string
	// creates says that carrying the call out twice would do its work twice.
	creates bool
	// ifMatch is the entity tag that must still be current.
	ifMatch string
}

// Answer is a success as it came.
type Answer struct {
	Status  int
	Header  http.Header
	Content []byte
	// Attempts is how often the request was sent.
	Attempts int
}

// Send sends a request and returns the answer as it came, with its headers. The path begins with a slash and may have a
// query. Send is for what no other method does; it retries in the same way. A POST may be sent again when its answer
// gets lost only if the header has an Idempotency-Key.
func (c *Client) Send(ctx context.Context, method, path string, header http.Header, content []byte) (Answer, error) {
	r := request{
		method: method, path: path, header: header.Clone(), key: header.Get(headerKey),
		creates: method == http.MethodPost,
	}
	if content != nil {
		r.body = bytesBody(content)
	}
	return c.send(ctx, r)
}

// begin makes a key and a body where the request needs them.
func (c *Client) begin(r request) (request, error) {
	if r.header == nil {
		r.header = make(http.Header)
	}
	if len(r.query) > 0 {
		r.path += "?" + r.query.Encode()
	}
	if r.ifMatch != "" {
		r.header.Set("If-Match", r.ifMatch)
	}
	if r.file != nil {
		r.body = bytesBody(r.file)
		r.header.Set("Content-Type", "application/yaml")
	}
	if r.json != nil {
		content, err := json.Marshal(r.json)
		if err != nil {
			return r, fmt.Errorf("write the request: %w", err)
		}
		r.body = bytesBody(content)
		r.header.Set("Content-Type", "application/json")
	}
	if !r.keyed || r.key != "" {
		return r, nil
	}
	var err error
	r.key, err = c.newKey()
	return r, err
}

// send sends the request, with retries, until it has a final answer.
func (c *Client) send(ctx context.Context, r request) (Answer, error) {
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
			return Answer{}, r.conclude(failed, lost, number)
		}
		c.onRetry(tried, wait)
		c.log.InfoContext(ctx, "retry", "method", r.method, "path", r.path, "attempt", number, "wait_ms",
			wait.Milliseconds(), "key", r.key, "error", failed)
		if err := sleep(ctx, wait); err != nil {
			failed.err = errors.Join(failed.err, err)
			return Answer{}, r.conclude(failed, lost, number)
		}
	}
}

// try sends the request once.
func (c *Client) try(ctx context.Context, r request, number int) (Answer, Attempt, *failure) {
	began := time.Now()
	tried := Attempt{Method: r.method, Path: r.path, Number: number, Key: r.key}
	attemptCtx, cancel := context.WithTimeout(ctx, c.retries.Attempt)
	defer cancel()
	got, err := c.exchange(attemptCtx, r)
	got.Attempts = number
	tried.Took, tried.Status, tried.Err = time.Since(began), got.Status, err
	tried.RequestID = got.Header.Get(headerRequestID)
	if err != nil {
		return Answer{}, tried, failureOf(ctx, err)
	}
	if got.Status >= http.StatusOK && got.Status < http.StatusMultipleChoices {
		return got, tried, nil
	}
	refused := refusal(got, r.key)
	tried.Err = refused
	return Answer{}, tried, &failure{
		err: refused, refused: refused,
		lost: got.Status >= http.StatusInternalServerError && refused.Code != api.CodeUnavailable,
	}
}

// exchange sends the request once and reads the answer to its end.
func (c *Client) exchange(ctx context.Context, r request) (Answer, error) {
	ready, sending, err := c.prepare(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	defer sending.detach()
	response, err := c.http.Do(ready)
	if err != nil {
		if sendErr := sending.failed(); sendErr != nil {
			return Answer{}, callerError{fmt.Errorf("read the document: %w", sendErr)}
		}
		return Answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Content: content}, nil
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
		return nil, nil, callerError{fmt.Errorf("read the document: %w", err)}
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
		return "", callerError{fmt.Errorf("the address %q is not a path", path)}
	}
	return c.base.String() + target.String(), nil
}

// call sends the request and reads the answer into the value. It returns the request as it was sent, with its key.
func call[T any](ctx context.Context, c *Client, r request) (T, request, Answer, error) {
	var value T
	r, err := c.begin(r)
	if err != nil {
		return value, r, Answer{}, err
	}
	got, err := c.send(ctx, r)
	if err != nil {
		return value, r, got, err
	}
	err = json.Unmarshal(got.Content, &value)
	switch {
	case err == nil:
		return value, r, got, nil
	case r.creates:
		return value, r, got, &UnknownOutcomeError{Key: r.key, Attempts: got.Attempts, Err: notUnderstood(err)}
	default:
		return value, r, got, notUnderstood(err)
	}
}

// do sends the request and reads the answer.
func do[T any](ctx context.Context, c *Client, r request) (T, error) {
	value, _, _, err := call[T](ctx, c, r)
	return value, err
}

// contentOf sends the request and returns the bytes of the answer.
func contentOf(ctx context.Context, c *Client, r request) ([]byte, error) {
	r, err := c.begin(r)
	if err != nil {
		return nil, err
	}
	got, err := c.send(ctx, r)
	return got.Content, err
}

// done sends a request whose answer says nothing.
func done(ctx context.Context, c *Client, r request) error {
	_, err := contentOf(ctx, c, r)
	return err
}

func notUnderstood(err error) error {
	return fmt.Errorf("the answer is not that of this service: %w", err)
}

func refusal(got Answer, key string) *Error {
	refused := &Error{Key: key, Attempts: got.Attempts, RetryAfter: retryAfter(got.Header)}
	mediaType, _, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if err == nil && mediaType == problemType {
		// What cannot be read stays empty, and the status says enough.
		_ = json.Unmarshal(got.Content, &refused.Problem)
	}
	refused.Status = got.Status
	if refused.RequestID == "" {
		refused.RequestID = got.Header.Get(headerRequestID)
	}
	return refused
}
