package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
)

// pageEventsQuery is the query of a page's event stream. It says what the page shows: runs with their progress, as
// ID.PROGRESS, and the newest run at the time its list was read.
type pageEventsQuery struct {
	Run  []string `query:"run"  validate:"max=200"`
	Runs string   `query:"runs" validate:"omitempty,uuid"`
	// Last is the Last-Event-ID of a page that had closed its stream and opens it again.
	Last string `query:"last"`
	// Once asks only for what has happened so far. A browser that has many pages open asks again, and keeps no
	// connection meanwhile.
	Once bool `query:"once"`
	validations.RunFilter
}

// PageEvents is GET /app/orgs/{org}/events/. It sends an open page an event for every change of what the page shows,
// until nothing of it can change any more. The page then reloads itself.
func (s *Streams) PageEvents(c echo.Context, principal core.Principal) error {
	state, err := s.pageState(c, principal.OrgID)
	if err != nil {
		return err
	}
	if state.final() {
		// 204 is the one answer after which a browser does not reconnect.
		return c.NoContent(http.StatusNoContent)
	}
	if state.once {
		return s.pageEventsOnce(c, state)
	}
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	holder := streamHolder{principal.OrgID, visitor.UserID}
	refusal := fmt.Sprintf("You have %d pages with live updates open.", streamsPerHolder)
	if err := s.open.enter(holder, refusal); err != nil {
		return err
	}
	defer s.open.leave(holder)
	page := &pageStream{stream: s.newStream(c), state: state}
	if !page.begin() {
		return nil
	}
	// The first bytes are sent at once, so that the page knows that it is connected.
	if err := page.send([]byte("retry: 1000\n\n")); err != nil {
		return err
	}
	return page.follow(c.Request().Context())
}

// askAgain is after how long a page asks again that keeps no stream open.
const askAgain = "retry: 3000\n\n"

// pageEventsOnce sends what has happened since the page was read, and ends.
func (s *Streams) pageEventsOnce(c echo.Context, state pageState) error {
	events, err := s.changes(c.Request().Context(), &state)
	if err != nil {
		return err
	}
	page := &pageStream{stream: s.newStream(c), state: state}
	if !page.begin() {
		return nil
	}
	if err := page.send([]byte(askAgain)); err != nil {
		return err
	}
	return page.sendEvents(events)
}

// ShownRun is a run with the progress that a page shows.
type ShownRun struct {
	ID       uuid.UUID
	Progress validations.Progress
}

// String formats the run for the URL of the page's events. parseShownRun reads it.
func (r ShownRun) String() string {
	return r.ID.String() + "." + strconv.Itoa(int(r.Progress))
}

// parseShownRun reads what String writes. The page has not shown a run without progress yet.
func parseShownRun(text string) (ShownRun, bool) {
	name, digits, given := strings.Cut(text, ".")
	id, ok := core.ParseID(name)
	if !ok || !given {
		return ShownRun{id, -1}, ok
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	return ShownRun{id, validations.Progress(n)}, err == nil
}

// pageState is what a page shows after the events that were sent to it.
type pageState struct {
	orgID  uuid.UUID
	filter validations.RunFilter
	runs   []ShownRun
	// list is set for a page that lists the newest runs. newestListed was the organization's newest run when the list
	// was read, and lastSent is the newest run that an event was sent for.
	list                   bool
	newestListed, lastSent uuid.UUID
	// once is set for a page that asks again instead of listening.
	once bool
}

// pageState reads the state from the request, with the events that the page has received before it reconnected.
func (s *Streams) pageState(c echo.Context, orgID uuid.UUID) (pageState, error) {
	var query pageEventsQuery
	if err := core.BindQuery(c, s.check, &query); err != nil {
		return pageState{}, err
	}
	state := pageState{orgID: orgID, filter: query.RunFilter, list: query.Runs != "", once: query.Once}
	// A new run has no result yet, so it is counted although a filter for results does not select it now.
	state.filter.State, state.filter.Result = "", ""
	if state.list {
		state.newestListed = uuid.MustParse(query.Runs)
		state.lastSent = state.newestListed
	}
	for _, text := range query.Run {
		run, ok := parseShownRun(text)
		if !ok {
			return pageState{}, core.InvalidParameter("run", "must be the id of a run, with or without its progress")
		}
		state.runs = append(state.runs, run)
	}
	last := c.Request().Header.Get("Last-Event-ID")
	if last == "" {
		last = query.Last
	}
	state.resume(last)
	return state, nil
}

// eventID encodes the state as the id of the last event sent.
func (s *pageState) eventID() string {
	parts := []string{s.lastSent.String()}
	for _, run := range s.runs {
		parts = append(parts, strconv.Itoa(int(run.Progress)))
	}
	return strings.Join(parts, "/")
}

// resume restores the state from the id of the last event received. It ignores an id of another page, and then all
// events are sent again.
func (s *pageState) resume(eventID string) {
	parts := strings.Split(eventID, "/")
	lastSent, ok := core.ParseID(parts[0])
	if !ok || len(parts) != 1+len(s.runs) {
		return
	}
	s.lastSent = lastSent
	for i, text := range parts[1:] {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			s.runs[i].Progress = validations.Progress(n)
		}
	}
}

