package tasks_test

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// TestEnqueuerConflict hands over a job whose task id the queue knows already.
func TestEnqueuerConflict(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			t.Run("LeavesALiveTaskAlone", func(t *testing.T) {
				t.Parallel()
				live := map[asynq.TaskState][]asynq.Option{
					asynq.TaskStatePending:   nil,
					asynq.TaskStateScheduled: {asynq.ProcessIn(time.Hour)},
				}
				for state, options := range live {
					t.Run(state.String(), func(t *testing.T) {
						t.Parallel()
						b := setup(t, start(t))
						job := newJob()
						b.occupy(t, job, options...)
						b.stage(t, job)
						b.run(t, 1)
						b.wantStaged(t, 0)
						b.wantForeign(t, b.wantState(t, job, state))
					})
				}
			})

			t.Run("LeavesARunningTaskAlone", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				job := newJob()
				running, release := make(chan struct{}), make(chan struct{})
				startServer(t, b, func(context.Context, *asynq.Task) error {
					running <- struct{}{}
					<-release
					return nil
				})
				t.Cleanup(func() { close(release) })
				b.occupy(t, job)
				receive(t, "the task runs", running)
				b.stage(t, job)
				b.run(t, 1)
				b.wantStaged(t, 0)
				b.wantForeign(t, b.wantState(t, job, asynq.TaskStateActive))
			})

			t.Run("LeavesATaskToBeRetriedAlone", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				job := newJob()
				startServer(t, b, func(context.Context, *asynq.Task) error { return context.DeadlineExceeded })
				b.occupy(t, job)
				b.wantState(t, job, asynq.TaskStateRetry)
				b.stage(t, job)
				b.run(t, 1)
				b.wantStaged(t, 0)
				b.wantForeign(t, b.wantState(t, job, asynq.TaskStateRetry))
			})

			t.Run("ReplacesAnArchivedTask", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				job := newJob()
				b.occupy(t, job)
				if err := b.inspector.ArchiveTask(tasks.QueueJobs, job.TaskID()); err != nil {
					t.Fatalf("archive: %v", err)
				}
				b.stage(t, job)
				b.run(t, 1)
				b.wantStaged(t, 0)
				b.wantOurs(t, b.wantState(t, job, asynq.TaskStatePending))
			})

			t.Run("ReplacesACompletedTask", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				job := newJob()
				stop := startServer(t, b, func(context.Context, *asynq.Task) error { return nil })
				b.occupy(t, job, asynq.Retention(time.Hour))
				b.wantState(t, job, asynq.TaskStateCompleted)
				stop()
				b.stage(t, job)
				b.run(t, 1)
				b.wantStaged(t, 0)
				b.wantOurs(t, b.wantState(t, job, asynq.TaskStatePending))
			})
		})
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

func (b *testBundle) wantForeign(tb testing.TB, info *asynq.TaskInfo) {
	tb.Helper()
	if string(info.Payload) != foreignPayload {
		tb.Errorf("payload = %s, want the task that was there before", info.Payload)
	}
}

func (b *testBundle) wantOurs(tb testing.TB, info *asynq.TaskInfo) {
	tb.Helper()
	if string(info.Payload) == foreignPayload {
		tb.Error("the task is the one that was there before, want a new one")
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
