package config

import (
	"context"
	"net/http"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// DemoOrg is an organization of the demonstration, for tests.
type DemoOrg = demoOrg

// Headroom is what the served process keeps free of garbage collections.
const Headroom = headroom

// Cast is the demonstration and the services behind the API, for tests that prepare and look behind it.
type Cast struct {
	Harbour, Tiny DemoOrg

	Users     *users.Service
	Runs      *validations.Service
	Executor  *execution.Executor
	Workflows *workflows.Service
	Waiters   *execution.Waiters
	Local     *execution.Local
	Completer *idempotency.Completer
	Activity  *admin.Activity
	Redis     redis.UniversalClient
}

// SeedTenants makes the organizations of the demonstration.
func (p *Project) SeedTenants(ctx context.Context) ([]DemoOrg, error) { return p.seedTenants(ctx) }

// Cast returns the services behind the API, with the organizations that were seeded.
func (p *Project) Cast(orgs []DemoOrg) Cast {
	return Cast{
		Harbour: orgs[0], Tiny: orgs[1],
		Users: p.userService, Runs: p.runService, Executor: p.executor, Workflows: p.workflowService, Redis: p.redis,
		Waiters: p.waiters, Local: p.local, Completer: p.completer, Activity: p.activity,
	}
}

// Measured collects what a scrape of the process tells, and returns what it has measured and what answers the scrape.
func (p *Project) Measured(ctx context.Context) (*metrics.Metrics, http.Handler, error) {
	figures, err := p.collect()
	if err != nil {
		return nil, nil, err
	}
	handler := newMetricsRouter(p) //nolint:contextcheck // a handler has the context of its request
	return p.metrics, handler, figures.Refresh(ctx)
}

// Command is the command line.
func (p Program) Command() *cobra.Command { return p.command() }

// WithSecretKey returns the settings with the key of the data folder.
func (s Settings) WithSecretKey() (Settings, error) { return s.withSecretKey() }
