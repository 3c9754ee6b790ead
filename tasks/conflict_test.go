package tasks_test

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// TestEnqueuerConflict hands over a job whose task id the queue knows already. A live task stays, a finished one is
// replaced.
func TestEnqueuerConflict(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options []asynq.Option
		// handle is what a worker does with the task until the test ends; nil where there is no worker.
		handle        func(testEnds <-chan struct{}) error
		before, after asynq.TaskState
	}{
		"LeavesAPendingTaskAlone": {before: asynq.TaskStatePending, after: asynq.TaskStatePending},
		"LeavesAScheduledTaskAlone": {
			options: []asynq.Option{asynq.ProcessIn(time.Hour)},
			before:  asynq.TaskStateScheduled, after: asynq.TaskStateScheduled,
		},
		"LeavesARunningTaskAlone": {
			handle: func(testEnds <-chan struct{}) error {
				<-testEnds
				return nil
			},
			before: asynq.TaskStateActive, after: asynq.TaskStateActive,
		},
		"LeavesATaskToBeRetriedAlone": {
			handle: func(<-chan struct{}) error { return context.DeadlineExceeded },
			before: asynq.TaskStateRetry, after: asynq.TaskStateRetry,
		},
		"ReplacesAnArchivedTask": {
			handle: func(<-chan struct{}) error { return asynq.SkipRetry },
			before: asynq.TaskStateArchived, after: asynq.TaskStatePending,
		},
		"ReplacesACompletedTask": {
			options: []asynq.Option{asynq.Retention(time.Hour)},
			handle:  func(<-chan struct{}) error { return nil },
			before:  asynq.TaskStateCompleted, after: asynq.TaskStatePending,
		},
	}
	for backend, start := range backends() {
		for name, tt := range tests {
			t.Run(backend+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				job := newJob()
				b.occupy(t, job, tt.options...)
				stop := func() {}
				if tt.handle != nil {
					ends := t.Context().Done()
					stop = startServer(t, b, func(context.Context, *asynq.Task) error { return tt.handle(ends) })
				}
				b.wantState(t, job, tt.before)
				isReplaced := tt.after != tt.before
				if isReplaced {
					stop()
				}
				b.stage(t, job)
				b.run(t, 1)
				b.wantStaged(t, 0)
				info := b.wantState(t, job, tt.after)
				if isForeign := string(info.Payload) == foreignPayload; isForeign == isReplaced {
					t.Errorf("payload = %s, want the task replaced: %t", info.Payload, isReplaced)
				}
			})
		}
	}
}

// foreignPayload tells a task that a test made from one that the enqueuer made.
const foreignPayload = "made by the test"

// occupy puts a task with the job's id into the queue.
func (b *testBundle) occupy(tb testing.TB, job jobs.Job, options ...asynq.Option) {
	tb.Helper()
	options = append(options, asynq.Queue(tasks.QueueJobs), asynq.TaskID(job.TaskID()))
	task := asynq.NewTask(string(job.Kind), []byte(foreignPayload))
	if _, err := asynq.NewClientFromRedisClient(b.client).Enqueue(task, options...); err != nil {
		tb.Fatalf("occupy the id: %v", err)
	}
}

// startServer runs tasks with that handler until the test ends or the returned function is called.
func startServer(tb testing.TB, b *testBundle, handle asynq.HandlerFunc) func() {
	tb.Helper()
	server := asynq.NewServerFromRedisClient(b.client, asynq.Config{
		Concurrency: 1, Queues: map[string]int{tasks.QueueJobs: 1},
		TaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel,
	})
	if err := server.Start(handle); err != nil {
		tb.Fatalf("start server: %v", err)
	}
	tb.Cleanup(server.Shutdown)
	return server.Shutdown
}
