package validations

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// heartbeat is how often a silent stream says that it is still there, so that proxies do not cut it.
	heartbeat = 15 * time.Second
	// streamLife bounds a stream. Clients come back by themselves, with a token that is checked again.
	streamLife = 5 * time.Minute
)

// streamEvents is GET /api/runs/{id}/events/: first what has happened to the run, then what happens, until it is
// completed.
func (a *App) streamEvents(c echo.Context) error {
	principal, id, err := callerAndRun(c)
	if err != nil {
		return err
	}
	told, err := a.Runs.story(c.Request().Context(), principal.OrgID, principal.OrgSlug, id)
	if err != nil {
		return err
	}
	// What cannot be read was not issued here, and the client gets the whole story.
	seen, err := strconv.Atoi(c.Request().Header.Get("Last-Event-ID"))
	if err == nil && told.progress == ProgressCompleted && seen >= told.last() {
		// The one answer that keeps a client from coming back for more.
		return c.NoContent(http.StatusNoContent)
	}
	if !a.streams.enter(principal.TokenID) {
		return core.RateLimited(fmt.Sprintf("This token has %d streams of events open.", streamsPerHolder), heartbeat)
	}
	defer a.streams.leave(principal.TokenID)
	stream := &stream{
		eventWriter: eventWriter{c}, app: a, principal: principal, runID: id, seen: seen,
		ends: time.Now().Add(streamLife),
	}
	stream.begin()
	if c.Request().Method == http.MethodHead {
		return nil
	}
	return stream.follow(told)
}

// stream sends the events of one run to one client.
type stream struct {
	eventWriter

	app       *App
	principal core.Principal
	runID     uuid.UUID
	// seen is the id of the last event that the client has got.
	seen int
	ends time.Time
}

// follow sends what has happened and then what happens.
func (s *stream) follow(told story) error {
	ctx := s.c.Request().Context()
	for {
		if err := s.sendUnseen(told); err != nil || told.progress == ProgressCompleted {
			return err
		}
		moved, err := s.await(ctx, told.progress)
		if err != nil || !moved {
			return err
		}
		if told, err = s.app.Runs.story(ctx, s.principal.OrgID, s.principal.OrgSlug, s.runID); err != nil {
			return err
		}
	}
}

// await returns when the run has got on, or false when the stream is to end: the client has gone, the process is to
// stop, or the stream is old enough.
func (s *stream) await(ctx context.Context, beyond Progress) (bool, error) {
	run := RunKey{OrgID: s.principal.OrgID, ID: s.runID}
	for ctx.Err() == nil && s.app.Waiters.Open() && time.Now().Before(s.ends) {
		if s.app.Waiters.Await(ctx, run, beyond, heartbeat) {
			return true, nil
		}
		if err := s.beat(); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (s *stream) sendUnseen(told story) error {
	for _, next := range told.events {
		if next.id <= s.seen {
			continue
		}
		text, err := next.encode()
		if err != nil {
			return err
		}
		if err := s.send(text); err != nil {
			return err
		}
		s.seen = next.id
	}
	return nil
}
