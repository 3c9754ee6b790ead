package config

import (
	"context"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// gaugesInterval bounds the age of the gauges that a scrape gets from the database.
const gaugesInterval = 10 * time.Second

// startMetrics serves what the process measures, and its probes, on a listener of their own. It does nothing where no
// address is set.
func startMetrics(
	ctx context.Context, group *errgroup.Group, project *Project, heart *tasks.Heartbeat,
) error {
	if project.settings.MetricsAddr == "" {
		return nil
	}
	gauges, err := project.collect()
	if err != nil {
		return err
	}
	listener, err := Listen(ctx, project.settings.MetricsAddr)
	if err != nil {
		return fmt.Errorf("serve metrics (SV_METRICS_ADDR sets another address): %w", err)
	}
	refreshing := heart.Follow(tasks.Loop{
		Name: "gauges", Interval: gaugesInterval,
		RunOnce: func(ctx context.Context) (int, error) { return 0, gauges.Refresh(ctx) },
	})
	handler := newMetricsRouter(project) //nolint:contextcheck // a handler has the context of its request
	group.Go(func() error { return refreshing.Run(ctx, project.log) })
	group.Go(func() error { return ServeWeb(ctx, listener, handler, project.settings, project.log) })
	return nil
}

// newMetricsRouter answers operators alone, so it asks for no token.
func newMetricsRouter(project *Project) *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = core.HandleError(project.log, core.WriteProblem)
	e.Pre(trailingSlash)
	e.Use(core.RequestIDs())
	registerHealth(e, project)
	e.GET("/metrics/", echo.WrapHandler(project.metrics.Handler()))
	return e
}

// collect adds what is read to what is counted.
func (p *Project) collect() (*metrics.Collected, error) {
	gauges := metrics.NewCollected(metrics.Source{
		Database: p.readGauges,
		Archived: func(ctx context.Context) (int64, error) { return tasks.CountArchived(ctx, p.redis) },
	})
	if err := p.metrics.Registry().Register(gauges); err != nil {
		return nil, fmt.Errorf("collect gauges: %w", err)
	}
	if err := p.metrics.Registry().Register(metrics.NewPool(p.db.Pool)); err != nil {
		return nil, fmt.Errorf("collect the pool: %w", err)
	}
	return gauges, nil
}

func (p *Project) readGauges(ctx context.Context) (metrics.Gauges, error) {
	counts, err := p.inspector.KeyCounts(ctx)
	if err != nil {
		return metrics.Gauges{}, err
	}
	backlog, err := tasks.ReadBacklog(ctx, p.db)
	if err != nil {
		return metrics.Gauges{}, err
	}
	keys := make(map[string]int64, len(counts.ByState))
	for state, count := range counts.ByState {
		keys[string(state)] = count
	}
	return metrics.Gauges{
		KeysByState: keys, OldestLocked: counts.OldestUnfinished,
		OutboxPending: backlog.Pending, OutboxOldest: backlog.Oldest, DeadLetters: backlog.DeadLetters,
	}, nil
}
