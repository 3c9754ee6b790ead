package validations

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// told lists a story's events as id and name.
func (b *testBundle) told(tb testing.TB, job jobs.Job) string {
	tb.Helper()
	told, err := b.runs.story(tb.Context(), b.orgID, "org", job.SubjectID)
	if err != nil {
		tb.Fatal(err)
	}
	names := make([]string, len(told.events))
	for i, e := range told.events {
		names[i] = fmt.Sprintf("%d %s", e.id, e.name)
	}
	return strings.Join(names, ", ")
}

func TestStory(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	job := b.start(t, passing, failing, panicking)
	if got, want := b.told(t, job), "1 run.created"; got != want {
		t.Errorf("story before = %q, want %q", got, want)
	}
	b.execute(t, job)
	want := "1 run.created, 2 run.started, 3 step.completed, 4 step.completed, 6 run.completed"
	if got := b.told(t, job); got != want {
		t.Errorf("story after = %q, want %q", got, want)
	}
	told, err := b.runs.story(t.Context(), b.orgID, "org", job.SubjectID)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []RunBody{
		{State: StatePending, Result: ResultUnknown, Status: "PENDING"},
		{State: StateRunning, Result: ResultUnknown, Status: "RUNNING"},
	} {
		got, ok := told.events[i].data.(RunBody)
		if !ok || got.State != want.State || got.Result != want.Result || got.Status != want.Status ||
			got.Counts != want.Counts || got.Error != "" || got.EndedAt != "" {
			t.Errorf("%s shows %+v, want the run as it was then", told.events[i].name, got)
		}
	}
}

// The times are those of the test's own clock, which stands still while something can go on.
func TestASilentStreamIsKeptAliveForSomeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		silent := &stream{
			eventWriter: eventWriter{echo.New().NewContext(request, answer)}, app: &App{Deps: Deps{Waiters: NewWaiters(nil)}},
			ends: time.Now().Add(streamLife),
		}
		moved, err := silent.await(t.Context(), 0)
		if moved || err != nil {
			t.Errorf("await = %t, %v, want false and no error", moved, err)
		}
		got := strings.Count(answer.Body.String(), ": still here\n\n")
		if want := int(streamLife / heartbeat); got != want {
			t.Errorf("comments = %d, want %d", got, want)
		}
	})
}

func TestStreamsOfATokenAreBounded(t *testing.T) {
	t.Parallel()
	open, one, other := newStreams(), uuid.New(), uuid.New()
	for i := range streamsPerHolder {
		if !open.enter(one) {
			t.Fatalf("stream %d was refused", i+1)
		}
	}
	if open.enter(one) {
		t.Errorf("stream %d was allowed", streamsPerHolder+1)
	}
	if !open.enter(other) {
		t.Error("another token was refused")
	}
	open.leave(one)
	if !open.enter(one) {
		t.Error("a place that was given back was refused")
	}
}
