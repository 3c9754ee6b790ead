package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/core/jobs"
)

const (
	// deliverers is how many tasks are on their way to Redis at once. They share it: one at a time, a millisecond of it
	// would mean 1,000 jobs a second.
	deliverers = 64
	// conflictTries bounds how often a task replaces a finished one.
	conflictTries = 3
)

// errLeft marks a row that was not tried, or whose try says nothing about the row.
var errLeft = errors.New("left for a later batch")

// deliver hands the jobs to the queue in about their order.
func (e *Enqueuer) deliver(ctx context.Context, staged []stagedJob) handOver {
	limited, cancel := context.WithTimeout(ctx, handOverLimit)
	defer cancel()
	// A client remembers for its lifetime that it has announced its queues. A new one for each batch announces them
	// again, without which the inspector would deny the queue for ever after Redis has lost its data.
	client := asynq.NewClientFromRedisClient(newScriptsClient(e.redis))
	outcomes := slices.Repeat([]error{errLeft}, len(staged))
	var batch handOver
	// The first one announces the queue for the others, and is the only one to wait for a Redis that is away.
	if outcomes[0], batch.err = e.try(limited, client, staged[0].job); batch.err == nil {
		batch.err = e.tryTogether(limited, client, staged[1:], outcomes[1:])
	}
	for i, s := range staged {
		switch err := outcomes[i]; {
		case err == nil:
			batch.delivered = append(batch.delivered, s.id)
		case !errors.Is(err, errLeft):
			batch.refused = append(batch.refused, refusal{staged: s, cause: err})
		}
	}
	// A Redis that took a part until the time was up is slow and not down; the rest comes with the next batch.
	if len(batch.delivered) > 0 && limited.Err() != nil && ctx.Err() == nil {
		batch.err = nil
	}
	return batch
}

// tryTogether delivers jobs in about their order, until Redis fails.
func (e *Enqueuer) tryTogether(ctx context.Context, client *asynq.Client, staged []stagedJob, outcomes []error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(deliverers)
	for i, s := range staged {
		group.Go(func() error {
			var err error
			outcomes[i], err = e.try(groupCtx, client, s.job)
			return err
		})
	}
	return group.Wait()
}

// try delivers one job. It returns the outcome of the job, and the error of Redis if Redis has failed.
func (e *Enqueuer) try(ctx context.Context, client *asynq.Client, job jobs.Job) (error, error) {
	if err := ctx.Err(); err != nil {
		return errLeft, err
	}
	outcome := e.deliverOne(ctx, client, job)
	if outcome != nil {
		// Is it the row or Redis? What asynq returns is mostly text, so ask Redis for a write of its own.
		if err := CheckWritable(ctx, e.redis); err != nil {
			return errLeft, fmt.Errorf("%w (probed after: %w)", err, outcome)
		}
	}
	return outcome, nil
}

// deliverOne returns nil when the queue holds a live task of the job.
func (e *Enqueuer) deliverOne(ctx context.Context, client *asynq.Client, job jobs.Job) error {
	task, err := encodeJob(job, e.cfg.JobTimeout)
	if err != nil {
		return err
	}
	for range conflictTries {
		_, err = client.EnqueueContext(ctx, task)
		if !errors.Is(err, asynq.ErrTaskIDConflict) {
			return err
		}
		live, err := e.makeRoom(job)
		if live || err != nil {
			return err
		}
	}
	return err
}

// makeRoom looks at the task that has the job's id. It reports whether that task is still to be done; a finished one is
// removed.
func (e *Enqueuer) makeRoom(job jobs.Job) (bool, error) {
	info, err := e.inspector.GetTaskInfo(QueueJobs, job.TaskID())
	if errors.Is(err, asynq.ErrTaskNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the task with the same id: %w", err)
	}
	switch info.State {
	case asynq.TaskStateArchived, asynq.TaskStateCompleted:
	default:
		return true, nil
	}
	if err := e.inspector.DeleteTask(QueueJobs, job.TaskID()); err != nil && !errors.Is(err, asynq.ErrTaskNotFound) {
		return false, fmt.Errorf("remove the task with the same id: %w", err)
	}
	return false, nil
}
