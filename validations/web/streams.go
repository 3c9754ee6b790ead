package web

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// heartbeatInterval is how often an idle stream sends a comment, so that proxies do not close the connection.
	heartbeatInterval = 15 * time.Second
	// maxStreamAge bounds the life of a stream. Clients reconnect by themselves, and their token is checked again.
	maxStreamAge = 5 * time.Minute
	// writeTimeout bounds how long a client may take to read what it is sent.
	writeTimeout = 10 * time.Second
	// streamsPerHolder bounds the open streams of one token, or of one visitor's pages, in one process.
	streamsPerHolder = 8
)

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

// streams counts the open streams of each holder: a token, or a visitor.
type streams struct {
	mu   sync.Mutex
	open map[uuid.UUID]int
}

func newStreams() *streams {
	return &streams{open: make(map[uuid.UUID]int)}
}

// enter reports whether the holder may open another stream. If so, the caller has to call leave.
func (s *streams) enter(holder uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[holder] >= streamsPerHolder {
		return false
	}
	s.open[holder]++
	return true
}

func (s *streams) leave(holder uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[holder]--
	if s.open[holder] == 0 {
		delete(s.open, holder)
	}
}