// final reports whether nothing that the page shows can change any more.
func (s *pageState) final() bool {
	if s.list {
		return false
	}
	for _, run := range s.runs {
		if run.Progress != validations.ProgressCompleted {
			return false
		}
	}
	return true
}

// watches lists the events that change what the page shows.
func (s *pageState) watches() []Watch {
	var watches []Watch
	if s.list {
		key := RunKey{OrgID: s.orgID, ID: s.lastSent}
		watches = append(watches, Watch{RunKey: key, Newer: true})
	}
	for _, run := range s.runs {
		if run.Progress != validations.ProgressCompleted {
			key := RunKey{OrgID: s.orgID, ID: run.ID}
			watches = append(watches, Watch{RunKey: key, Beyond: run.Progress})
		}
	}
	return watches
}

// maxNewer bounds how many newer runs are counted.
const maxNewer = 100

// pageEvent is a change that is sent to a page.
type pageEvent struct {
	name string
	// Say is announced to screen readers; "" for a change that needs no announcement.
	Say string `json:"say"`
	// New counts the runs created since the list was read.
	New int `json:"new,omitempty"`
}

// changes returns the events since the state, and updates the state.
func (s *Streams) changes(ctx context.Context, state *pageState) ([]pageEvent, error) {
	var events []pageEvent
	ids := make([]uuid.UUID, len(state.runs))
	for i, run := range state.runs {
		ids[i] = run.ID
	}
	found, err := s.runs.FindAll(ctx, state.orgID, ids)
	if err != nil {
		return nil, err
	}
	for i, shown := range state.runs {
		run, exists := found[shown.ID]
		switch {
		case !exists:
			state.runs[i].Progress = validations.ProgressCompleted
		case run.Progress() > shown.Progress:
			state.runs[i].Progress = run.Progress()
			events = append(events, pageEvent{name: "run", Say: announcement(run, shown.Progress)})
		}
	}
	if !state.list {
		return events, nil
	}
	newer, err := s.newerRuns(ctx, state)
	return append(events, newer...), err
}

// newerRuns returns an event if there are newer runs than the last event was sent for.
func (s *Streams) newerRuns(ctx context.Context, state *pageState) ([]pageEvent, error) {
	newest, err := s.runs.Newest(ctx, state.orgID)
	if err != nil || newest == state.lastSent {
		return nil, err
	}
	state.lastSent = newest
	n, err := s.runs.CountNewer(ctx, state.orgID, state.filter, state.newestListed, maxNewer)
	if err != nil || n == 0 {
		return nil, err
	}
	say := pages.Counted(int64(n), "new run")
	if n == maxNewer {
		say = pages.Number(n) + " or more new runs"
	}
	return []pageEvent{{name: "runs", New: n, Say: say}}, nil
}

// announcement describes the change of a run since the progress that was shown.
func announcement(run validations.Run, shown validations.Progress) string {
	switch {
	case run.State == api.RunStateCompleted:
		outcome := run.Found()
		if outcome == "" || outcome == "none" {
			outcome = strings.ToLower(run.Pill().Text)
		}
		return "Run of " + run.WorkflowSlug + " finished: " + outcome
	case shown <= 0:
		return "Run of " + run.WorkflowSlug + " started"
	default:
		return ""
	}
}

// pageStream sends the changes of what one open page shows.
type pageStream struct {
	stream

	state pageState
}

// follow sends the changes since the page was rendered, and then each further change.
func (s *pageStream) follow(ctx context.Context) error {
	for {
		events, err := s.changes(ctx, &s.state)
		if err != nil {
			return err
		}
		if err := core.ConfirmAccess(ctx); err != nil {
			return s.expire(err)
		}
		if err := s.sendEvents(events); err != nil || s.state.final() {
			return err
		}
		moved, err := s.await(ctx, s.state.watches()...)
		if err != nil {
			return s.expire(err)
		}
		if !moved {
			return nil
		}
	}
}

// expire sends the page that its visitor may see no more of it, and why. A database that does not answer is no such
// reason: the page then connects again.
func (s *pageStream) expire(reason error) error {
	refused := core.AsError(reason)
	switch refused.Code {
	case api.CodeNotAuthenticated, api.CodePermissionDenied, api.CodeSecondFactorRequired, api.CodeNotFound:
	default:
		return reason
	}
	data, err := json.Marshal(pageEvent{Say: refused.Detail})
	if err != nil {
		return fmt.Errorf("render the end of a session: %w", err)
	}
	return s.send(fmt.Appendf(nil, "event: expired\ndata: %s\n\n", data))
}

// sendEvents sends events, and an end event if there can be no more changes.
func (s *pageStream) sendEvents(events []pageEvent) error {
	if s.state.final() {
		events = append(events, pageEvent{name: "end"})
	}
	for i, event := range events {
		data, err := json.Marshal(event)
		if err != nil {
			return fmt.Errorf("render event %s: %w", event.name, err)
		}
		text := fmt.Appendf(nil, "event: %s\ndata: %s\n", event.name, data)
		if i == len(events)-1 {
			// The id names the state after all events, so a page that has got only some of them gets all again.
			text = fmt.Appendf(text, "id: %s\n", s.state.eventID())
		}
		if err := s.send(append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}
