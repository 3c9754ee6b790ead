package client

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Retries says how often and how long a call is tried.
type Retries struct {
	// Attempts is how often a request is sent at most; 1 means no retries.
	Attempts int
	// MinWait and MaxWait bound the waits between attempts: each is a random time below a limit that begins with
	// MinWait and doubles up to MaxWait.
	MinWait, MaxWait time.Duration
	// Budget is the time since the beginning of the call after which no further attempt begins.
	Budget time.Duration
	// Attempt bounds one attempt, including the upload of the document.
	Attempt time.Duration
}

// DefaultRetries are the retries of a client without WithRetries: 4 attempts within 5 minutes, 2 minutes for each, and
// waits below 250 ms, doubling up to 8 seconds.
func DefaultRetries() Retries {
	return Retries{
		Attempts: 4, MinWait: 250 * time.Millisecond, MaxWait: 8 * time.Second, Budget: 5 * time.Minute,
		Attempt: 2 * time.Minute,
	}
}

// Attempt is one request that was sent, or was to be sent.
type Attempt struct {
	Method, Path string
	// Number counts from 1.
	Number int
	// Key is the idempotency key, if any.
	Key string
	// Status is 0 where no answer came.
	Status    int
	RequestID string
	Err       error
	Took      time.Duration
}

// Client calls one service with one token.
type Client struct {
	base      *url.URL
	http      *http.Client
	token     string
	userAgent string
	retries   Retries
	newKey    func() (string, error)
	onAttempt func(Attempt)
	onRetry   func(Attempt, time.Duration)
	log       *slog.Logger
}

// Option changes a client that is being made.
type Option func(*Client)

// WithToken sets the API token.
func WithToken(token string) Option {
	return func(c *Client) { c.token = token }
}

// WithHTTPClient sets the client that sends the requests, for example with a transport that traces them. Redirects are
// never followed: they would lose bodies and leak tokens.
func WithHTTPClient(sender *http.Client) Option {
	return func(c *Client) { c.http = sender }
}

// WithRetries sets how often and how long calls are tried.
func WithRetries(retries Retries) Option {
	return func(c *Client) { c.retries = retries }
}

// WithKeyFunc sets the function that makes the keys of calls without one.
func WithKeyFunc(newKey func() (string, error)) Option {
	return func(c *Client) { c.newKey = newKey }
}

// WithUserAgent puts the name of the calling program in front of the client's own.
func WithUserAgent(name string) Option {
	return func(c *Client) { c.userAgent = name + " " + c.userAgent }
}

// WithOnAttempt sets a function that is called with every attempt when it has ended.
func WithOnAttempt(tell func(Attempt)) Option {
	return func(c *Client) { c.onAttempt = tell }
}

// WithOnRetry sets a function that is called with an attempt that failed and the wait before the next one.
func WithOnRetry(tell func(Attempt, time.Duration)) Option {
	return func(c *Client) { c.onRetry = tell }
}

// WithLogger sets a logger for retries. Tokens and documents are never logged.
func WithLogger(log *slog.Logger) Option {
	return func(c *Client) { c.log = log }
}

// New makes a client of the service at the base URL, like "https://validations.example".
func New(baseURL string, options ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the URL of the service is %q, but must be like https://validations.example", baseURL)
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the URL of the service must have neither a user, nor a query, nor a fragment")
	}
	c := &Client{
		base: base, http: http.DefaultClient, retries: DefaultRetries(), newKey: newKey,
		userAgent: "simplevalidations-go/" + Version + " (" + runtime.Version() + ")",
		onAttempt: func(Attempt) {}, onRetry: func(Attempt, time.Duration) {}, log: slog.New(slog.DiscardHandler),
	}
	return c.With(options...), nil
}

// With returns a client with other options, for calls that need them, such as one that must not be retried. Both send
// by the same connections.
func (c *Client) With(options ...Option) *Client {
	changed := *c
	for _, option := range options {
		option(&changed)
	}
	changed.neverRedirect()
	return &changed
}

// neverRedirect makes an answer of a redirect.
func (c *Client) neverRedirect() {
	sender := *c.http
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &sender
}

func newKey() (string, error) {
	key, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make an idempotency key: %w", err)
	}
	return key.String(), nil
}
