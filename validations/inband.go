package validations

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// Inband executes runs in the process that started them, for requests that wait for the result. Only so
// many at a time: what finds no free place is left to the workers. The lease decides between the two, so
// a run is executed once, whoever comes first.
type Inband struct {
	executor *Executor
	waiters  *Waiters
	// slots are not shared with the queue: whoever waits does not wait for long runs as well.
	slots slots
	// offered has no buffer: an offer is taken by a free place or by nobody.
	offered chan jobs.Job
	log     *slog.Logger
}

// NewInband makes an Inband with so many free slots; with 0 every run is left to the workers.
func NewInband(executor *Executor, waiters *Waiters, free int, log *slog.Logger) *Inband {
	return &Inband{
		executor: executor, waiters: waiters, slots: make(slots, free), offered: make(chan jobs.Job), log: log,
	}
}

// Run keeps the slots open until ctx ends. Then it lets all waiting requests go, so that they do not
// hold up the server's end, and returns when the interrupted executions have given their leases back.
func (i *Inband) Run(ctx context.Context) error {
	var slots sync.WaitGroup
	for range cap(i.slots) {
		slots.Go(func() { i.serve(ctx) })
	}
	<-ctx.Done()
	i.waiters.close()
	slots.Wait()
	return nil
}

func (i *Inband) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-i.offered:
			if err := i.executor.execute(ctx, job, i.slots); err != nil {
				i.log.WarnContext(ctx, "run left to the workers", "run", job.SubjectID, "error", err)
			}
			// At once, so that whoever waits for this run does not wait for the next tick as well.
			if _, err := i.waiters.RunOnce(ctx); err != nil && ctx.Err() == nil {
				i.log.WarnContext(ctx, "waiters not told", "run", job.SubjectID, "error", err)
			}
		}
	}
}

// WaitNew waits for the end of a run that has just been created, and executes it here when a place is
// free. It returns when the run is completed, when the time is over or when ctx ends.
func (i *Inband) WaitNew(ctx context.Context, orgID, id uuid.UUID, limit time.Duration) {
	job := jobs.Job{Kind: JobExecute, OrgID: orgID, SubjectID: id, Epoch: FirstEpoch}
	i.waiters.awaitEnd(ctx, runKey{OrgID: orgID, ID: id}, limit, func() {
		select {
		case i.offered <- job:
		default:
		}
	})
}

// Wait waits for the end of a run that was created earlier. When it cannot be told how far the run is, it
// does not wait.
func (i *Inband) Wait(ctx context.Context, orgID, id uuid.UUID, limit time.Duration) {
	state, err := i.executor.runs.state(ctx, orgID, id)
	if err != nil || state == StateCompleted {
		return
	}
	i.waiters.awaitEnd(ctx, runKey{OrgID: orgID, ID: id}, limit, func() {})
}
