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

// NewPublisher makes a Publisher, which wakes the signal when it may have staged a job.
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
	done, err := db.InPipeline(ctx, p.db, queueTurn,
		func(tx db.Tx, turn *db.Future[bool], last *db.Batch) (int, error) {
			if mine, err := turn.Get(); err != nil || !mine {
				return 0, err
			}
			published, err := publish(ctx, tx)
			if err != nil {
				return 0, err
			}
			resent, err := resend(ctx, tx)
			if err != nil {
				return 0, err
			}
			due, err := p.takeDue(ctx, tx)
			if len(due) > 0 {
				jobs.Stage(last, due...)
			}
			return published + resent + len(due), err
		})
	if err != nil {
		return 0, fmt.Errorf("publish events: %w", err)
	}
	if done > 0 {
		p.staged.Wake()
	}
	return done, nil
}
