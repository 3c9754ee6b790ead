package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Health is what a process of the service says of itself.
type Health struct {
	Readiness
	// At is the time by the clock in front of the service, to the second; the zero time where it does not tell.
	At time.Time
}

// Me reads who the token stands for.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return get[Me](ctx, c, "/api/me/")
}

// Usage reads how many runs the organization has used this month.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	return get[Usage](ctx, c, "/api/usage/")
}

// Health asks, once, whether the service can do its work. That it cannot is an answer and no error.
func (c *Client) Health(ctx context.Context) (Health, error) {
	ctx, cancel := context.WithTimeout(ctx, c.retries.Attempt)
	defer cancel()
	got, err := c.exchange(ctx, request{method: http.MethodGet, path: "/readyz/"})
	if err != nil {
		return Health{}, &UnreachableError{Attempts: 1, Err: err}
	}
	var health Health
	if err := json.Unmarshal(got.body, &health.Readiness); err != nil {
		return health, notUnderstood(err)
	}
	if at, err := http.ParseTime(got.header.Get("Date")); err == nil {
		health.At = at
	}
	return health, nil
}
