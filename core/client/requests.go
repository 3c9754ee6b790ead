package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// RequestFilter narrows a list of requests; zero fields do not.
type RequestFilter struct {
	// Status is 2xx, 3xx, 4xx or 5xx.
	Status string
	// Code is that of a problem.
	Code string
	Key  string
	// Token and Run are ids.
	Token, Run string
	// Since and Until bound the time of arrival; Until is not included.
	Since, Until time.Time
}

// LoggedRequest is a request in the log of the organization.
type LoggedRequest struct {
	ID     string `json:"id"`
	At     Time   `json:"at"`
	Method string `json:"method"`
	// Path has no query.
	Path string `json:"path"`
	// Endpoint is the operation that the key belongs to.
	Endpoint Optional `json:"endpoint"`
	Status   int      `json:"status"`
	// Code is empty where the request was not refused.
	Code Optional `json:"code"`
	Key  Optional `json:"key"`
	// Token is empty for a form of the dashboard.
	Token     Optional `json:"token"`
	Address   Optional `json:"address"`
	RequestID string   `json:"request_id"`
	// Replayed says that the answer is that of the request OriginalRequestID.
	Replayed          bool     `json:"replayed"`
	OriginalRequestID Optional `json:"original_request_id"`
	Run               Optional `json:"run"`
	DurationMS        float64  `json:"duration_ms"`
}

// LoggedRequestDetail is a request in the log with its headers, its body's digest and its problem.
type LoggedRequestDetail struct {
	LoggedRequest

	Headers []LoggedHeader `json:"headers"`
	// BodySize is how many bytes of the body were read.
	BodySize int64 `json:"body_size"`
	// BodySHA256 is empty where the body is large or was not read to its end.
	BodySHA256 Optional `json:"body_sha256"`
	// Problem is nil where the request was not refused.
	Problem *Problem `json:"problem"`
}

// LoggedHeader is a header of a request.
type LoggedHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Hidden says that the value may be a secret and was not kept.
	Hidden bool `json:"hidden"`
}

// Requests iterates over the organization's requests that may change something, newest first.
func (c *Client) Requests(ctx context.Context, filter RequestFilter) iter.Seq2[LoggedRequest, error] {
	query := url.Values{}
	for name, value := range map[string]string{
		"status": filter.Status, "code": filter.Code, "key": filter.Key, "token": filter.Token, "run": filter.Run,
		"since": queryTime(filter.Since), "until": queryTime(filter.Until),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return list[LoggedRequest](ctx, c, "/api/requests/", query)
}

// Request reads a request in the log.
func (c *Client) Request(ctx context.Context, id string) (LoggedRequestDetail, error) {
	return get[LoggedRequestDetail](ctx, c, "/api/requests/"+url.PathEscape(id)+"/")
}
