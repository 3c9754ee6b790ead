package web

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

	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

// names lists the events as id and name.
func (h history) names() string {
	names := make([]string, len(h.events))
	for i, e := range h.events {
		names[i] = fmt.Sprintf("%d %s", e.id, e.name)
	}
	return strings.Join(names, ", ")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	now := time.Now()
	run := validations.Run{State: validations.StatePending, Result: validations.ResultUnknown, CreatedAt: now}
	if got, want := newHistory(run, "org", 3, nil).names(), "1 run.created"; got != want {
		t.Errorf("events of a pending run = %q, want %q", got, want)
	}
	run.State, run.Result, run.Error, run.ErrorCount = validations.StateCompleted, validations.ResultError,
		"Step 3 failed.", 2
	run.Attempts, run.RecoveryPoint, run.StartedAt, run.EndedAt = 2, 2, &now, &now
	past := newHistory(run, "org", 3, []validations.StepRun{{Ordinal: 0}, {Ordinal: 1}})
	want := "1 run.created, 2 run.started, 3 step.completed, 4 step.completed, 6 run.completed"
	if got := past.names(); got != want {
		t.Errorf("events of a completed run = %q, want %q", got, want)
	}
	for i, want := range []validations.RunBody{
		{State: validations.StatePending, Result: validations.ResultUnknown, Status: "PENDING"},
		{State: validations.StateRunning, Result: validations.ResultUnknown, Status: "RUNNING"},
	} {
		got, ok := past.events[i].data.(validations.RunBody)
		if !ok || got.State != want.State || got.Result != want.Result || got.Status != want.Status ||
			got.Counts != want.Counts || got.Error != "" || got.EndedAt != "" {
			t.Errorf("%s shows %+v, want the run as it was then", past.events[i].name, got)
		}
	}
}

// The times are those of the test's own clock, which stands still while something can go on.
func TestASilentStreamIsKeptAliveForSomeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		silent := &runStream{
			eventWriter: eventWriter{echo.New().NewContext(request, answer)},
			app:         &App{Deps: Deps{Waiters: execution.NewWaiters(nil)}},
			deadline:    time.Now().Add(maxStreamAge),
		}
		moved, err := silent.await(t.Context(), 0)
		if moved || err != nil {
			t.Errorf("await = %t, %v, want false and no error", moved, err)
		}
		got := strings.Count(answer.Body.String(), ": still here\n\n")
		if want := int(maxStreamAge / heartbeatInterval); got != want {
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
