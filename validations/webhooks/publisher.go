package webhooks

import (
	"context"
	"fmt"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// JobDeliver is the kind of the job that sends what is due to a webhook.
const JobDeliver jobs.Kind = "webhook.deliver"

// Publisher makes deliveries of new events, and jobs of the webhooks whose deliveries are due.
type Publisher struct {
	db     *db.DB
	cfg    Config
	staged *jobs.Signal
}

// NewPublisher makes a Publisher, which wakes the signal when it has staged a job.
func NewPublisher(database *db.DB, cfg Config, staged *jobs.Signal) *Publisher {
	return &Publisher{db: database, cfg: cfg, staged: staged}
}

// RunOnce publishes a batch of events, carries on with what is to be sent again, and stages the jobs of the webhooks
// that have something due. It returns how much of this it did. Any number of processes may call it; one at a time
// publishes.
//
// Events get their positions after they were committed, by one transaction after the other: who has seen a position
// has seen all that come before it, in whatever order the transactions of the events have ended.
func (p *Publisher) RunOnce(ctx context.Context) (int, error) {
	type pass struct {
		published int
		staged    []jobs.Job
	}
	done, err := db.InPipeline(ctx, p.db, queueTurn,
		func(tx db.Tx, turn turn, last *db.Batch) (pass, error) {
			if begin, err := turn.get(); err != nil || !begin {
				return pass{}, err
			}
			var done pass
			var err error
			if done.published, err = publish(ctx, tx); err != nil {
				return pass{}, err
			}
			resent, err := resend(ctx, tx)
			if err != nil {
				return pass{}, err
			}
			done.published += resent
			if done.staged, err = p.takeDue(ctx, tx); err != nil || len(done.staged) == 0 {
				return done, err
			}
			jobs.Stage(last, done.staged...)
			return done, nil
		})
	if err != nil {
		return 0, fmt.Errorf("publish events: %w", err)
	}
	if len(done.staged) > 0 {
		p.staged.Wake()
	}
	return done.published + len(done.staged), nil
}
