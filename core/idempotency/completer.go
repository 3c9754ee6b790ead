package idempotency

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

const (
	// completeBatch is how many keys are driven at once.
	completeBatch = 8
	// completeTimeout bounds one try, so that a stuck key never keeps the others waiting for long.
	completeTimeout = 30 * time.Second
	// completeBackOff doubles with each try of a key, up to completeMaxBackOff.
	completeBackOff    = 2 * time.Second
	completeMaxBackOff = 10 * time.Minute
)

// Completer finishes requests that were abandoned between phases.
type Completer struct {
	engine      *Engine
	maxAttempts int
	flows       map[Endpoint]Flow
}

// NewCompleter makes a Completer for the flows. It tries a key maxAttempts times and then leaves it to people.
func NewCompleter(engine *Engine, maxAttempts int, flows ...Flow) *Completer {
	byEndpoint := make(map[Endpoint]Flow, len(flows))
	for _, flow := range flows {
		byEndpoint[flow.Endpoint] = flow
	}
	return &Completer{engine: engine, maxAttempts: maxAttempts, flows: byEndpoint}
}

// RunOnce drives keys to their end whose request was abandoned between phases, without their clients,
// and returns how many it took. It acts with the authorization that the request had when it was accepted.
//
// Keys that fail are tried again later and later, the longest untried first, so that they never keep
// others from their turn.
func (c *Completer) RunOnce(ctx context.Context) (int, error) {
	abandoned, err := c.takeAbandoned(ctx)
	if err != nil {
		return 0, err
	}
	c.engine.figures.TakenOver(metrics.RescuerCompleter, len(abandoned))
	var trying sync.WaitGroup
	for _, record := range abandoned {
		trying.Go(func() { c.complete(ctx, record) })
	}
	trying.Wait()
	return len(abandoned), nil
}

func (c *Completer) complete(ctx context.Context, record Record) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	if _, err := c.engine.Drive(ctx, c.flows[record.Endpoint], record); err != nil {
		c.engine.log.WarnContext(ctx, "key not completed", "key_id", record.ID, "point", record.Point, "error", err)
		return
	}
	c.engine.log.InfoContext(ctx, "completed an abandoned request", "key_id", record.ID, "point", record.Point)
}

// takeAbandoned takes the locks of keys that nobody holds, each under its next epoch, and counts the try.
func (c *Completer) takeAbandoned(ctx context.Context) ([]Record, error) {
	return db.InTx(ctx, c.engine.db, func(tx db.Tx) ([]Record, error) {
		rows, err := tx.Query(ctx, `
			WITH abandoned AS (
				SELECT org_id AS org, id AS key_id FROM idempotency_keys
				WHERE recovery_point <> 'finished' AND locked_until <= now() AND attempts < $1
					AND (retry_at IS NULL OR retry_at <= now())
				ORDER BY retry_at NULLS FIRST, locked_until LIMIT $2 FOR UPDATE SKIP LOCKED)
			UPDATE idempotency_keys SET epoch = epoch + 1, attempts = attempts + 1,
				locked_until = now() + $3::bigint * interval '1 millisecond',
				retry_at = now() + least($4::float8 * power(2, least(attempts, 30)), $5::float8) * interval '1 second'
			FROM abandoned WHERE org_id = org AND id = key_id
			RETURNING `+recordColumns,
			c.maxAttempts, completeBatch, c.engine.cfg.Lock.Milliseconds(),
			completeBackOff.Seconds(), completeMaxBackOff.Seconds())
		if err != nil {
			return nil, fmt.Errorf("find abandoned keys: %w", err)
		}
		records, err := pgx.CollectRows(rows, scanRecord)
		if err != nil {
			return nil, fmt.Errorf("find abandoned keys: %w", err)
		}
		return records, nil
	})
}
