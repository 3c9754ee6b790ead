package pages

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// liveStream is an open stream of a page.
type liveStream struct {
	response *http.Response
	read     strings.Builder
}

// listen opens the stream of a page.
func (s *stage) listen(tb testing.TB, c call) *liveStream {
	tb.Helper()
	request, err := c.Request(tb.Context(), s.Address)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := s.Client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = response.Body.Close() }) // Nothing more is read from it.
	if response.StatusCode != http.StatusOK {
		tb.Fatalf("stream %s = %d, want 200", c.Path, response.StatusCode)
	}
	return &liveStream{response: response}
}

// until reads up to a text, and to the end for "". It returns everything that was read so far.
func (l *liveStream) until(tb testing.TB, text string) string {
	tb.Helper()
	part := make([]byte, 1024)
	for text == "" || !strings.Contains(l.read.String(), text) {
		n, err := l.response.Body.Read(part)
		l.read.Write(part[:n])
		if errors.Is(err, io.EOF) && text == "" {
			break
		}
		if err != nil {
			tb.Fatalf("stream ended without %q: %v; it told %s", text, err, l.read.String())
		}
	}
	return l.read.String()
}

// eventsOf is the address of a page's event stream, as the page names it.
func eventsOf(tb testing.TB, html string) string {
	tb.Helper()
	_, after, found := strings.Cut(html, `data-events="`)
	if !found {
		tb.Fatal("the page has no events")
	}
	address, _, _ := strings.Cut(after, `"`)
	return strings.ReplaceAll(address, "&amp;", "&")
}

func TestRunPageGetsEventsOfItsRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Waits(t)
	viewer := s.Visitor(t, api.RoleViewer)
	id := s.Started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	events := eventsOf(t, s.see(t, fixture.Page(pageOfRun(id), viewer)))
	stream := s.listen(t, fixture.Page(events, viewer))
	fixture.WantHeader(t, answer{Header: stream.response.Header}, map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	})
	s.Work(t)
	fixture.Shows(t, stream.until(t, ""), "event: run\n", `"say":"Run of meter-readings finished: 8 errors"`,
		"event: end\n",
		"id: "+uuid.Nil.String()+"/2147483647\n")

	// Who has heard the end hears nothing more, and who has not hears it at once.
	resumed := fixture.Page(events, viewer).With("Last-Event-ID", uuid.Nil.String()+"/2147483647")
	if status := s.AnswerTo(t, resumed).Status; status != http.StatusNoContent {
		t.Errorf("status behind the end = %d, want 204", status)
	}
	if status := s.AnswerTo(t, fixture.Page(events+"&last="+uuid.Nil.String()+"/2147483647",
		viewer)).Status; status != 204 {
		t.Errorf("status of a page that was hidden = %d, want 204", status)
	}
	for _, unknown := range []string{"", "x", uuid.Nil.String() + "/x", uuid.Nil.String() + "/1/2"} {
		s.shows(t, fixture.Page(events, viewer).With("Last-Event-ID", unknown), "event: end\n")
	}
}

func TestRunsPageGetsEventsOfNewRuns(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Waits(t)
	viewer := s.Visitor(t, api.RoleViewer)
	waiting := s.Started(t, s.Start(t, "")).ID
	events := eventsOf(t, s.see(t, harbour("runs/?workflow=meter-readings", viewer)))
	if !strings.Contains(events, "run="+waiting) {
		t.Errorf("events = %s, want the waiting run in it", events)
	}
	stream := s.listen(t, fixture.Page(events, viewer))
	s.Started(t, s.Start(t, ""))
	s.Started(t, s.Start(t, "").To("/api/workflows/building/start/").WithBody("application/json", "{}"))
	s.Started(t, s.Start(t, ""))
	s.Work(t)
	stream.until(t, `"say":"2 new runs","new":2`)
	stream.until(t, "event: run\n")
	// A stream that begins later gets at once the events since the page was read.
	s.listen(t, fixture.Page(events, viewer)).until(t, `"say":"2 new runs","new":2`)
}

func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"SignedOut": `DELETE FROM sessions WHERE digest = sha256($1::bytea)`,
		"Expired":   `UPDATE sessions SET expires_at = now() WHERE digest = sha256($1::bytea)`,
		"NoLongerMember": `DELETE FROM memberships
			WHERE user_id = (SELECT user_id FROM sessions WHERE digest = sha256($1::bytea))`,
		"FactorRequired": `UPDATE organizations SET second_factor_required = true
			WHERE slug = 'harbour-energy' AND $1::bytea IS NOT NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.Waits(t)
			viewer := s.Visitor(t, api.RoleViewer)
			id := s.Started(t, s.Start(t, "")).ID
			events := eventsOf(t, s.see(t, fixture.Page(pageOfRun(id), viewer)))
			stream := s.listen(t, fixture.Page(events, viewer))
			s.Exec(t, end, []byte(viewer))
			s.Work(t)
			told := stream.until(t, "")
			fixture.Shows(t, told, "event: expired\n", `"say":"`)
			fixture.Hides(t, told, "event: run", "event: end", "meter-readings")
		})
	}
}

// A page that finds no place for a stream asks for what has happened and is answered at once.
func TestEventsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Waits(t)
	viewer := s.Visitor(t, api.RoleViewer)
	id := s.Started(t, s.Start(t, "")).ID
	page := s.see(t, fixture.Page(pageOfRun(id), viewer))
	events := fixture.Page(eventsOf(t, page)+"&once=true", viewer)
	for range 10 {
		told := s.see(t, events)
		fixture.Shows(t, told, "retry: 3000\n")
		fixture.Hides(t, told, "event:")
	}
	s.Work(t)
	s.shows(t, events, "event: run\n", "event: end\n", "id: ")
}

func TestStreamsShowNothingOfOtherOrganizations(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Work(t)
	finished := s.Started(t, s.Start(t, "")).ID
	s.Work(t)
	body := s.see(t, fixture.Page("/app/orgs/tiny-quota/events/?run="+finished, s.Stranger(t)))
	fixture.Shows(t, body, "event: end\n")
	fixture.Hides(t, body, "event: run\n", "meter-readings")
}

func TestStreamsOfAVisitorAreBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	stop := s.Waits(t)
	viewer := s.Visitor(t, api.RoleViewer)
	events := harbour("events/?runs="+uuid.Max.String(), viewer)
	const bound = 8
	streams := make([]*liveStream, bound)
	for i := range streams {
		streams[i] = s.listen(t, events)
	}
	got := s.RefusedStream(t, events)
	if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("one more stream = %d, want 429 with a Retry-After", got.Status)
	}
	stop()
	for _, stream := range streams {
		fixture.Hides(t, stream.until(t, ""), "event:")
	}
}

func TestEventsRefuseWhatPagesDoNotAsk(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	for _, query := range []string{
		"run=x", "run=" + uuid.NewString() + ".x", "runs=x", "result=MAYBE&runs=" + uuid.NewString(),
	} {
		s.Visit(t, http.StatusBadRequest, harbour("events/?"+query, viewer))
	}
	s.Visit(t, http.StatusNoContent, harbour("events/", viewer))
}
