package validations

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// names lists the events as id and name.
func (h History) names() string {
	names := make([]string, len(h.Events))
	for i, e := range h.Events {
		names[i] = fmt.Sprintf("%d %s", e.ID, e.Name)
	}
	return strings.Join(names, ", ")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	now := time.Now()
	run := Run{State: StatePending, Result: ResultUnknown, CreatedAt: now}
	if got, want := newHistory(run, "org", 3, nil).names(), "1 run.created"; got != want {
		t.Errorf("events of a pending run = %q, want %q", got, want)
	}
	run.State, run.Result, run.Error, run.ErrorCount = StateCompleted, ResultError,
		"Step 3 failed.", 2
	run.Attempts, run.RecoveryPoint, run.StartedAt, run.EndedAt = 2, 2, &now, &now
	past := newHistory(run, "org", 3, []StepRun{{Ordinal: 0}, {Ordinal: 1}})
	want := "1 run.created, 2 run.started, 3 step.completed, 4 step.completed, 6 run.completed"
	if got := past.names(); got != want {
		t.Errorf("events of a completed run = %q, want %q", got, want)
	}
	for i, want := range []RunBody{
		{State: StatePending, Result: ResultUnknown, Status: "PENDING"},
		{State: StateRunning, Result: ResultUnknown, Status: "RUNNING"},
	} {
		got, ok := past.Events[i].Data.(RunBody)
		if !ok || got.State != want.State || got.Result != want.Result || got.Status != want.Status ||
			got.Counts != want.Counts || got.Error != "" || got.EndedAt != "" {
			t.Errorf("%s shows %+v, want the run as it was then", past.Events[i].Name, got)
		}
	}
}
