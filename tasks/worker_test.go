package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// newWorker makes a worker with a grace that no test wants to wait for.
func newWorker(b *testBundle, grace time.Duration) *tasks.Worker {
	return tasks.NewWorker(b.redis, tasks.WorkerConfig{Concurrency: 4, Grace: grace}, discard())
}

// startWorker runs the worker and returns how to stop it, which also happens at the test's end.
func startWorker(tb testing.TB, worker *tasks.Worker) func() {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	result := make(chan error, 1)
	go func() { result <- worker.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-result; err != nil {
			tb.Errorf("the worker returned %v, want nil", err)
		}
	}
	tb.Cleanup(stop)
	return stop
}

func TestWorker(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			t.Run("RunsWhatWasStaged", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				worker := newWorker(b, time.Minute)
				got := make(chan jobs.Job, 1)
				worker.Handle(kindCheck, func(_ context.Context, job jobs.Job) error {
					got <- job
					return nil
				})
				startWorker(t, worker)
				want := newJob()
				want.Epoch = 7
				b.stage(t, want)
				b.run(t, 1)
				if job := coretest.Receive(t, "the job runs", got); job != want {
					t.Errorf("job = %+v, want %+v", job, want)
				}
				coretest.Await(t, "the queue forgets the task", func() bool {
					_, err := b.inspector.GetTaskInfo(tasks.QueueJobs, want.TaskID())
					return errors.Is(err, asynq.ErrTaskNotFound)
				})
			})

			t.Run("RetriesWhatFails", func(t *testing.T) {
				t.Parallel()
				b := setup(t, start(t))
				worker := newWorker(b, time.Minute)
				tries := 0
				done := make(chan int, 1)
				worker.Handle(kindCheck, func(context.Context, jobs.Job) error {
					tries++
					if tries == 1 {
						panic("nil map")
					}
					done <- tries
					return nil
				})
				startWorker(t, worker)
				b.stage(t, newJob())
				b.run(t, 1)
				if got := coretest.Receive(t, "the retry", done); got != 2 {
					t.Errorf("tries = %d, want 2", got)
				}
			})
		})
	}
}

func TestWorkerRefuses(t *testing.T) {
	t.Parallel()
	newer, err := json.Marshal(map[string]any{"v": 2, "org": uuid.New(), "subject": uuid.New(), "epoch": 1})
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	tests := map[string]*asynq.Task{
		"ANewerPayload":       asynq.NewTask(string(kindCheck), newer),
		"NoPayload":           asynq.NewTask(string(kindCheck), nil),
		"AnUnknownKind":       asynq.NewTask("tests.unknown", newer),
		"UnknownPeriodicWork": asynq.NewTask("periodic:unknown", nil),
	}
	for name, task := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, redisServer(t))
			worker := newWorker(b, time.Minute)
			worker.Handle(kindCheck, func(context.Context, jobs.Job) error {
				t.Error("the handler was called, want the task refused")
				return nil
			})
			startWorker(t, worker)
			info, err := asynq.NewClientFromRedisClient(b.client).Enqueue(task,
				asynq.Queue(tasks.QueueJobs), asynq.TaskID(name), asynq.MaxRetry(1))
			if err != nil {
				t.Fatalf("enqueue: %v", err)
			}
			coretest.Await(t, "the task is refused", func() bool {
				info, err = b.inspector.GetTaskInfo(tasks.QueueJobs, info.ID)
				return err == nil && info.LastErr != ""
			})
			if info.State != asynq.TaskStateRetry || info.Retried != 0 {
				t.Errorf("state = %s after %d retries, want retry after 0", info.State, info.Retried)
			}
		})
	}
}

func TestWorkerStops(t *testing.T) {
	t.Parallel()

	t.Run("WhenItsTasksAreDone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, redisServer(t))
		worker := newWorker(b, time.Minute)
		running, release := make(chan struct{}), make(chan struct{})
		var cause error
		worker.Handle(kindCheck, func(ctx context.Context, _ jobs.Job) error {
			running <- struct{}{}
			<-release
			cause = ctx.Err()
			return nil
		})
		stop := startWorker(t, worker)
		job := newJob()
		b.stage(t, job)
		b.run(t, 1)
		coretest.Receive(t, "the job runs", running)
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		close(release)
		coretest.Receive(t, "the worker stops", stopped)
		if cause != nil {
			t.Errorf("the job's context ended with %v, want it whole within the grace", cause)
		}
		if _, err := b.inspector.GetTaskInfo(tasks.QueueJobs, job.TaskID()); !errors.Is(err, asynq.ErrTaskNotFound) {
			t.Errorf("the task = %v, want it done and gone", err)
		}
	})

	t.Run("AfterItsGrace", func(t *testing.T) {
		t.Parallel()
		b := setup(t, redisServer(t))
		worker := newWorker(b, 50*time.Millisecond)
		running := make(chan struct{})
		returned := false
		worker.Handle(kindCheck, func(ctx context.Context, _ jobs.Job) error {
			running <- struct{}{}
			<-ctx.Done()
			returned = true
			return ctx.Err()
		})
		stop := startWorker(t, worker)
		job := newJob()
		b.stage(t, job)
		b.run(t, 1)
		coretest.Receive(t, "the job runs", running)
		stop()
		if !returned {
			t.Error("the worker ended before its handler")
		}
		b.wantPending(t, job)
	})
}
