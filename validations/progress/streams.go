package progress

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
)

const (
	// Heartbeat is how often an idle stream sends a comment, so that proxies do not close the connection.
	Heartbeat = 15 * time.Second
	// maxStreamAge bounds the life of a stream. Clients reconnect by themselves, and their token is checked again.
	maxStreamAge = 5 * time.Minute
	// writeTimeout bounds how long a client may take to read what it is sent.
	writeTimeout = 10 * time.Second
	// streamsPerHolder bounds the open streams of one token, or of one visitor's pages, in one process.
	streamsPerHolder = 8
)

// Streams streams events.
type Streams struct {
	runs    *validations.Service
	waiters *Waiters
	check   *core.Validator
	open    *openStreams
}

// NewStreams makes the streams. An organization may have so many open; 0 means no limit.
func NewStreams(runs *validations.Service, waiters *Waiters, check *core.Validator, perOrg int) *Streams {
	return &Streams{runs: runs, waiters: waiters, check: check, open: &openStreams{perOrg: perOrg}}
}

// PageAddress is that of a page's events.
func PageAddress(base string, values url.Values) string { return base + "events/?" + values.Encode() }

// stream sends server-sent events to one client.
type stream struct {
	*Streams

	c        echo.Context
	deadline time.Time
}

func (s *Streams) newStream(c echo.Context) stream {
	return stream{Streams: s, c: c, deadline: time.Now().Add(maxStreamAge)}
}

// begin sends the headers, and reports whether events are wanted as well.
func (s *stream) begin() bool {
	core.ClearReadDeadline(s.c)
	header := s.c.Response().Header()
	header.Set(echo.HeaderContentType, "text/event-stream")
	header.Set(echo.HeaderCacheControl, "no-store")
	// nginx would otherwise buffer the events.
	header.Set("X-Accel-Buffering", "no")
	s.c.Response().WriteHeader(http.StatusOK)
	return s.c.Request().Method != http.MethodHead
}

// await returns true when the event of one of the watches may have happened. It returns false when the stream is to
// end: the client has disconnected, the process stops, or the stream has reached its deadline.
func (s *stream) await(ctx context.Context, watches ...Watch) (bool, error) {
	for ctx.Err() == nil && s.waiters.Open() && time.Now().Before(s.deadline) {
		if s.waiters.AwaitAny(ctx, watches, Heartbeat) {
			return true, nil
		}
		// A token that was revoked in the meantime, or a visitor who has signed out, gets no further events.
		if err := core.ConfirmAccess(ctx); err != nil {
			return false, err
		}
		// Clients ignore a comment.
		if err := s.send([]byte(": still here\n\n")); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (s *stream) send(text []byte) error {
	control := http.NewResponseController(s.c.Response())
	// A server without deadlines, such as a test's, waits as long as the connection lives.
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.c.Response().Write(text); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	if err := control.Flush(); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return nil
}

// openStreams counts the open streams of each holder, a token or a visitor, and of each organization.
type openStreams struct {
	// perOrg limits those of one organization; 0 means no limit.
	perOrg int

	mu       sync.Mutex
	byHolder share.Held[streamHolder, int]
	byOrg    share.Held[uuid.UUID, int]
}

// streamHolder is a token or a visitor on behalf of an organization. Forms bring the ids of tokens, so several
// organizations may have the same one.
type streamHolder struct {
	org, id uuid.UUID
}

// enter refuses another stream if the holder or its organization has as many as it may; refusal is the text for the
// holder. Otherwise the caller has to call leave.
func (s *openStreams) enter(holder streamHolder, refusal string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHolder.Of(holder) >= streamsPerHolder {
		return core.RateLimited(refusal, Heartbeat)
	}
	if s.perOrg > 0 && s.byOrg.Of(holder.org) >= s.perOrg {
		return core.RateLimited(
			fmt.Sprintf("Your organization has %d streams of events open.", s.perOrg), Heartbeat)
	}
	s.byHolder.Add(holder, 1)
	s.byOrg.Add(holder.org, 1)
	return nil
}

func (s *openStreams) leave(holder streamHolder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byHolder.Add(holder, -1)
	s.byOrg.Add(holder.org, -1)
}
