// Package config is the wiring: the settings, the apps on one database and one Redis, the router, and the parts that a
// process runs.
package config

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/mail"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/core/tracing"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/users/signin"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/external"
	"github.com/simplevalidations/simplevalidations/validations/insights"
	"github.com/simplevalidations/simplevalidations/validations/objects"
	"github.com/simplevalidations/simplevalidations/validations/progress"
	"github.com/simplevalidations/simplevalidations/validations/web"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
	"github.com/simplevalidations/simplevalidations/workflows"
	"github.com/simplevalidations/simplevalidations/workflows/editor"
	"github.com/simplevalidations/simplevalidations/workflows/start"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// Project is the installed apps on one database and one Redis.
type Project struct {
	settings Settings
	version  string
	db       *db.DB
	redis    redis.UniversalClient
	log      *slog.Logger
	metrics  *metrics.Metrics
	tracer   *tracing.Tracer

	staged *jobs.Signal
	edge   access.Edge
	// limits are the rate limits that count in this process.
	limits []*share.LocalRate

	users       *users.App
	validations *web.App
	workflows   *workflows.App
	editor      *editor.App

	keys     *admin.App
	requests *requestlog.App
	webhooks *webhooks.App
	search   *pages.Search
	console  *health.App
	trial    *edge.Trial
	probe    databaseProbe
	// stopping is closed when the process is asked to stop; nil where nothing asks.
	stopping <-chan struct{}

	activity   *admin.Activity
	requestLog *requestlog.Log
	inspector  *admin.Inspector
	waiters    *progress.Waiters
	local      *execution.Local
	completer  *idempotency.Completer

	// store has large documents; nil where the database has them.
	store           *objects.Store
	userService     *users.Service
	runService      *validations.Service
	insights        *insights.Reader
	signing         *external.Keys
	executor        *execution.Executor
	workflowService *workflows.Service
	publisher       *webhooks.Publisher
	deliverer       *webhooks.Deliverer
}

// requestBurst is how many seconds' worth of requests a token may send at once.
const requestBurst = 2

// A person who mistypes a password has some attempts, and a program that guesses has one every six seconds.
const (
	signInsPerSecond = 1.0 / 6
	signInBurst      = 20
)

// An author who tries a workflow on samples has a check every two seconds, and some more at once.
const (
	samplesPerSecond = 0.5
	samplesBurst     = 30
)

// completeMaxAttempts is how often an abandoned key is tried before it is a dead letter.
const completeMaxAttempts = 20

// NewProject installs the apps of the version.
func NewProject(
	ctx context.Context, settings Settings, version string, database *db.DB, client redis.UniversalClient,
	log *slog.Logger,
) (*Project, error) {
	tracer, err := tracing.Open(ctx, settings.OTLPEndpoint, version, log)
	if err != nil {
		return nil, err
	}
	log = tracer.Log(log)
	measured := metrics.New(version)
	check := core.NewValidator()
	staged := jobs.NewSignal()
	runs, store, err := newRuns(settings, database)
	if err != nil {
		return nil, fmt.Errorf("install validations: %w", err)
	}
	ring, err := keyring.Parse(string(settings.SecretKey))
	if err != nil {
		return nil, fmt.Errorf("read SV_SECRET_KEY: %w", err)
	}
	keys, waiters := external.NewKeys(database, ring), progress.NewWaiters(database)
	executor, err := execution.New(database, executionConfig(settings, keys, tracer), runs, staged, waiters,
		measured.Runs, log)
	if err != nil {
		return nil, fmt.Errorf("install the execution of runs: %w", err)
	}
	p := &Project{
		settings: settings, version: version, db: database, redis: client, log: log, metrics: measured, staged: staged,
		tracer:   tracer,
		activity: admin.NewActivity(), waiters: waiters,
		inspector: admin.NewInspector(database, completeMaxAttempts, operationNames()),
		store:     store, runService: runs, insights: insights.New(database, runs), signing: keys, executor: executor,
		workflowService: workflows.NewService(database, runs, check),
	}
	if p.userService, err = newUsers(settings, ring, database, staged, check); err != nil {
		return nil, fmt.Errorf("install users: %w", err)
	}
	p.requestLog = requestlog.New(database, p.userService.Access, settings.RequestLogRate, measured.Requests)
	p.local = execution.NewLocal(executor, settings.LocalRuns, settings.ShutdownGrace/workerGraceShare)
	guard := idempotency.NewGuard(database, settings.IdempotencyTTL, operationNames(), p.activity, measured.Keys)
	engine := idempotency.NewEngine(database, idempotency.EngineConfig{Lock: settings.KeyLock}, measured.Keys, log)
	limits := start.Config{
		CommitTimeout: settings.CommitTimeout, EngineMemory: settings.EngineMemory, Tracer: tracer,
	}
	starter := start.New(database, limits, runs, guard, p.local, staged, overage(settings, engine), measured.Starts)
	p.completer = idempotency.NewCompleter(engine, completeMaxAttempts, starter.Flow())
	p.edge = p.newEdge()
	signIns := p.limit("sign-ins", signInsPerSecond, signInBurst)
	if p.users, err = users.New(p.userService, guard, p.inspector, check, p.insights, signIns); err != nil {
		return nil, fmt.Errorf("install users: %w", err)
	}
	if err := p.installValidations(ring, guard, check); err != nil {
		return nil, fmt.Errorf("install validations: %w", err)
	}
	if err := p.installWorkflows(starter, guard, check); err != nil {
		return nil, fmt.Errorf("install workflows: %w", err)
	}
	if err := p.installViews(check); err != nil {
		return nil, err
	}
	return p, nil
}

