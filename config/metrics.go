package config

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
)

// gaugesInterval bounds the age of the gauges that a scrape gets from the database.
const gaugesInterval = 10 * time.Second

// startMetrics serves what the process measures, and its probes, on a listener of their own. It does nothing where no
// address is set.
func (p *Project) startMetrics(
	ctx context.Context, group *errgroup.Group, parts health.Roles, heart *tasks.Heartbeat,
) error {
	if p.settings.MetricsAddr == "" {
		return nil
	}
	gauges, err := p.collect(parts)
	if err != nil {
		return err
	}
	listener, err := edge.Listen(ctx, p.settings.MetricsAddr)
	if err != nil {
		return fmt.Errorf("serve metrics (SV_METRICS_ADDR sets another address): %w", err)
	}
	refreshing := heart.Follow(tasks.Loop{
		Name: "gauges", Interval: gaugesInterval,
		RunOnce: func(ctx context.Context) (int, error) { return 0, gauges.Refresh(ctx) },
	})
	handler := newMetricsRouter(p) //nolint:contextcheck // a handler has the context of its request
	group.Go(func() error { return refreshing.Run(ctx, p.log) })
	group.Go(func() error { return edge.Serve(ctx, listener, handler, p.settings.Edge(), p.log) })
	return nil
}

// newMetricsRouter serves a listener that only operators reach, so it asks for no token.
func newMetricsRouter(project *Project) *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = core.HandleError(project.log, core.WriteProblem)
	e.Pre(edge.OneAddress)
	e.Use(core.RequestIDs())
	registerHealth(e, project)
	registerProfiles(e)
	e.GET("/metrics/", echo.WrapHandler(project.metrics.Handler()))
	return e
}

// registerProfiles adds what "go tool pprof" reads.
func registerProfiles(e *echo.Echo) {
	own := e.Group("/debug/pprof/", fromThisMachine)
	own.GET("cmdline/", echo.WrapHandler(http.HandlerFunc(pprof.Cmdline)))
	own.GET("profile/", echo.WrapHandler(http.HandlerFunc(pprof.Profile)))
	own.GET("symbol/", echo.WrapHandler(http.HandlerFunc(pprof.Symbol)))
	own.GET("trace/", echo.WrapHandler(http.HandlerFunc(pprof.Trace)))
	own.GET("", echo.WrapHandler(http.HandlerFunc(pprof.Index)))
	own.GET(":profile/", func(c echo.Context) error {
		pprof.Handler(c.Param("profile")).ServeHTTP(c.Response(), c.Request())
		return nil
	})
}

// fromThisMachine refuses requests from elsewhere. The metrics may be open to a network, but a profile costs processor
// time, and shows the arguments of the process.
func fromThisMachine(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		peer, err := netip.ParseAddrPort(c.Request().RemoteAddr)
		if err != nil || !peer.Addr().Unmap().IsLoopback() {
			return core.PermissionDenied("Profiles are served to this machine only. Use a tunnel to it.")
		}
		return next(c)
	}
}

// collect adds what is read to what is counted.
func (p *Project) collect(parts health.Roles) (*metrics.Collected, error) {
	gauges := metrics.NewCollected(p.readGauges, func(ctx context.Context) (metrics.Gauges, error) {
		archived, err := tasks.CountArchived(ctx, p.redis)
		var found metrics.Gauges
		found.Add("sv_jobs_dead", helpOfDead, float64(archived), "place", "queue")
		return found, err
	})
	engines := metrics.Engines(p.executor.Places, p.executor.Memory, p.local.Usage)
	for _, collector := range append(engines, gauges, metrics.NewPool(p.db.Pool), p.metrics.Build(parts.String())) {
		if err := p.metrics.Registry().Register(collector); err != nil {
			return nil, fmt.Errorf("register a collector: %w", err)
		}
	}
	return gauges, nil
}

// helpOfDead describes a gauge that has a value from the database, and one from the queue.
const helpOfDead = "Jobs that wait for an operator, by where they are."

// readGauges reads what the database knows. What is counted one by one is counted up to a limit.
func (p *Project) readGauges(ctx context.Context) (metrics.Gauges, error) {
	counts, err := p.inspector.KeyCounts(ctx)
	if err != nil {
		return nil, err
	}
	backlog, err := tasks.ReadBacklog(ctx, p.db)
	if err != nil {
		return nil, err
	}
	workload, err := p.insights.Workload(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := webhooks.ReadState(ctx, p.db)
	if err != nil {
		return nil, err
	}
	processes, err := tasks.Processes(ctx, p.db, health.MaxProcesses)
	if err != nil {
		return nil, err
	}
	var found metrics.Gauges
	for state, count := range counts.ByState {
		found.Add("sv_idempotency_keys",
			"Idempotency keys by state; unfinished ones up to 10000, finished ones estimated.",
			float64(count), "state", string(state))
	}
	found.Add("sv_idempotency_oldest_locked_age_seconds", "Age of the oldest unfinished key that is not dead.",
		counts.OldestUnfinished.Seconds())
	found.Add("sv_outbox_pending", "Staged jobs that wait for the queue, up to 10000.", float64(backlog.Pending))
	found.Add("sv_outbox_oldest_age_seconds", "Age of the oldest staged job that waits for the queue.",
		backlog.Oldest.Seconds())
	found.Add("sv_jobs_dead", helpOfDead, float64(backlog.DeadLetters), "place", "outbox")
	found.Add("sv_runs_pending", "Runs that wait for a worker, up to 10000.", float64(workload.Pending))
	found.Add("sv_runs_oldest_pending_age_seconds", "Age of the oldest run that waits for a worker.",
		workload.OldestPending.Seconds())
	found.Add("sv_runs_executing", "Runs that are executed, up to 10000.", float64(workload.Executing))
	const ofWebhooks = "Webhooks that are not disabled, by whether their last attempt has failed."
	found.Add("sv_webhooks", ofWebhooks, float64(hooks.Active-hooks.Failing), "state", "working")
	found.Add("sv_webhooks", ofWebhooks, float64(hooks.Failing), "state", "failing")
	found.Add("sv_webhooks_late_seconds", "How long a webhook has been due that no process delivers to.",
		hooks.Late.Seconds())
	health.AddGauges(&found, processes)
	return found, nil
}
