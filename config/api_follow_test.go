package config_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestRunWait(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.waits(t)

	t.Run("AnswersWhenTheRunHasEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.waits(t)
		start := s.start(t, "")
		id := s.started(t, start).ID
		answers := make(chan answer, 1)
		failures := make(chan error, 1)
		go func() {
			got, err := s.send(t.Context(), start.to(validations.RunAddress(id)+"?wait=60").get())
			failures <- err
			answers <- got
		}()
		s.work(t)
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
		got := <-answers
		if run := decoded[validations.RunBody](t, got); run.State != "COMPLETED" || run.Result != "PASS" {
			t.Errorf("run = %s %s, want COMPLETED PASS", run.State, run.Result)
		}
		wantHeader(t, got, map[string]string{"Retry-After": "", "Cache-Control": "private, no-cache"})
	})

	t.Run("AnswersWhenTheTimeIsOver", func(t *testing.T) {
		t.Parallel()
		start := s.start(t, "")
		id := s.started(t, start).ID
		for _, query := range []string{"", "?wait=", "?wait=0", "?wait=1"} {
			got := s.must(t, http.StatusOK, start.to(validations.RunAddress(id)+query).get())
			if run := decoded[validations.RunBody](t, got); run.State != "PENDING" {
				t.Errorf("%s: state = %s, want PENDING", query, run.State)
			}
			wantHeader(t, got, map[string]string{"Retry-After": "1"})
		}
	})

	t.Run("OutlastsTheTimeForReadingTheRequest", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.ReadTimeout = 200 * time.Millisecond })
		start := s.start(t, "")
		got := s.must(t, http.StatusCreated, start.with("Prefer", "wait=1"))
		wantHeader(t, got, map[string]string{"Preference-Applied": "wait=1"})
		address := validations.RunAddress(decoded[validations.RunBody](t, got).ID)
		s.must(t, http.StatusOK, start.to(address+"?wait=1").get())
	})

	t.Run("RefusesWhatIsNoTime", func(t *testing.T) {
		t.Parallel()
		id := s.started(t, s.start(t, "")).ID
		for _, wait := range []string{"61", "-1", "x", "1.5", "99999999999999999999"} {
			s.refused(t, core.CodeInvalidParameter,
				call{path: validations.RunAddress(id) + "?wait=" + wait, token: s.Harbour.Tokens.Viewer})
		}
	})
}

func TestRunTag(t *testing.T) {
	t.Parallel()
	s := setup(t)
	start := s.start(t, "")
	read := start.to(validations.RunAddress(s.started(t, start).ID)).get()
	pending := s.must(t, http.StatusOK, read).header.Get("ETag")
	for _, condition := range []string{pending, "W/" + pending, `"x", ` + pending, "*"} {
		got := s.must(t, http.StatusNotModified, read.with("If-None-Match", condition))
		wantHeader(t, got, map[string]string{"ETag": pending, "Retry-After": "1"})
		if len(got.body) != 0 {
			t.Errorf("body of 304 = %s, want none", got.body)
		}
	}
	s.must(t, http.StatusOK, read.with("If-None-Match", `"other"`))
	s.work(t)
	completed := s.must(t, http.StatusOK, read.with("If-None-Match", pending)).header.Get("ETag")
	if completed == pending {
		t.Error("the tag is the same for another state")
	}
	s.must(t, http.StatusNotModified, read.with("If-None-Match", completed))
}

// names lists the events of a stream as their id and name.
func names(body []byte) string {
	var found []string
	lines := bufio.NewScanner(bytes.NewReader(body))
	id := ""
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = value
		}
		if value, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			found = append(found, id+" "+value)
		}
	}
	return strings.Join(found, ", ")
}