func newRuns(settings Settings, database *db.DB) (*validations.Service, *objects.Store, error) {
	store, err := objects.Open(string(settings.ContentURL))
	if err != nil {
		return nil, nil, err
	}
	runs, err := validations.NewService(database, store, settings.RunSweepAfter)
	return runs, store, err
}

func (p *Project) newEdge() access.Edge {
	return access.Edge{
		Requests:    p.withBurst("requests", p.settings.RequestsPerSecond),
		OrgRequests: p.withBurst("organization-requests", p.settings.OrgRequestsPerSecond),
		Trust:       p.settings.AccessTrust,
	}
}

// installValidations adds runs, and the webhooks that tell of them.
func (p *Project) installValidations(ring keyring.Ring, guard *idempotency.Guard, check *core.Validator) error {
	hooks, recent := webhooks.NewService(p.db, ring), p.users.SignIn.RequireRecentSignIn
	sending := webhooks.Config{
		Ring: ring, Allow: p.settings.ExternalAllow, Retries: p.settings.WebhookRetries,
		Timeout: p.settings.WebhookTimeout,
	}
	p.publisher = webhooks.NewPublisher(p.db, sending, p.staged)
	p.deliverer = webhooks.NewDeliverer(p.db, sending, p.metrics.Webhooks, p.log)
	var err error
	if p.webhooks, err = webhooks.New(hooks, guard, check, p.workflowService, recent); err != nil {
		return err
	}
	p.validations, err = web.New(web.Deps{
		Runs: p.runService, Insights: p.insights, Signing: p.signing, Executor: p.executor, Waiters: p.waiters,
		Keys: p.inspector, Usage: p.userService.Quota, Users: p.userService, Workflows: p.workflowService,
		Webhooks: hooks, Validator: check, Address: p.settings.Address(),
		Callbacks: p.withBurst("callbacks", p.settings.CallbacksPerSecond), StreamsPerOrg: p.settings.StreamsPerOrg,
		RequireRecentSignIn: recent,
	})
	return err
}

func (p *Project) installWorkflows(starter *start.Starter, guard *idempotency.Guard, check *core.Validator) error {
	parser, err := p.workflowService.NewParser()
	if err != nil {
		return err
	}
	p.workflows, err = workflows.New(workflows.Deps{
		Service: p.workflowService, Insights: p.insights, Usage: p.userService.Quota, Starter: starter,
		Waiters: p.waiters, Guard: guard,
		Limiter: p.runLimiter(), Validator: check,
		Limits: body.DefaultLimits(p.settings.MaxBodyBytes), Address: p.settings.Address(), RunPages: p.validations,
		Files: parser,
	})
	if err != nil {
		return err
	}
	p.editor, err = editor.New(editor.Deps{
		DB: p.db, Workflows: p.workflowService, Guard: guard, Files: parser, Address: p.settings.Address(),
		Samples: editor.NewSamples(p.limit("samples", samplesPerSecond, samplesBurst)),
	})
	return err
}

// installViews adds the pages and views that show several apps.
func (p *Project) installViews(check *core.Validator) error {
	var err error
	if p.keys, err = admin.New(p.inspector, check, p.insights, p.userService.Access); err != nil {
		return fmt.Errorf("install idempotency: %w", err)
	}
	requests := requestlog.NewReader(p.db)
	if p.requests, err = requestlog.NewApp(requests, p.userService.Access, check, operationNames()); err != nil {
		return fmt.Errorf("install the log of requests: %w", err)
	}
	p.search, err = pages.NewSearch(check, p.inspector, p.runService, p.userService.Access, p.workflowService)
	if err != nil {
		return fmt.Errorf("install the search: %w", err)
	}
	if p.console, err = newConsole(p, check); err != nil {
		return fmt.Errorf("install the console: %w", err)
	}
	if p.trial, err = edge.NewTrial(p.settings.MaxBodyBytes); err != nil {
		return fmt.Errorf("install the trial of the API: %w", err)
	}
	return nil
}

