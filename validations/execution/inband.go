package execution

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
)

// Inband executes runs in the process that has started them, for requests that wait for the result. A run that finds
// no free slot is left to the workers. The lease decides between the two, so a run is executed once.
type Inband struct {
	executor *Executor
	waiters  *Waiters
	// places are not shared with the runs from the queue: a waiting request does not wait for long runs as well.
	places *share.Places
	count  int
	// offers is unbuffered: a free slot takes an offer at once, or nobody does.
	offers chan jobs.Job
	log    *slog.Logger

	mu sync.Mutex
	// executing counts the runs of each organization that are executed here.
	executing map[uuid.UUID]int
}

// NewInband makes an Inband that executes this many runs at once. With 0 every run is left to the workers.
func NewInband(executor *Executor, waiters *Waiters, count int, log *slog.Logger) *Inband {
	return &Inband{
		executor: executor, waiters: waiters, places: share.New(count, 0, executor.cfg.OrgShare), count: count,
		offers: make(chan jobs.Job), executing: make(map[uuid.UUID]int), log: log,
	}
}

// Run executes offered runs until ctx ends. Then it releases all waiting requests, so that they do not delay the
// server's shutdown, and returns when the interrupted executions have released their leases.
func (i *Inband) Run(ctx context.Context) error {
	var executions sync.WaitGroup
	for range i.count {
		executions.Go(func() { i.serve(ctx) })
	}
	<-ctx.Done()
	i.waiters.close()
	executions.Wait()
	return nil
}

func (i *Inband) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-i.offers:
			if err := i.executor.execute(ctx, job, i.places); err != nil {
				i.log.WarnContext(ctx, "run left to the workers", "run", job.SubjectID, "error", err)
			}
			i.leave(job.OrgID)
			// Without this the request would wait for the next tick as well.
			if _, err := i.waiters.RunOnce(ctx); err != nil && ctx.Err() == nil {
				i.log.WarnContext(ctx, "waiting requests not released", "run", job.SubjectID, "error", err)
			}
		}
	}
}

// enter counts a run of an organization, unless the organization has its share of the slots already. What it leaves to
// the workers gets its turn there, and the next organization finds a free slot here.
func (i *Inband) enter(org uuid.UUID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.executing[org] >= share.Part(i.count, i.executor.cfg.OrgShare) {
		return false
	}
	i.executing[org]++
	return true
}

func (i *Inband) leave(org uuid.UUID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.executing[org]--
	if i.executing[org] == 0 {
		delete(i.executing, org)
	}
}

// WaitNew waits for the end of a run that has just been created, and executes it here if a slot is free. It returns
// when the run is completed, when the limit is over or when ctx ends.
func (i *Inband) WaitNew(ctx context.Context, orgID, id uuid.UUID, limit time.Duration) {
	job := jobs.Job{Kind: validations.JobExecute, OrgID: orgID, SubjectID: id, Epoch: validations.FirstEpoch}
	end := Watch{RunKey: RunKey{OrgID: orgID, ID: id}, Beyond: validations.ProgressCompleted - 1}
	i.waiters.await(ctx, []Watch{end}, limit, func() {
		if !i.enter(orgID) {
			return
		}
		select {
		case i.offers <- job:
		default:
			i.leave(orgID)
		}
	})
}

// Wait waits for the end of a run that was created earlier. It does not wait if the run cannot be read.
func (i *Inband) Wait(ctx context.Context, orgID, id uuid.UUID, limit time.Duration) {
	run, err := i.executor.runs.Find(ctx, orgID, id)
	if err != nil || run.State == validations.StateCompleted {
		return
	}
	i.waiters.AwaitEnd(ctx, RunKey{OrgID: orgID, ID: id}, limit)
}
