package validations

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
	// writeLimit bounds how long a client may leave what it is sent untaken.
	writeLimit = 10 * time.Second
	// streamsPerHolder bounds the open streams of one token, and of the pages of one visitor, in one process.
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
	// nginx would gather what is to arrive at once.
	header.Set("X-Accel-Buffering", "no")
	w.c.Response().WriteHeader(http.StatusOK)
}

// beat says that a silent stream is still there.
func (w eventWriter) beat() error {
	return w.send([]byte(": still here\n\n"))
}

func (w eventWriter) send(text []byte) error {
	control := http.NewResponseController(w.c.Response())
	// Not every server has deadlines; without one the write waits as long as the connection lives.
	_ = control.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := w.c.Response().Write(text); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	if err := control.Flush(); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return nil
}

// streams counts the open streams of each holder.
type streams struct {
	mu   sync.Mutex
	open map[uuid.UUID]int
}

func newStreams() *streams {
	return &streams{open: make(map[uuid.UUID]int)}
}

// enter reports whether the holder may open another stream; leave has to follow where it may.
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
