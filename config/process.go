package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// Process is what a process runs on, and which parts of the service it plays.
type Process struct {
	Parts  health.Roles
	Queue  tasks.Redis
	Client redis.UniversalClient
	// Watch ends with an error when something under the service has died; nil where nothing is watched.
	Watch func(context.Context) error
	// Ready is called once requests are accepted.
	Ready func() error
}

// Run runs the process's parts until ctx ends or one of them fails. A process with clients continues for the
// shutdown delay after the end of ctx.
func (p *Project) Run(ctx context.Context, process Process) error {
	p.stopping = ctx.Done()
	var delay time.Duration
	if process.Parts.Plays(health.Web) {
		delay = p.settings.ShutdownDelay
	}
	running, stop := outlive(ctx, delay)
	// What has been started ends also when the rest cannot be started.
	defer stop()
	group, running := errgroup.WithContext(running)
	if process.Watch != nil {
		group.Go(func() error { return process.Watch(running) })
	}
	if err := p.startParts(running, group, process); err != nil {
		stop()
		return errors.Join(err, group.Wait())
	}
	p.logStart(ctx, process.Parts)
	group.Go(func() error {
		p.awaitStop(ctx, running, delay)
		return nil
	})
	err := group.Wait()
	p.flushLast(ctx)
	p.flushTraces(ctx)
	if err != nil {
		p.log.ErrorContext(ctx, "stopped", "error", err)
		return &cli.ExitError{Code: cli.ExitFailed}
	}
	p.log.InfoContext(ctx, "stopped")
	return nil
}

// logStart writes what an operator who reads a log has to know of the process.
func (p *Project) logStart(ctx context.Context, parts health.Roles) {
	attrs := []slog.Attr{
		slog.String("version", p.version), slog.String("role", parts.String()), slog.Int("pid", os.Getpid()),
	}
	if parts.Plays(health.Web) {
		attrs = append(attrs, slog.String("address", p.settings.Addr),
			slog.String("url", p.settings.Address()))
	}
	if metrics := p.settings.MetricsAddr; metrics != "" {
		attrs = append(attrs, slog.String("metrics", metrics))
	}
	p.log.LogAttrs(ctx, slog.LevelInfo, "started", attrs...)
}

// awaitStop logs why the process stops, once it does.
func (p *Project) awaitStop(asked, running context.Context, delay time.Duration) {
	select {
	case <-asked.Done():
		p.log.InfoContext(asked, "stopping", "reason", context.Cause(asked), "delay_ms", delay.Milliseconds(),
			"grace_ms", p.settings.ShutdownGrace.Milliseconds())
	case <-running.Done():
		p.log.ErrorContext(running, "stopping", "reason", context.Cause(running))
	}
}

func (p *Project) startParts(ctx context.Context, group *errgroup.Group, process Process) error {
	heart, err := p.heartbeat(process.Parts)
	if err != nil {
		return err
	}
	if process.Parts.Plays(health.Web) {
		if err := p.startWeb(ctx, group); err != nil {
			return err
		}
	}
	if err := p.startMetrics(ctx, group, process.Parts, heart); err != nil {
		return err
	}
	if err := p.startBackground(ctx, group, process, heart); err != nil {
		return err
	}
	group.Go(func() error { return heart.Run(ctx, p.log) })
	return process.Ready()
}

func (p *Project) startWeb(ctx context.Context, group *errgroup.Group) error {
	router, err := NewRouter(p) //nolint:contextcheck // a handler has the context of its request
	if err != nil {
		return err
	}
	listener, err := edge.Listen(ctx, p.settings.Addr)
	if err != nil {
		return fmt.Errorf("serve (SV_ADDR sets another address): %w", err)
	}
	handler := p.retireConnections(router)
	group.Go(func() error { return edge.Serve(ctx, listener, handler, p.settings.Edge(), p.log) })
	return nil
}

// outlive returns a context that ends the delay after ctx does.
func outlive(ctx context.Context, delay time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-time.After(delay):
		case <-later.Done():
		}
		cancel()
	})
	return later, cancel
}

// isStopping reports whether the process was asked to stop. Until the shutdown delay is over it answers requests, and
// its readiness probe fails, so that load balancers send new ones elsewhere.
func (p *Project) isStopping() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// retireConnections ends the connection of each request that arrives while the process stops. The client opens another
// one, which a load balancer gives to another process.
func (p *Project) retireConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.isStopping() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
