package config

import (
	"fmt"
	"log/slog"
	"maps"

	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/ratelimit"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/web"
	"github.com/simplevalidations/simplevalidations/workflows"
	"github.com/simplevalidations/simplevalidations/workflows/start"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// App is what every installed app gives to the project.
type App interface {
	// Routes adds the app's routes to the authenticated API.
	Routes(api *echo.Group)
}

// PagesApp is an app that has pages on the dashboard.
type PagesApp interface {
	// Pages adds the app's pages, which need a session unless they are those of signing in.
	Pages(group *echo.Group)
}

// Project is the installed apps on one database and one Redis.
type Project struct {
	settings Settings
	version  string
	db       *db.DB
	redis    redis.UniversalClient
	log      *slog.Logger
	metrics  *metrics.Metrics

	staged *jobs.Signal
	edge   users.Edge

	users       *users.App
	validations *web.App
	workflows   *workflows.App

	keys       *admin.App
	search     *pages.Search
	operations *operations
	probe      databaseProbe
	// stopping is closed when the process is asked to stop; nil where nothing asks.
	stopping <-chan struct{}
	// prefetches are the look-ups that routes make together with the one of their caller's token.
	prefetches users.Prefetches

	activity  *admin.Activity
	inspector *admin.Inspector
	waiters   *execution.Waiters
	local     *execution.Local
	completer *idempotency.Completer

	userService     *users.Service
	runService      *validations.Service
	executor        *execution.Executor
	workflowService *workflows.Service
}

// requestBurst is how many seconds' worth of requests a token may send at once.
const requestBurst = 2

// Somebody who mistypes a password has some tries, and a program that guesses has one every six seconds.
const (
	signInsPerSecond = 1.0 / 6
	signInBurst      = 20
)

// NewProject installs the apps of the version.
func NewProject(
	settings Settings, version string, database *db.DB, client redis.UniversalClient, log *slog.Logger,
) (*Project, error) {
	measured := metrics.New(version)
	check := core.NewValidator()
	staged := jobs.NewSignal()
	runs, err := validations.NewService(database, settings.RunSweepAfter)
	if err != nil {
		return nil, fmt.Errorf("install validations: %w", err)
	}
	waiters := execution.NewWaiters(database)
	executor, err := newExecutor(settings, database, runs, staged, waiters, measured, log)
	if err != nil {
		return nil, err
	}
	p := &Project{
		settings: settings, version: version, db: database, redis: client, log: log, metrics: measured, staged: staged,
		edge:       edgeOf(settings),
		prefetches: users.Prefetches{},
		activity:   admin.NewActivity(), waiters: waiters,
		inspector:  admin.NewInspector(database, settings.CompleteMaxAttempts, operationNames()),
		runService: runs, executor: executor, workflowService: workflows.NewService(database, runs, check),
	}
	if p.userService, err = users.NewService(database, check); err != nil {
		return nil, fmt.Errorf("install users: %w", err)
	}
	p.local = execution.NewLocal(executor, settings.LocalRuns, settings.ShutdownGrace/workerGraceShare)
	guard := idempotency.NewGuard(database, settings.IdempotencyTTL, operationNames(), p.activity, measured.Keys)
	engine := idempotency.NewEngine(database, idempotency.EngineConfig{Lock: settings.KeyLock}, measured.Keys, log)
	limits := start.Config{CommitTimeout: settings.CommitTimeout, EngineMemory: settings.EngineMemory}
	starter := start.New(database, limits, runs, guard, p.local, staged, overage(settings, engine), measured.Starts)
	p.completer = idempotency.NewCompleter(engine, settings.CompleteMaxAttempts, starter.Flow())
	signIns := ratelimit.NewLocal("sign-ins", signInsPerSecond, signInBurst)
	if p.users, err = users.New(p.userService, guard, p.inspector, check, runs, signIns); err != nil {
		return nil, fmt.Errorf("install users: %w", err)
	}
	p.validations, err = web.New(web.Deps{
		Runs: runs, Executor: executor, Waiters: p.waiters, Keys: p.inspector,
		Usage: p.userService, Workflows: p.workflowService, Validator: check, Address: settings.Address(),
		Callbacks: withBurst("callbacks", settings.CallbacksPerSecond), StreamsPerOrg: settings.StreamsPerOrg,
	})
	if err != nil {
		return nil, fmt.Errorf("install validations: %w", err)
	}
	p.workflows, err = workflows.New(p.workflowService, p.userService, starter, waiters, guard,
		runLimiter(settings, client, log), check,
		body.DefaultLimits(settings.MaxBodyBytes), settings.Address(), p.validations, p.prefetches)
	if err != nil {
		return nil, fmt.Errorf("install workflows: %w", err)
	}
	if p.keys, err = admin.New(p.inspector, check, runs); err != nil {
		return nil, fmt.Errorf("install idempotency: %w", err)
	}
	p.search, err = pages.NewSearch(check, p.inspector, runs, p.userService, p.workflowService)
	if err != nil {
		return nil, fmt.Errorf("install the search: %w", err)
	}
	if p.operations, err = newOperations(p, check); err != nil {
		return nil, fmt.Errorf("install operations: %w", err)
	}
	return p, nil
}

func newExecutor(
	settings Settings, database *db.DB, runs *validations.Service, staged *jobs.Signal, waiters *execution.Waiters,
	measured *metrics.Metrics, log *slog.Logger,
) (*execution.Executor, error) {
	keys, err := keyring.Parse(string(settings.SecretKey))
	if err != nil {
		return nil, fmt.Errorf("read SV_SECRET_KEY: %w", err)
	}
	executor, err := execution.New(database, execution.Config{
		Lease: settings.RunLease, SweepAfter: settings.RunSweepAfter, StepTimeout: settings.StepTimeout,
		RunTimeout: settings.RunTimeout, MaxAttempts: settings.RunMaxAttempts, EngineMemory: settings.EngineMemory,
		OrgShare: settings.OrgShare,
		External: execution.ExternalConfig{Allow: settings.ExternalAllow, Address: settings.Address()},
		Keys:     keys,
	}, runs, staged, waiters, measured.Runs, log)
	if err != nil {
		return nil, fmt.Errorf("install the execution of runs: %w", err)
	}
	return executor, nil
}

func edgeOf(settings Settings) users.Edge {
	return users.Edge{
		Requests:    withBurst("requests", settings.RequestsPerSecond),
		OrgRequests: withBurst("organization-requests", settings.OrgRequestsPerSecond),
		Trust:       settings.AccessTrust,
	}
}

// runLimiter counts in memory if the process has a Redis of its own, since no other process can start runs then.
//
//nolint:ireturn // There are two kinds.
func runLimiter(settings Settings, client redis.UniversalClient, log *slog.Logger) start.RunLimiter {
	if settings.RedisURL == "" {
		return ratelimit.NewAlone("runs", settings.RunsPerMinute)
	}
	return ratelimit.NewShared(client, "runs", settings.RunsPerMinute, settings.RunsLimitTimeout, log)
}

func withBurst(name string, perSecond float64) *ratelimit.Local {
	return ratelimit.NewLocal(name, perSecond, int(perSecond*requestBurst))
}

// operationNames are those of all apps.
func operationNames() idempotency.Operations {
	names := workflows.Operations()
	maps.Copy(names, users.Operations())
	return names
}

func overage(settings Settings, engine *idempotency.Engine) *start.Overage {
	if settings.BillingURL == "" {
		return nil
	}
	return &start.Overage{
		Engine: engine, Billing: users.NewBilling(string(settings.BillingURL), string(settings.BillingSecret)),
	}
}

func (p *Project) apps() []App {
	return []App{p.users, p.validations, p.workflows, p.keys}
}

func (p *Project) pagesApps() []PagesApp {
	return []PagesApp{p.keys, p.users, p.validations, p.workflows, p.search, p.operations}
}
