package api

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestRunWait(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Waits(t)

	t.Run("AnswersWhenTheRunHasEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Waits(t)
		start := s.Start(t, "")
		id := s.Started(t, start).ID
		answers := make(chan answer, 1)
		failures := make(chan error, 1)
		go func() {
			got, err := s.Send(t.Context(), start.To(validations.RunAddress(id)+"?wait=60").Get())
			failures <- err
			answers <- got
		}()
		s.Work(t)
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
		got := <-answers
		if run := fixture.Decoded[api.Run](t, got); run.State != "COMPLETED" || run.Result != "PASS" {
			t.Errorf("run = %s %s, want COMPLETED PASS", run.State, run.Result)
		}
		fixture.WantHeader(t, got, map[string]string{"Retry-After": "", "Cache-Control": "private, no-cache"})
	})

	t.Run("AnswersWhenTheTimeIsOver", func(t *testing.T) {
		t.Parallel()
		start := s.Start(t, "")
		id := s.Started(t, start).ID
		for _, query := range []string{"", "?wait=", "?wait=0", "?wait=1"} {
			got := s.Must(t, http.StatusOK, start.To(validations.RunAddress(id)+query).Get())
			if run := fixture.Decoded[api.Run](t, got); run.State != "PENDING" {
				t.Errorf("%s: state = %s, want PENDING", query, run.State)
			}
			fixture.WantHeader(t, got, map[string]string{"Retry-After": "1"})
		}
	})

	t.Run("OutlastsTheTimeForReadingTheRequest", func(t *testing.T) {
		t.Parallel()
		// On a busy machine it takes a while to read a request.
		s := setup(t, func(settings *config.Settings) { settings.ReadTimeout = 10 * time.Second })
		start := s.Start(t, "")
		address := validations.RunAddress(s.Started(t, start).ID)
		got := s.Together(t, []call{start.With("Prefer", "wait=11"), start.To(address + "?wait=11").Get()})
		if got[0].Status != http.StatusCreated || got[1].Status != http.StatusOK {
			t.Errorf("status = %d and %d, want 201 and 200", got[0].Status, got[1].Status)
		}
		fixture.WantHeader(t, got[0], map[string]string{"Preference-Applied": "wait=11"})
	})

	t.Run("RefusesWhatIsNoTime", func(t *testing.T) {
		t.Parallel()
		id := s.Started(t, s.Start(t, "")).ID
		for _, wait := range []string{"61", "-1", "x", "1.5", "99999999999999999999"} {
			s.Refused(t, api.CodeInvalidParameter,
				s.reading(validations.RunAddress(id)+"?wait="+wait))
		}
	})
}

func TestRunTag(t *testing.T) {
	t.Parallel()
	s := setup(t)
	start := s.Start(t, "")
	read := start.To(validations.RunAddress(s.Started(t, start).ID)).Get()
	pending := s.Must(t, http.StatusOK, read).Header.Get("ETag")
	for _, condition := range []string{pending, "W/" + pending, `"x", ` + pending, "*"} {
		got := s.Must(t, http.StatusNotModified, read.With("If-None-Match", condition))
		fixture.WantHeader(t, got, map[string]string{"ETag": pending, "Retry-After": "1"})
		if len(got.Body) != 0 {
			t.Errorf("body of 304 = %s, want none", got.Body)
		}
	}
	s.Must(t, http.StatusOK, read.With("If-None-Match", `"other"`))
	s.Work(t)
	completed := s.Must(t, http.StatusOK, read.With("If-None-Match", pending)).Header.Get("ETag")
	if completed == pending {
		t.Error("the tag is the same for another state")
	}
	s.Must(t, http.StatusNotModified, read.With("If-None-Match", completed))
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
		start := s.Start(t, "")
		events := start.To(validations.RunAddress(s.Started(t, start).ID) + "events/").Get()
		s.Work(t)
		got := s.Must(t, http.StatusOK, events)
		if told := names(got.Body); told != all {
			t.Errorf("events = %q, want %q", told, all)
		}
		fixture.WantHeader(t, got, map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
		})
		for last, want := range map[string]string{
			"2": "3 step.completed, 4 run.completed", "nonsense": all, "0": all, "-7": all,
		} {
			got := s.Must(t, http.StatusOK, events.With("Last-Event-ID", last))
			if told := names(got.Body); told != want {
				t.Errorf("events behind %s = %q, want %q", last, told, want)
			}
		}
		s.Must(t, http.StatusNoContent, events.With("Last-Event-ID", "4"))
	})

	t.Run("EndWithTheProcess", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		stop := s.Waits(t)
		start := s.Start(t, "")
		reader, end := s.follow(t, start.To(validations.RunAddress(s.Started(t, start).ID)+"events/").Get())
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
		s.Waits(t)
		start := s.Start(t, "")
		events := start.To(validations.RunAddress(s.Started(t, start).ID) + "events/").Get()
		for range 8 {
			reader, end := s.follow(t, events)
			t.Cleanup(end)
			reader.next(t)
		}
		got := s.Do(t, events)
		fixture.WantProblem(t, got, api.CodeRateLimited)
		fixture.WantHeader(t, got, map[string]string{"Retry-After": "15"})
		_, end := s.follow(t, events.By(s.Harbour.Tokens.Viewer))
		end()
	})
}

// stream reads the lines of an answer while they come.
type stream struct {
	lines *bufio.Scanner
}

// next reads up to the next event.
func (r stream) next(tb testing.TB) {
	tb.Helper()
	for r.lines.Scan() {
		if strings.HasPrefix(r.lines.Text(), "event: ") {
			return
		}
	}
	tb.Fatalf("the stream ended without another event: %v", r.lines.Err())
}

// follow opens a stream, which the returned function closes.
func (s *stage) follow(tb testing.TB, c call) (stream, func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	request, err := c.Request(ctx, s.Address)
	if err != nil {
		cancel()
		tb.Fatal(err)
	}
	response, err := s.Client.Do(request)
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
