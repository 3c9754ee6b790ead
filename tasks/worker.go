package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/core/jobs"
)

const (
	// latePoll is how often an idle worker looks for retries that are due.
	latePoll = time.Second

	firstRetry = 2 * time.Second
	lastRetry  = time.Minute
	// foreignRetry is the wait of a task that this worker does not know.
	foreignRetry = 15 * time.Second

	// cancelGrace is how long handlers get to return after their context was canceled.
	cancelGrace = 5 * time.Second

	jobsShare, periodicShare = 4, 1
)

// WorkerConfig says how much a worker does at once and how it ends.
type WorkerConfig struct {
	Concurrency int
	// Grace is how long tasks may go on after the worker is stopped. What is still running then is canceled
	// and goes back to the queue.
	Grace time.Duration
}

// Worker runs what the queue delivers.
type Worker struct {
	redis    Redis
	cfg      WorkerConfig
	log      *slog.Logger
	handlers map[jobs.Kind]jobs.Handler
	calendar *Calendar
	running  sync.WaitGroup
}

// NewWorker makes a Worker. It handles nothing until Handle and HandlePeriodic say what.
func NewWorker(redis Redis, cfg WorkerConfig, log *slog.Logger) *Worker {
	return &Worker{redis: redis, cfg: cfg, log: log, handlers: map[jobs.Kind]jobs.Handler{}}
}

// Handle makes h the handler of a kind of job. Call it before Run; the last handler of a kind counts.
func (w *Worker) Handle(kind jobs.Kind, h jobs.Handler) {
	w.handlers[kind] = h
}

// HandlePeriodic makes the worker do the periodic work of the calendar. Call it before Run.
func (w *Worker) HandlePeriodic(c *Calendar) {
	w.calendar = c
}

// Run works until ctx ends, then takes nothing new and gives what is running the configured grace. Redis may be away
// when it starts and at any time later.
func (w *Worker) Run(ctx context.Context) error {
	server := asynq.NewServer(w.redis, asynq.Config{
		Concurrency:              w.cfg.Concurrency,
		Queues:                   map[string]int{QueueJobs: jobsShare, QueuePeriodic: periodicShare},
		BaseContext:              func() context.Context { return context.WithoutCancel(ctx) },
		TaskCheckInterval:        w.redis.idlePoll,
		DelayedTaskCheckInterval: latePoll,
		RetryDelayFunc:           retryDelay,
		// A task that this worker does not know is not counted as a try, so that a task of a newer release outlasts
		// every older worker.
		IsFailure:       func(err error) bool { return !errors.Is(err, errNotMine) },
		ErrorHandler:    asynq.ErrorHandlerFunc(w.report),
		ShutdownTimeout: w.cfg.Grace,
		Logger:          queueLog{log: w.log},
		// The warnings repeat what report says, once per failed try.
		LogLevel: asynq.ErrorLevel,
	})
	if err := server.Start(asynq.HandlerFunc(w.process)); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	<-ctx.Done()
	server.Shutdown()
	return w.awaitHandlers()
}

// process runs one task. A task that it does not know is refused with an error, which leaves it to a newer worker.
func (w *Worker) process(ctx context.Context, task *asynq.Task) error {
	w.running.Add(1)
	defer w.running.Done()
	return withoutPanic(func() error {
		if name, ok := decodePeriodic(task); ok {
			return w.processPeriodic(ctx, name)
		}
		handle, known := w.handlers[jobs.Kind(task.Type())]
		if !known {
			return fmt.Errorf("%w: nothing handles its kind", errNotMine)
		}
		job, err := decodeJob(task)
		if err != nil {
			return err
		}
		return handle(ctx, job)
	})
}

func (w *Worker) processPeriodic(ctx context.Context, name string) error {
	if w.calendar == nil {
		return fmt.Errorf("%w: it has no periodic work", errNotMine)
	}
	return w.calendar.RunDue(ctx, name)
}

// awaitHandlers waits for handlers whose tasks already went back to the queue, because asynq does not.
func (w *Worker) awaitHandlers() error {
	returned := make(chan struct{})
	go func() {
		w.running.Wait()
		close(returned)
	}()
	timer := time.NewTimer(cancelGrace)
	defer timer.Stop()
	select {
	case <-returned:
		return nil
	case <-timer.C:
		return fmt.Errorf("stop the worker: handlers were still running %s after they were canceled", cancelGrace)
	}
}

// report is the one place where the failure of a task is logged.
func (w *Worker) report(ctx context.Context, task *asynq.Task, err error) {
	id, _ := asynq.GetTaskID(ctx)
	retried, _ := asynq.GetRetryCount(ctx)
	maxRetry, _ := asynq.GetMaxRetry(ctx)
	log := w.log.With("task", id, "kind", task.Type(), "retried", retried, "error", err)
	switch {
	case errors.Is(err, errNotMine):
		log.WarnContext(ctx, "refused a task and left it in the queue")
	case retried < maxRetry:
		log.WarnContext(ctx, "a task failed and will be retried")
	default:
		log.ErrorContext(ctx, "a task failed for the last time")
	}
}

func retryDelay(retried int, err error, _ *asynq.Task) time.Duration {
	if errors.Is(err, errNotMine) {
		return jitter(foreignRetry)
	}
	return backoff(retried+1, firstRetry, lastRetry)
}
