package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Health is what a process of the service says of itself.
type Health struct {
	api.Readiness
	// At is the time of the answer's Date header, to the second; the zero time if it has none.
	At time.Time
}

// Health asks once, without retries, whether the service can do its work. A service that cannot is an answer and not an
// error.
func (c *Client) Health(ctx context.Context) (Health, error) {
	ctx, cancel := context.WithTimeout(ctx, c.retries.Attempt)
	defer cancel()
	got, err := c.exchange(ctx, request{method: http.MethodGet, path: "/readyz/"})
	if err != nil {
		return Health{}, &UnreachableError{Attempts: 1, Err: err}
	}
	var health Health
	if err := json.Unmarshal(got.Content, &health.Readiness); err != nil {
		return health, notUnderstood(err)
	}
	if at, err := http.ParseTime(got.Header.Get("Date")); err == nil {
		health.At = at
	}
	return health, nil
}
