package validations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
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
	run := Run{State: api.RunStatePending, Result: api.RunResultUnknown, CreatedAt: now}
	if got, want := newHistory(run, "org", 3, nil).names(), "1 run.created"; got != want {
		t.Errorf("events of a pending run = %q, want %q", got, want)
	}
	run.State, run.Result, run.Error, run.ErrorCount = api.RunStateCompleted, api.RunResultError,
		"Step 3 failed.", 2
	run.Attempts, run.RecoveryPoint, run.StartedAt, run.EndedAt = 2, 2, &now, &now
	past := newHistory(run, "org", 3, []StepRun{{Ordinal: 0}, {Ordinal: 1}})
	want := "1 run.created, 2 run.started, 3 step.completed, 4 step.completed, 6 run.completed"
	if got := past.names(); got != want {
		t.Errorf("events of a completed run = %q, want %q", got, want)
	}
	for i, want := range []api.Run{
		{State: api.RunStatePending, Result: api.RunResultUnknown, Status: "PENDING"},
		{State: api.RunStateRunning, Result: api.RunResultUnknown, Status: "RUNNING"},
	} {
		got, ok := past.Events[i].Data.(api.Run)
		if !ok || got.State != want.State || got.Result != want.Result || got.Status != want.Status ||
			got.Counts != want.Counts || got.Error != "" || !got.EndedAt.IsZero() {
			t.Errorf("%s shows %+v, want the run as it was then", past.Events[i].Name, got)
		}
	}
}
