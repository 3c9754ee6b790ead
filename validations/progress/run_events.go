package progress

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

// RunEvents is GET /api/runs/{id}/events/. It sends the events of the run so far, and then each further event until
// the run is completed.
func (s *Streams) RunEvents(c echo.Context, principal core.Principal, id uuid.UUID) error {
	past, err := s.runs.History(c.Request().Context(), principal.OrgID, principal.OrgSlug, id)
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
	if err := s.open.enter(holder, refusal); err != nil {
		return err
	}
	defer s.open.leave(holder)
	run := &runStream{stream: s.newStream(c), principal: principal, runID: id, lastSent: lastSent}
	if !run.begin() {
		return nil
	}
	return run.follow(past)
}

// runStream sends the events of one run to one client.
type runStream struct {
	stream

	principal core.Principal
	runID     uuid.UUID
	// lastSent is the id of the last event that the client has received.
	lastSent int
}

// follow sends the past events and then each further event.
func (s *runStream) follow(past validations.History) error {
	ctx := s.c.Request().Context()
	run := RunKey{OrgID: s.principal.OrgID, ID: s.runID}
	for {
		if err := s.sendNew(past); err != nil || past.Progress == validations.ProgressCompleted {
			return err
		}
		moved, err := s.await(ctx, Watch{RunKey: run, Beyond: past.Progress})
		if err != nil || !moved {
			return err
		}
		if past, err = s.runs.History(ctx, s.principal.OrgID, s.principal.OrgSlug, s.runID); err != nil {
			return err
		}
		if err := core.ConfirmAccess(ctx); err != nil {
			return err
		}
	}
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
