package validations

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// watchQuery says what an open page shows: runs and how far they are there, as ID.PROGRESS, and the newest run that
// there was when its list was read.
type watchQuery struct {
	Run  []string `query:"run"  validate:"max=200"`
	Runs string   `query:"runs" validate:"omitempty,uuid"`
	// Last is the Last-Event-ID of a page that has closed its stream for a while.
	Last string `query:"last"`
	RunFilter
}

// watchEvents is GET /app/orgs/{org}/events/: it tells an open page that what it shows has changed, until nothing of
// that can change any more. The page then reads itself anew.
func (a *App) watchEvents(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	seen, err := a.sight(c, principal.OrgID)
	if err != nil {
		return err
	}
	if seen.over() {
		// The one answer that keeps a browser from coming back for more.
		return c.NoContent(http.StatusNoContent)
	}
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if !a.streams.enter(visitor.UserID) {
		return core.RateLimited(fmt.Sprintf("You have %d pages open that are updated.", streamsPerHolder), heartbeat)
	}
	defer a.streams.leave(visitor.UserID)
	stream := &pageStream{eventWriter: eventWriter{c}, app: a, sight: seen, ends: time.Now().Add(streamLife)}
	stream.begin()
	if c.Request().Method == http.MethodHead {
		return nil
	}
	// At once, so that the page knows that it is heard.
	if err := stream.send([]byte("retry: 1000\n\n")); err != nil {
		return err
	}
	return stream.follow(c.Request().Context())
}

// seenRun is a run and how far a page shows it to be.
type seenRun struct {
	id       uuid.UUID
	progress Progress
}

// sight is what a page shows.
type sight struct {
	orgID  uuid.UUID
	filter RunFilter
	runs   []seenRun
	// list says that it shows the newest runs: shown was the newest of the organization when the list was read, and
	// told is the newest that the page has been told of.
	list        bool
	shown, told uuid.UUID
}

// sight reads what the page shows, or shows by now.
func (a *App) sight(c echo.Context, orgID uuid.UUID) (sight, error) {
	var query watchQuery
	if err := core.BindQuery(c, a.Validator, &query); err != nil {
		return sight{}, err
	}
	seen := sight{orgID: orgID, filter: query.RunFilter, list: query.Runs != ""}
	// What a list is narrowed to by their ends, runs that begin cannot be told by.
	seen.filter.State, seen.filter.Result = "", ""
	if seen.list {
		seen.shown = uuid.MustParse(query.Runs)
		seen.told = seen.shown
	}
	for _, text := range query.Run {
		run, ok := parseSeenRun(text)
		if !ok {
			return sight{}, core.InvalidParameter("run", "must be the id of a run, with or without its progress")
		}
		seen.runs = append(seen.runs, run)
	}
	last := c.Request().Header.Get("Last-Event-ID")
	if last == "" {
		last = query.Last
	}
	seen.resume(last)
	return seen, nil
}

// parseSeenRun reads what String writes. A run without a progress was not seen yet.
func parseSeenRun(text string) (seenRun, bool) {
	name, far, given := strings.Cut(text, ".")
	id, ok := core.ParseID(name)
	if !ok || !given {
		return seenRun{id, -1}, ok
	}
	n, err := strconv.ParseInt(far, 10, 32)
	return seenRun{id, Progress(n)}, err == nil
}

// mark names what the page has been told of, as the id of an event.
func (s *sight) mark() string {
	parts := []string{s.told.String()}
	for _, run := range s.runs {
		parts = append(parts, strconv.Itoa(int(run.progress)))
	}
	return strings.Join(parts, "/")
}

// resume goes on behind the event with the id. What was not issued for such a page is passed over, and the page is told
// everything.
func (s *sight) resume(id string) {
	parts := strings.Split(id, "/")
	told, ok := core.ParseID(parts[0])
	if !ok || len(parts) != 1+len(s.runs) {
		return
	}
	s.told = told
	for i, text := range parts[1:] {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			s.runs[i].progress = Progress(n)
		}
	}
}

// over reports whether nothing of what the page shows can change any more.
func (s *sight) over() bool {
	if s.list {
		return false
	}
	for _, run := range s.runs {
		if run.progress != ProgressCompleted {
			return false
		}
	}
	return true
}

// watches are what can change.
func (s *sight) watches() []Watch {
	var watches []Watch
	if s.list {
		watches = append(watches, Watch{RunKey: RunKey{OrgID: s.orgID, ID: s.told}, Newer: true})
	}
	for _, run := range s.runs {
		if run.progress != ProgressCompleted {
			watches = append(watches, Watch{RunKey: RunKey{OrgID: s.orgID, ID: run.id}, Beyond: run.progress})
		}
	}
	return watches
}

