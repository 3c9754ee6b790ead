package config_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// liveStream is an open stream of a page.
type liveStream struct {
	response *http.Response
	read     strings.Builder
}

// listen opens the stream of a page.
func (s *stage) listen(tb testing.TB, c call) *liveStream {
	tb.Helper()
	request, err := c.request(tb.Context(), s.address)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = response.Body.Close() }) // Nothing more is read from it.
	if response.StatusCode != http.StatusOK {
		tb.Fatalf("stream %s = %d, want 200", c.path, response.StatusCode)
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

// eventsOf is the address of what a page is told, from the page itself.
func eventsOf(tb testing.TB, html string) string {
	tb.Helper()
	_, after, found := strings.Cut(html, `data-events="`)
	if !found {
		tb.Fatal("the page has no events")
	}
	address, _, _ := strings.Cut(after, `"`)
	return strings.ReplaceAll(address, "&amp;", "&")
}

func TestRunPageIsToldOfItsRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.waits(t)
	viewer := s.visitor(t, core.RoleViewer)
	id := s.started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	events := eventsOf(t, s.visit(t, http.StatusOK, page(pageOfRun(id), viewer)))
	stream := s.listen(t, page(events, viewer))
	wantHeader(t, answer{header: stream.response.Header}, map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	})
	s.work(t)
	shows(t, stream.until(t, ""), "event: run\n", `"say":"Run of meter-readings finished: 8 errors"`, "event: end\n",
		"id: "+uuid.Nil.String()+"/2147483647\n")

	// Who has heard the end hears nothing more, and who has not hears it at once.
	resumed := page(events, viewer).with("Last-Event-ID", uuid.Nil.String()+"/2147483647")
	if status := s.answerTo(t, resumed).status; status != http.StatusNoContent {
		t.Errorf("status behind the end = %d, want 204", status)
	}
	if status := s.answerTo(t, page(events+"&last="+uuid.Nil.String()+"/2147483647", viewer)).status; status != 204 {
		t.Errorf("status of a page that was hidden = %d, want 204", status)
	}
	for _, unknown := range []string{"", "x", uuid.Nil.String() + "/x", uuid.Nil.String() + "/1/2"} {
		shows(t, s.visit(t, http.StatusOK, page(events, viewer).with("Last-Event-ID", unknown)), "event: end\n")
	}
}

func TestRunsPageIsToldOfNewRuns(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.waits(t)
	viewer := s.visitor(t, core.RoleViewer)
	waiting := s.started(t, s.start(t, "")).ID
	events := eventsOf(t, s.visit(t, http.StatusOK, page(harbourPages+"runs/?workflow=meter-readings", viewer)))
	if !strings.Contains(events, "run="+waiting.String()) {
		t.Errorf("events = %s, want the waiting run in it", events)
	}
	stream := s.listen(t, page(events, viewer))
	s.started(t, s.start(t, ""))
	s.started(t, s.start(t, "").to("/api/workflows/building/start/").withBody("application/json", "{}"))
	s.started(t, s.start(t, ""))
	s.work(t)
	stream.until(t, `"say":"2 new runs","new":2`)
	stream.until(t, "event: run\n")
	// A stream that begins later is told at once what has happened since the page was read.
	s.listen(t, page(events, viewer)).until(t, `"say":"2 new runs","new":2`)
}

func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"SignedOut": `DELETE FROM sessions WHERE digest = sha256($1::bytea)`,
		"Expired":   `UPDATE sessions SET expires_at = now() WHERE digest = sha256($1::bytea)`,
		"NoLongerMember": `DELETE FROM memberships
			WHERE user_id = (SELECT user_id FROM sessions WHERE digest = sha256($1::bytea))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.waits(t)
			viewer := s.visitor(t, core.RoleViewer)
			id := s.started(t, s.start(t, "")).ID
			events := eventsOf(t, s.visit(t, http.StatusOK, page(pageOfRun(id), viewer)))
			stream := s.listen(t, page(events, viewer))
			s.exec(t, end, []byte(viewer))
			s.work(t)
			hides(t, stream.until(t, ""), "event:")
		})
	}
}

func TestStreamsOfOtherOrganizationsTellNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.work(t)
	finished := s.started(t, s.start(t, "")).ID
	s.work(t)
	body := s.visit(t, http.StatusOK, page("/app/orgs/tiny-quota/events/?run="+finished.String(), s.stranger(t)))
	shows(t, body, "event: end\n")
	hides(t, body, "event: run\n", "meter-readings")
}

func TestStreamsOfAVisitorAreBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	stop := s.waits(t)
	viewer := s.visitor(t, core.RoleViewer)
	events := page(harbourPages+"events/?runs="+uuid.Max.String(), viewer)
	const bound = 8
	streams := make([]*liveStream, bound)
	for i := range streams {
		streams[i] = s.listen(t, events)
	}
	if got := s.answerTo(t, events); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("one more stream = %d, want 429 with a Retry-After", got.status)
	}
	stop()
	for _, stream := range streams {
		hides(t, stream.until(t, ""), "event:")
	}
}

func TestEventsRefuseWhatPagesDoNotAsk(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	for _, query := range []string{
		"run=x", "run=" + uuid.NewString() + ".x", "runs=x", "result=MAYBE&runs=" + uuid.NewString(),
	} {
		s.visit(t, http.StatusBadRequest, page(harbourPages+"events/?"+query, viewer))
	}
	s.visit(t, http.StatusNoContent, page(harbourPages+"events/", viewer))
}
