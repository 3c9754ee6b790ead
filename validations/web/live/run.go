package live

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/progress"
)

// RunEvents is GET /api/runs/{id}/events/. It sends the events of the run so far, and then each further event until
// the run is completed.
func (a *App) RunEvents(c echo.Context, principal core.Principal, id uuid.UUID) error {
	past, err := a.runs.History(c.Request().Context(), principal.OrgID, principal.OrgSlug, id)
	if err != nil {
		return err
	}
	// An id that is no number was not issued here, so the client gets all events.
	lastSent, err := strconv.Atoi(c.Request().Header.Get("Last-Event-ID"))
	if err == nil && past.Progress == validations.ProgressCompleted && lastSent >= past.LastID() {
		// 204 is the one answer after which a client does not reconnect.
		return c.NoContent(http.StatusNoContent)
	}
	holder := streamHolder{principal.OrgID, principal.TokenID}
	refusal := fmt.Sprintf("This token has %d streams of events open.", streamsPerHolder)
	if err := a.streams.enter(holder, refusal); err != nil {
		return err
	}
	defer a.streams.leave(holder)
	stream := &runStream{
		eventWriter: eventWriter{c}, app: a, principal: principal, runID: id, lastSent: lastSent,
		deadline: time.Now().Add(maxStreamAge),
	}
	stream.begin()
	if c.Request().Method == http.MethodHead {
		return nil
	}
	return stream.follow(past)
}

// runStream sends the events of one run to one client.
type runStream struct {
	eventWriter

	app       *App
	principal core.Principal
	runID     uuid.UUID
	// lastSent is the id of the last event that the client has received.
	lastSent int
	deadline time.Time
}

// follow sends the past events and then each further event.
func (s *runStream) follow(past validations.History) error {
	ctx := s.c.Request().Context()
	for {
		if err := s.sendNew(past); err != nil || past.Progress == validations.ProgressCompleted {
			return err
		}
		moved, err := s.await(ctx, past.Progress)
		if err != nil || !moved {
			return err
		}
		if past, err = s.app.runs.History(ctx, s.principal.OrgID, s.principal.OrgSlug, s.runID); err != nil {
			return err
		}
		// A token that was revoked in the meantime gets no further events.
		if err := core.ConfirmAccess(ctx); err != nil {
			return err
		}
	}
}

// await returns true when the run has progressed. It returns false when the stream is to end: the client has
// disconnected, the process stops, or the stream has reached its deadline.
func (s *runStream) await(ctx context.Context, beyond validations.Progress) (bool, error) {
	run := progress.RunKey{OrgID: s.principal.OrgID, ID: s.runID}
	for ctx.Err() == nil && s.app.waiters.Open() && time.Now().Before(s.deadline) {
		if s.app.waiters.Await(ctx, run, beyond, Heartbeat) {
			return true, nil
		}
		if err := core.ConfirmAccess(ctx); err != nil {
			return false, err
		}
		if err := s.beat(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// sendNew sends the events after the last one sent.
func (s *runStream) sendNew(past validations.History) error {
	for _, event := range past.Events {
		if event.ID <= s.lastSent {
			continue
		}
		text, err := event.Encode()
		if err != nil {
			return err
		}
		if err := s.send(text); err != nil {
			return err
		}
		s.lastSent = event.ID
	}
	return nil
}
