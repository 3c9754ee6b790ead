package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// StartRequest is a document to be validated.
type StartRequest struct {
	// Workflow is the id or the slug of the workflow.
	Workflow string
	// Version pins a version of the workflow; 0 is the latest.
	Version int
	// Key is the idempotency key; without one the client makes one.
	Key string
	// Content is the document, from its current position to its end. It must be an io.Seeker, such as a file or a
	// bytes.Reader, unless GetContent is set or Retries.Attempts is 1.
	Content io.Reader
	// GetContent opens the document for each attempt, in place of Content.
	GetContent func() (io.ReadCloser, error)
	Filename   string
	// MediaType is that of the document, like "text/csv". If it is empty, the service derives it from the extension of
	// Filename.
	MediaType        string
	Name             string
	ShortDescription string
	Metadata         map[string]any
	// OnUpload is called with the bytes of the document that the current attempt has sent, and their total; -1 is
	// unknown.
	OnUpload func(sent, total int64)
}

// Started is the result of a start or a rerun.
type Started struct {
	// Run is the run as it was when it was started, also in a replay.
	Run api.Run
	// Key is the idempotency key that all attempts had.
	Key string
	// Expires is when the key expires. Until then a retry finds this run.
	Expires time.Time
	// Replayed says that the run had been started before with this key.
	Replayed bool
	// RequestID is the id of this request, and OriginalRequestID that of the one that started the run.
	RequestID, OriginalRequestID string
	// Attempts is how often the request was sent.
	Attempts int
}

// Start starts a run, or finds the one that was started with the same key and the same document.
func (c *Client) Start(ctx context.Context, start StartRequest) (Started, error) {
	form, mediaType, err := start.form(c.retries.Attempts > 1)
	if err != nil {
		return Started{}, err
	}
	return create(ctx, c, request{
		method: http.MethodPost, path: "/api/workflows/" + url.PathEscape(start.Workflow) + "/start/",
		query:  queryOf(map[string]any{"version": start.Version}),
		header: http.Header{"Content-Type": {mediaType}}, body: form, keyed: true, key: start.Key, creates: true,
	})
}

func create(ctx context.Context, c *Client, r request) (Started, error) {
	run, sent, got, err := call[api.Run](ctx, c, r)
	if err != nil {
		return Started{}, err
	}
	started := Started{
		Run: run, Key: sent.key, Replayed: got.Header.Get(headerReplayed) == "true",
		RequestID: got.Header.Get(headerRequestID), OriginalRequestID: got.Header.Get(headerOriginal),
		Attempts: got.Attempts,
	}
	if !started.Replayed {
		started.OriginalRequestID = started.RequestID
	}
	if expires, err := http.ParseTime(got.Header.Get(headerExpires)); err == nil {
		started.Expires = expires
	}
	return started, nil
}
