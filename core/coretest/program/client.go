package program

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	answerPatience  = 30 * time.Second
	idleConnections = 200
)

// Client sends requests with one token, or with none where it is empty. It sends each once and leaves it to the caller
// to send it again.
type Client struct {
	http  *http.Client
	token string
}

// NewClient returns a client with connections of its own.
func NewClient(tb testing.TB, token string) *Client {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: idleConnections}
	tb.Cleanup(transport.CloseIdleConnections)
	return &Client{http: &http.Client{Transport: transport, Timeout: answerPatience}, token: token}
}

// Try sends an order once. An error means that the answer is not known.
func (c *Client) Try(ctx context.Context, base string, o Order) (Answer, error) {
	request, err := o.Request(ctx, base)
	if err != nil {
		return Answer{}, err
	}
	return c.Do(request)
}

// Do sends a request once, with the token. An error means that the answer is not known.
func (c *Client) Do(request *http.Request) (Answer, error) {
	// Go's client sends a request with a key again by itself, and which answers came is what the tests are about.
	request.GetBody = nil
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("send: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: body}, nil
}

// Start sends an order once and has to get an answer.
func (c *Client) Start(tb testing.TB, base string, o Order) Answer {
	tb.Helper()
	a, err := c.Try(tb.Context(), base, o)
	if err != nil {
		tb.Fatalf("start with key %q: %v", o.Key, err)
	}
	return a
}

// Get reads an address of the API and has to get an answer.
func (c *Client) Get(tb testing.TB, address string) Answer {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		tb.Fatalf("make a request: %v", err)
	}
	a, err := c.Do(request)
	if err != nil {
		tb.Fatalf("get %s: %v", address, err)
	}
	return a
}

// Create posts JSON to an address of the API, which has to create something.
func (c *Client) Create(tb testing.TB, address, body string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		tb.Fatalf("make a request: %v", err)
	}
	request.Header.Set("Content-Type", "application/json")
	a, err := c.Do(request)
	if err != nil {
		tb.Fatalf("post to %s: %v", address, err)
	}
	WantCreated(tb, a)
}
