// Package live streams events: those of a run to API clients, and to open pages what has changed of what they show.
package live

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/progress"
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

// App streams events.
type App struct {
	runs    *validations.Service
	waiters *progress.Waiters
	check   *core.Validator
	streams *streams
}

// New makes the app. An organization may have so many streams open; 0 means no limit.
func New(runs *validations.Service, waiters *progress.Waiters, check *core.Validator, perOrg int) *App {
	return &App{runs: runs, waiters: waiters, check: check, streams: newStreams(perOrg)}
}

// Address is that of a page's events.
func Address(base string, values url.Values) string { return base + "events/?" + values.Encode() }

// eventWriter sends server-sent events.
type eventWriter struct {
	c echo.Context
}

func (w eventWriter) begin() {
	core.ClearReadDeadline(w.c)
	header := w.c.Response().Header()
	header.Set(echo.HeaderContentType, "text/event-stream")
	header.Set(echo.HeaderCacheControl, "no-store")
	// nginx would otherwise buffer the events.
	header.Set("X-Accel-Buffering", "no")
	w.c.Response().WriteHeader(http.StatusOK)
}

// beat sends a comment, which clients ignore.
func (w eventWriter) beat() error {
	return w.send([]byte(": still here\n\n"))
}

func (w eventWriter) send(text []byte) error {
	control := http.NewResponseController(w.c.Response())
	// A server without deadlines, such as a test's, waits as long as the connection lives.
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := w.c.Response().Write(text); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	if err := control.Flush(); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return nil
}

// streams counts the open streams of each holder, a token or a visitor, and of each organization.
type streams struct {
	perOrg int

	mu       sync.Mutex
	byHolder map[streamHolder]int
	byOrg    map[uuid.UUID]int
}

// streamHolder is a token or a visitor on behalf of an organization. Forms bring the ids of tokens, so several
// organizations may have the same one.
type streamHolder struct {
	org, id uuid.UUID
}

// newStreams makes streams with a limit for each organization; 0 means no limit.
func newStreams(perOrg int) *streams {
	return &streams{perOrg: perOrg, byHolder: make(map[streamHolder]int), byOrg: make(map[uuid.UUID]int)}
}

// enter refuses another stream if the holder or its organization has as many as it may; refusal is the text for the
// holder. Otherwise the caller has to call leave.
func (s *streams) enter(holder streamHolder, refusal string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHolder[holder] >= streamsPerHolder {
		return core.RateLimited(refusal, Heartbeat)
	}
	if s.perOrg > 0 && s.byOrg[holder.org] >= s.perOrg {
		return core.RateLimited(
			fmt.Sprintf("Your organization has %d streams of events open.", s.perOrg), Heartbeat)
	}
	s.byHolder[holder]++
	s.byOrg[holder.org]++
	return nil
}

func (s *streams) leave(holder streamHolder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	leaveOne(s.byHolder, holder)
	leaveOne(s.byOrg, holder.org)
}

func leaveOne[K comparable](open map[K]int, key K) {
	open[key]--
	if open[key] == 0 {
		delete(open, key)
	}
}
