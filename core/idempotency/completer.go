package idempotency

import (
	"context"
	"sync"
	"time"

	"github.com/simplevalidations/simplevalidations/core/metrics"
)

const (
	// completeBatch is how many keys are driven at once.
	completeBatch = 8
	// completeTimeout bounds one try, so that a stuck key never delays the others for long.
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

// NewCompleter makes a Completer for the flows. After maxAttempts tries a key is a dead letter, which waits for its
// client or for an administrator.
func NewCompleter(engine *Engine, maxAttempts int, flows ...Flow) *Completer {
	byEndpoint := make(map[Endpoint]Flow, len(flows))
	for _, flow := range flows {
		byEndpoint[flow.Endpoint] = flow
	}
	return &Completer{engine: engine, maxAttempts: maxAttempts, flows: byEndpoint}
}

// RunOnce drives a batch of abandoned keys to their end without their clients, and returns how many it took. It acts
// with the authorization that the request had when it was accepted.
//
// A key that fails is tried again 2 seconds after its try began, then after twice as long each time, up to 10 minutes.
// The key that has waited longest comes first, so failing keys never starve the others. A batch has 8 keys at most, and
// each try ends after 30 seconds.
func (c *Completer) RunOnce(ctx context.Context) (int, error) {
	abandoned, err := c.takeAbandoned(ctx)
	if err != nil {
		return 0, err
	}
	c.engine.metrics.TakenOver(metrics.RescuerCompleter, len(abandoned))
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
	// An endpoint that this release does not know has no phases. Drive then fails, and another release may try the key.
	if _, err := c.engine.Drive(ctx, c.flows[record.Endpoint], record); err != nil {
		c.engine.log.WarnContext(ctx, "key not completed", "key_id", record.ID, "point", record.Point, "error", err)
		return
	}
	c.engine.log.InfoContext(ctx, "completed an abandoned request", "key_id", record.ID, "point", record.Point)
}
