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

// Queue is the state of a queue.
type Queue struct {
	Name string
	// Waiting tasks are due. Later ones are not: they were scheduled, or have failed and will be retried.
	Waiting, Active, Later, Archived int64
	// Oldest is how long the oldest waiting task has waited.
	Oldest time.Duration
	// Done and Failed are the tries of the day.
	Done, Failed int64
	Paused       bool
}

// WorkerState is a worker with a recent heartbeat.
type WorkerState struct {
	Host        string
	PID         int
	Concurrency int64
	Active      int64
	Started     time.Time
}

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

// List returns the state of the queues.
func (q *Queues) List() ([]Queue, error) {
	known, err := q.inspector.Queues()
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	queues := make([]Queue, 0, len(queueNames()))
	for _, name := range queueNames() {
		if !slices.Contains(known, name) {
			// Nothing was ever queued.
			queues = append(queues, Queue{Name: name})
			continue
		}
		info, err := q.inspector.GetQueueInfo(name)
		if err != nil {
			return nil, fmt.Errorf("look into queue %s: %w", name, err)
		}
		queues = append(queues, Queue{
			Name: name, Waiting: int64(info.Pending), Active: int64(info.Active),
			Later: int64(info.Scheduled + info.Retry), Archived: int64(info.Archived), Oldest: info.Latency,
			Done: int64(info.Processed - info.Failed), Failed: int64(info.Failed), Paused: info.Paused,
		})
	}
	return queues, nil
}

func queueNames() []string { return []string{QueueJobs, QueuePeriodic} }

// Workers lists the workers that are alive, the longest running first.
func (q *Queues) Workers() ([]WorkerState, error) {
	servers, err := q.inspector.Servers()
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	workers := make([]WorkerState, len(servers))
	for i, server := range servers {
		workers[i] = WorkerState{
			Host: server.Host, PID: server.PID, Concurrency: int64(server.Concurrency),
			Active: int64(len(server.ActiveWorkers)), Started: server.Started,
		}
	}
	slices.SortFunc(workers, func(a, b WorkerState) int { return a.Started.Compare(b.Started) })
	return workers, nil
}

// Archived lists tasks that have failed for the last time, the latest first.
func (q *Queues) Archived(limit int) ([]ArchivedTask, error) {
	var all []ArchivedTask
	for _, name := range queueNames() {
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
		batch := tx.NewBatch()
		core.Audit(batch, record)
		return batch.Send(ctx)
	})
}