// maxNewer is up to where newer runs are counted.
const maxNewer = 100

// pageEvent is what a page is told.
type pageEvent struct {
	name string
	// Say is for people who do not see the page; "" for what is not worth their attention.
	Say string `json:"say"`
	// New counts the runs that have come since the list was read.
	New int `json:"new,omitempty"`
}

// changes looks what has changed, and takes it as seen.
func (s *Service) changes(ctx context.Context, seen *sight) ([]pageEvent, error) {
	var events []pageEvent
	ids := make([]uuid.UUID, len(seen.runs))
	for i, run := range seen.runs {
		ids[i] = run.id
	}
	found, err := s.progresses(ctx, seen.orgID, ids)
	if err != nil {
		return nil, err
	}
	for i, run := range seen.runs {
		now, there := found[run.id]
		if far := now.Progress(); there && far > run.progress {
			seen.runs[i].progress = far
			events = append(events, pageEvent{name: "run", Say: newsOf(now, run.progress)})
		} else if !there {
			seen.runs[i].progress = ProgressCompleted
		}
	}
	if !seen.list {
		return events, nil
	}
	newer, err := s.newerThan(ctx, seen)
	return append(events, newer...), err
}

func (s *Service) newerThan(ctx context.Context, seen *sight) ([]pageEvent, error) {
	newest, err := s.newest(ctx, seen.orgID)
	if err != nil || newest == seen.told {
		return nil, err
	}
	seen.told = newest
	n, err := s.countNewer(ctx, seen.orgID, seen.filter, seen.shown, maxNewer)
	if err != nil || n == 0 {
		return nil, err
	}
	return []pageEvent{{name: "runs", New: n, Say: newerWords(n)}}, nil
}

func newerWords(n int) string {
	if n == maxNewer {
		return pages.Number(n) + " or more new runs"
	}
	return counted(int64(n), "new run")
}

// newsOf says what has become of a run that was as far as before.
func newsOf(run Run, before Progress) string {
	switch {
	case run.State == StateCompleted:
		return "Run of " + run.WorkflowSlug + " finished: " + endWords(run)
	case before <= 0:
		return "Run of " + run.WorkflowSlug + " started"
	default:
		return ""
	}
}

func endWords(run Run) string {
	if found := foundIn(run); found != "" && found != "none" {
		return found
	}
	return strings.ToLower(runPill(run).Text)
}

// pageStream tells one open page what changes.
type pageStream struct {
	eventWriter

	app   *App
	sight sight
	ends  time.Time
}

// follow tells what has changed since the page was made, and then what changes.
func (s *pageStream) follow(ctx context.Context) error {
	for {
		events, err := s.app.Runs.changes(ctx, &s.sight)
		if err != nil {
			return err
		}
		// Who has been signed out meanwhile is told nothing.
		if lasts, err := s.app.Sessions.Lasts(s.c); err != nil || !lasts {
			return err
		}
		if err := s.tell(events); err != nil || s.sight.over() {
			return err
		}
		if goesOn, err := s.await(ctx); err != nil || !goesOn {
			return err
		}
	}
}

// tell sends events, and at the last of them that nothing can follow.
func (s *pageStream) tell(events []pageEvent) error {
	if s.sight.over() {
		events = append(events, pageEvent{name: "end"})
	}
	for i, event := range events {
		data, err := json.Marshal(event)
		if err != nil {
			return fmt.Errorf("render event %s: %w", event.name, err)
		}
		text := fmt.Appendf(nil, "event: %s\ndata: %s\n", event.name, data)
		if i == len(events)-1 {
			// Who has got only some of them is told all of them again.
			text = fmt.Appendf(text, "id: %s\n", s.sight.mark())
		}
		if err := s.send(append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// await returns when something may have changed, or false when the stream is to end: the visitor has gone, or may not
// look any more, the process is to stop, or the stream is old enough.
func (s *pageStream) await(ctx context.Context) (bool, error) {
	for ctx.Err() == nil && s.app.Waiters.Open() && time.Now().Before(s.ends) {
		if s.app.Waiters.AwaitAny(ctx, s.sight.watches(), heartbeat) {
			return true, nil
		}
		if lasts, err := s.app.Sessions.Lasts(s.c); err != nil || !lasts {
			return false, err
		}
		if err := s.beat(); err != nil {
			return false, err
		}
	}
	return false, nil
}