func newConsole(p *Project, check *core.Validator) (*health.App, error) {
	return health.New(health.Deps{
		Version: p.version, DB: p.db, Redis: p.redis, Keys: p.inspector, Runs: p.runService,
		Insights: p.insights, Executor: p.executor, Users: p.userService, Endpoints: operationNames(),
		Checks: Examination{Settings: p.settings, DB: p.db, Redis: p.redis}.Checks, Validator: check, Log: p.log,
	})
}

func newUsers(
	settings Settings, ring keyring.Ring, database *db.DB, staged *jobs.Signal, check *core.Validator,
) (*users.Service, error) {
	cfg := users.Config{Address: settings.Address(), Cell: settings.Cell}
	cfg.Keys, cfg.Staged = ring, staged
	if settings.SMTPURL != "" {
		var err error
		if cfg.Mail, err = newSender(settings); err != nil {
			return nil, err
		}
	}
	if settings.OIDCIssuer != "" {
		cfg.OpenID = signin.NewOpenID(signin.OpenIDConfig{
			Issuer: settings.OIDCIssuer, ClientID: settings.OIDCClientID, Secret: string(settings.OIDCClientSecret),
			Domains: settings.OIDCDomains, CreateUsers: settings.OIDCCreateUsers, Address: settings.Address(),
		})
	}
	return users.NewService(database, check, cfg)
}

func newSender(settings Settings) (*mail.Sender, error) {
	sender, err := mail.New(mail.Config{URL: string(settings.SMTPURL), From: settings.MailFrom})
	if err != nil {
		return nil, fmt.Errorf("set up mail: %w", err)
	}
	return sender, nil
}

func executionConfig(settings Settings, keys *external.Keys, tracer *tracing.Tracer) execution.Config {
	return execution.Config{
		Lease: settings.RunLease, SweepAfter: settings.RunSweepAfter, StepTimeout: settings.StepTimeout,
		RunTimeout: settings.RunTimeout, MaxAttempts: settings.RunMaxAttempts, EngineMemory: settings.EngineMemory,
		External: execution.ExternalConfig{Allow: settings.ExternalAllow, Address: settings.Address()},
		Signing:  keys, Tracer: tracer,
	}
}

// runLimiter counts in memory if the process has a Redis of its own: no other process can start runs then, and a script
// in that Redis would cost a start more than the rest of its checks.
//
//nolint:ireturn // There are two kinds.
func (p *Project) runLimiter() core.Limiter {
	if p.settings.RedisURL == "" {
		return p.limit("runs", float64(p.settings.RunsPerMinute)/time.Minute.Seconds(), p.settings.RunsPerMinute)
	}
	return share.NewSharedRate(p.redis, "runs", p.settings.RunsPerMinute, p.settings.RunsLimitTimeout, p.log)
}

func (p *Project) withBurst(name string, perSecond float64) *share.LocalRate {
	return p.limit(name, perSecond, int(perSecond*requestBurst))
}

func (p *Project) limit(name string, perSecond float64, burst int) *share.LocalRate {
	limit := share.NewLocalRate(name, perSecond, burst)
	p.limits = append(p.limits, limit)
	return limit
}

// StopLimits stops the time of the rate limits that count in this process, for tests. It must be called before the
// project serves.
func (p *Project) StopLimits() {
	for _, limit := range p.limits {
		limit.StopClock()
	}
}

// operationNames are those of all apps.
func operationNames() idempotency.Operations {
	names := workflows.Operations()
	maps.Copy(names, users.Operations())
	maps.Copy(names, webhooks.Operations())
	return names
}

func overage(settings Settings, engine *idempotency.Engine) *start.Overage {
	if settings.BillingURL == "" {
		return nil
	}
	return &start.Overage{
		Engine: engine, Billing: quota.NewBilling(string(settings.BillingURL), string(settings.BillingSecret)),
	}
}

// Services do the work behind the routes of a project, for programs that need no HTTP.
type Services struct {
	Users     *users.Service
	Workflows *workflows.Service
	Runs      *validations.Service
	Signing   *external.Keys
	Executor  *execution.Executor
	Waiters   *progress.Waiters
	Local     *execution.Local
	Completer *idempotency.Completer
	Inspector *admin.Inspector
	Activity  *admin.Activity
	Requests  *requestlog.Log
	Publisher *webhooks.Publisher
	Deliverer *webhooks.Deliverer
}

// Services returns the services of the project, which its routes use, too.
func (p *Project) Services() Services {
	return Services{
		Users: p.userService, Workflows: p.workflowService, Runs: p.runService, Signing: p.signing,
		Executor: p.executor, Waiters: p.waiters, Local: p.local, Completer: p.completer, Inspector: p.inspector,
		Activity: p.activity, Publisher: p.publisher, Deliverer: p.deliverer,
		Requests: p.requestLog,
	}
}