func TestRunEvents(t *testing.T) {
	t.Parallel()
	const all = "1 run.created, 2 run.started, 3 step.completed, 4 run.completed"

	t.Run("TellWhatHasHappened", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		start := s.start(t, "")
		events := start.to(validations.RunAddress(s.started(t, start).ID) + "events/").get()
		s.work(t)
		got := s.must(t, http.StatusOK, events)
		if told := names(got.body); told != all {
			t.Errorf("events = %q, want %q", told, all)
		}
		wantHeader(t, got, map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
		})
		for last, want := range map[string]string{
			"2": "3 step.completed, 4 run.completed", "nonsense": all, "0": all, "-7": all,
		} {
			got := s.must(t, http.StatusOK, events.with("Last-Event-ID", last))
			if told := names(got.body); told != want {
				t.Errorf("events behind %s = %q, want %q", last, told, want)
			}
		}
		s.must(t, http.StatusNoContent, events.with("Last-Event-ID", "4"))
	})

	t.Run("TellWhatHappens", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.waits(t)
		start := s.start(t, "")
		events := start.to(validations.RunAddress(s.started(t, start).ID) + "events/").get()
		reader, end := s.follow(t, events)
		defer end()
		if line := reader.next(t); line != "run.created" {
			t.Fatalf("first event = %s, want run.created before anything has happened", line)
		}
		s.work(t)
		for line := ""; line != "run.completed"; {
			line = reader.next(t)
		}
	})

	t.Run("EndWithTheProcess", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		stop := s.waits(t)
		start := s.start(t, "")
		reader, end := s.follow(t, start.to(validations.RunAddress(s.started(t, start).ID)+"events/").get())
		defer end()
		reader.next(t)
		stop()
		for reader.lines.Scan() {
			if text := reader.lines.Text(); strings.HasPrefix(text, "event: ") {
				t.Errorf("line = %s, want no more events", text)
			}
		}
	})

	t.Run("AreBoundedForAToken", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.waits(t)
		start := s.start(t, "")
		events := start.to(validations.RunAddress(s.started(t, start).ID) + "events/").get()
		for range 8 {
			reader, end := s.follow(t, events)
			t.Cleanup(end)
			reader.next(t)
		}
		got := s.do(t, events)
		wantProblem(t, got, core.CodeRateLimited)
		wantHeader(t, got, map[string]string{"Retry-After": "15"})
		_, end := s.follow(t, events.by(s.Harbour.Tokens.Viewer))
		end()
	})
}

// stream reads the lines of an answer while they come.
type stream struct {
	lines *bufio.Scanner
}

// next returns the name of the next event.
func (r stream) next(tb testing.TB) string {
	tb.Helper()
	for r.lines.Scan() {
		if name, ok := strings.CutPrefix(r.lines.Text(), "event: "); ok {
			return name
		}
	}
	tb.Fatalf("the stream ended without another event: %v", r.lines.Err())
	return ""
}

// follow opens a stream, which the returned function closes.
func (s *stage) follow(tb testing.TB, c call) (stream, func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	request, err := c.request(ctx, s.address)
	if err != nil {
		cancel()
		tb.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		cancel()
		tb.Fatal(err)
	}
	closeAll := func() {
		cancel()
		_ = response.Body.Close() // It is broken off.
	}
	if response.StatusCode != http.StatusOK {
		closeAll()
		tb.Fatalf("status = %d, want 200", response.StatusCode)
	}
	return stream{lines: bufio.NewScanner(response.Body)}, closeAll
}

func TestRunPagesStandStillWhileRunsAreStarted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const total = 7
	newestFirst := make([]string, total)
	for i := range total {
		newestFirst[total-1-i] = s.started(t, s.start(t, "")).ID.String()
	}
	page := s.page(t, "/api/runs/?page_size=2")
	var seen []string
	for {
		for _, run := range page.Results {
			seen = append(seen, run.ID.String())
		}
		if page.Next == "" {
			break
		}
		s.started(t, s.start(t, ""))
		page = s.page(t, string(page.Next))
	}
	if diff := cmp.Diff(newestFirst, seen); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
