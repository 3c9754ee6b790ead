package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// ArchivedTask is a task that has failed for the last time.
type ArchivedTask struct {
	Queue, ID, Kind string
	Tries           int64
	Error           string
	FailedAt        time.Time
}

// Queues inspects the queues for operators, who may retry and discard failed tasks.
type Queues struct {
	inspector *asynq.Inspector
}

// NewQueues makes a Queues. The caller closes the client.
func NewQueues(client redis.UniversalClient) *Queues {
	return &Queues{inspector: asynq.NewInspectorFromRedisClient(client)}
}

// Archived lists tasks that have failed for the last time, the latest first.
func (q *Queues) Archived(limit int) ([]ArchivedTask, error) {
	var all []ArchivedTask
	for _, name := range []string{QueueJobs, QueuePeriodic} {
		found, err := q.inspector.ListArchivedTasks(name, asynq.PageSize(limit))
		if err != nil && !errors.Is(err, asynq.ErrQueueNotFound) {
			return nil, fmt.Errorf("list the failed tasks of queue %s: %w", name, err)
		}
		for _, task := range found {
			all = append(all, ArchivedTask{
				Queue: name, ID: task.ID, Kind: task.Type, Tries: int64(task.Retried) + 1, Error: task.LastErr,
				FailedAt: task.LastFailedAt,
			})
		}
	}
	slices.SortFunc(all, func(a, b ArchivedTask) int {
		return cmp.Or(b.FailedAt.Compare(a.FailedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// CheckArchived returns a not-found error for a task that has not failed for the last time: it is gone, or will be
// retried.
func (q *Queues) CheckArchived(queue, id string) error {
	info, err := q.inspector.GetTaskInfo(queue, id)
	if err == nil && info.State != asynq.TaskStateArchived {
		return core.NotFound("failed task")
	}
	return taskError("look at", id, err)
}

// Retry puts a failed task back into its queue.
func (q *Queues) Retry(queue, id string) error {
	return taskError("retry", id, q.inspector.RunTask(queue, id))
}

// Discard deletes a failed task. A run that has not ended gets a new one from the sweeper.
func (q *Queues) Discard(queue, id string) error {
	return taskError("discard", id, q.inspector.DeleteTask(queue, id))
}

// taskError distinguishes a task that is gone from a queue that does not answer.
func taskError(action, id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, asynq.ErrTaskNotFound), errors.Is(err, asynq.ErrQueueNotFound):
		return core.NotFound("failed task").Because(err)
	default:
		return fmt.Errorf("%s task %s: %w", action, id, err)
	}
}

// OrganizationOf returns the organization of the job with the task's id; false for periodic work.
func OrganizationOf(taskID string) (uuid.UUID, bool) {
	_, rest, _ := strings.Cut(taskID, ":")
	org, _, _ := strings.Cut(rest, ":")
	return core.ParseID(org)
}

// CountArchived counts the tasks in the queues that have failed for the last time. The queue's own inspector takes no
// context, and measures the memory of the queue as well.
func CountArchived(ctx context.Context, client redis.UniversalClient) (int64, error) {
	var total int64
	for _, queue := range []string{QueueJobs, QueuePeriodic} {
		n, err := client.ZCard(ctx, "asynq:{"+queue+"}:archived").Result()
		if err != nil {
			return 0, fmt.Errorf("count archived tasks: %w", err)
		}
		total += n
	}
	return total, nil
}

// DeadLetter is a staged job that the queue has refused maxHandOvers times. It waits for an operator.
type DeadLetter struct {
	ID        int64
	Kind      jobs.Kind
	OrgID     uuid.UUID
	SubjectID uuid.UUID
	Attempts  int64
	LastError string
	CreatedAt time.Time
}

// RetryDeadLetter lets the enqueuer hand the job over again, with all its attempts.
func RetryDeadLetter(ctx context.Context, database *db.DB, id int64, record core.AuditRecord) error {
	return auditDeadLetter(ctx, database, id, record, retryDeadLetter)
}

// DiscardDeadLetter deletes the job. A run that has not ended gets a new one from the sweeper.
func DiscardDeadLetter(ctx context.Context, database *db.DB, id int64, record core.AuditRecord) error {
	return auditDeadLetter(ctx, database, id, record, discardDeadLetter)
}

func auditDeadLetter(
	ctx context.Context, database *db.DB, id int64, record core.AuditRecord, statement string,
) error {
	return db.Do(ctx, database, func(tx db.Tx) error {
		if err := changeDeadLetter(ctx, tx, id, statement); err != nil {
			return err
		}
		return core.AuditIn(ctx, tx, record)
	})
}
