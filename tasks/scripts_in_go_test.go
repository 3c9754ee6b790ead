package tasks_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/embedded"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// A release of asynq with other scripts fails here.
func TestScriptsInGoAreThoseOfEachTask(t *testing.T) {
	t.Parallel()
	var counted sync.Map
	scripts := tasks.ScriptsInGo()
	for sha, script := range scripts {
		run := script.Run
		script.Run = func(call embedded.Call, keys, args []string) (any, error) {
			counted.Store(sha, true)
			return run(call, keys, args)
		}
		scripts[sha] = script
	}
	private, err := embedded.StartRedis(t.Context(), scripts, discard())
	if err != nil {
		t.Fatalf("start in-process Redis: %v", err)
	}
	t.Cleanup(private.Stop)
	b := setup(t, tasks.InProcess(private.Dial))
	worker := newWorker(b, time.Minute)
	worker.Handle(kindCheck, func(context.Context, jobs.Job) error { return nil })
	startWorker(t, worker)
	b.stage(t, newJobs(10)...)
	b.run(t, 10)
	for sha := range scripts {
		coretest.Await(t, "script "+sha+" runs in Go", func() bool {
			_, ran := counted.Load(sha)
			return ran
		})
	}
}
