package config

import (
	"context"
	"errors"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// Measured collects what a scrape of the process tells, and returns what it has measured and what answers the scrape.
func (p *Project) Measured(ctx context.Context) (*metrics.Metrics, http.Handler, error) {
	figures, err := p.collect(health.AllRoles())
	if err != nil {
		return nil, nil, err
	}
	handler := newMetricsRouter(p) //nolint:contextcheck // a handler has the context of its request
	return p.metrics, handler, figures.Refresh(ctx)
}

// Enqueue hands staged jobs to the queue once, as the loop of a worker does.
func (p *Project) Enqueue(ctx context.Context, client redis.UniversalClient) (int, error) {
	for _, loop := range p.loops(health.Roles{health.Worker}, client) {
		if loop.Name == health.LoopEnqueuer {
			return loop.RunOnce(ctx)
		}
	}
	return 0, errors.New("a worker has no enqueuer")
}

// FlushTraces sends the spans that have ended.
func (p *Project) FlushTraces(ctx context.Context) error { return p.tracer.Flush(ctx) }

// Stopping returns the handler of the project in a process that has been asked to stop.
func Stopping(p *Project, router http.Handler) http.Handler {
	asked := make(chan struct{})
	close(asked)
	p.stopping = asked
	return p.retireConnections(router)
}
