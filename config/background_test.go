package config_test

import (
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// A queue that ends a task before its run may end begins the run's step anew, for as long as the run lives.
func TestTasksMayTakeAsLongAsTheirRuns(t *testing.T) {
	t.Parallel()
	const runTimeout = 50 * time.Hour
	s := fixture.Setup(t, func(settings *config.Settings) { settings.RunTimeout = runTimeout })
	s.Started(t, s.Start(t, ""))
	if n, err := s.Project.Enqueue(t.Context(), s.Queue); n != 1 || err != nil {
		t.Fatalf("handed over %d jobs, %v, want the run's", n, err)
	}
	waiting, err := asynq.NewInspectorFromRedisClient(s.Queue).ListPendingTasks(tasks.QueueJobs)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("tasks = %v, %v, want one", waiting, err)
	}
	if got := waiting[0].Timeout; got <= runTimeout {
		t.Errorf("a task may take %s, want more than the %s of a run", got, runTimeout)
	}
}
