package health

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/migrations"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/insights"
)

//go:embed templates/operations/*.html
var operationsTemplates embed.FS

const (
	// maxIncidents is how many incidents of each kind are listed.
	maxIncidents = 100
	// pingTimeout bounds how long the page waits for Redis.
	pingTimeout = 2 * time.Second
	// recordTimeout bounds the writing of a failure into the audit log.
	recordTimeout = 5 * time.Second
)

// Deps are what the page shows and acts on. It shows all apps: the outbox and the queues, the keys and the runs of
// every organization, the schema and the release.
type Deps struct {
	Version   string
	DB        *db.DB
	Redis     redis.UniversalClient
	Keys      *admin.Inspector
	Runs      *validations.Service
	Insights  *insights.Reader
	Executor  *execution.Executor
	Users     *users.Service
	Endpoints idempotency.Operations
	// Checks examine the settings and the servers.
	Checks    func(context.Context) []Check
	Validator *core.Validator
	Log       *slog.Logger
}

// App is the page for operators.
type App struct {
	Deps

	queues *tasks.Queues
	pages  *pages.Set
}

// New makes the page.
func New(deps Deps) (*App, error) {
	set, err := pages.Parse(operationsTemplates, "templates/operations")
	if err != nil {
		return nil, err
	}
	return &App{Deps: deps, queues: tasks.NewQueues(deps.Redis), pages: set}, nil
}

// Pages adds the page to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET("/operations/", forOperators(a.show))
	web.POST("/operations/", forOperators(a.act))
}

// forOperators answers not_found to everybody but operators.
func forOperators(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if visitor, _ := pages.VisitorFrom(c.Request().Context()); !visitor.Operator {
			return core.NewError(api.CodeNotFound, "There is no such page.")
		}
		return next(c)
	}
}

// systemState is the state of the whole service, as the page shows it.
type systemState struct {
	Version string
	// Applied counts the migrations that were applied, and Migrations all of them.
	Applied, Migrations int64
	Backlog             tasks.Backlog
	// RedisProblem is the error of a Redis that does not answer; "" when it does.
	RedisProblem string
	Processes    processesView
	Checks       []Check
}

// readState reads what the database knows.
func (a *App) readState(ctx context.Context) (systemState, error) {
	found := systemState{Version: a.Version}
	states, err := migrations.Status(ctx, a.DB.SQL)
	if err != nil {
		return found, err
	}
	found.Migrations = int64(len(states))
	for _, state := range states {
		if state.Applied {
			found.Applied++
		}
	}
	if found.Backlog, err = tasks.ReadBacklog(ctx, a.DB); err != nil {
		return found, err
	}
	processes, err := tasks.Processes(ctx, a.DB, MaxProcesses)
	found.Processes = newProcessesView(processes)
	return found, err
}

// failedTasks lists the tasks that have failed for the last time. The page is shown without Redis, too.
func (a *App) failedTasks(ctx context.Context, found *systemState) []incident {
	err := a.pingRedis(ctx)
	var archived []tasks.ArchivedTask
	if err == nil {
		archived, err = a.queues.Archived(maxIncidents)
	}
	if err != nil {
		found.RedisProblem = err.Error()
		return nil
	}
	incidents := make([]incident, len(archived))
	for i, task := range archived {
		incidents[i] = incidentOfTask(task)
	}
	return incidents
}

// pingRedis fails soon where Redis is away, because asynq's inspector takes no deadline.
func (a *App) pingRedis(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return a.Redis.Ping(ctx).Err()
}

// incidents lists the keys, runs and jobs of all organizations that need an operator.
func (a *App) incidents(ctx context.Context) ([]incident, error) {
	keys, err := a.Keys.StuckEverywhere(ctx, maxIncidents)
	if err != nil {
		return nil, err
	}
	runs, err := a.Insights.LateEverywhere(ctx, maxIncidents)
	if err != nil {
		return nil, err
	}
	letters, err := tasks.DeadLetters(ctx, a.DB, maxIncidents)
	if err != nil {
		return nil, err
	}
	var all []incident
	for _, key := range keys {
		all = append(all, incidentOfKey(key, a.Endpoints))
	}
	for _, run := range runs {
		all = append(all, incidentOfRun(run))
	}
	for _, job := range letters {
		all = append(all, incidentOfJob(job))
	}
	return all, nil
}

// nameOrganizations adds the slugs of their organizations to incidents.
func (a *App) nameOrganizations(ctx context.Context, incidents []incident) error {
	var ids []uuid.UUID
	for _, t := range incidents {
		ids = append(ids, t.orgID)
	}
	slugs, err := a.Users.Slugs(ctx, ids)
	if err != nil {
		return err
	}
	for i := range incidents {
		incidents[i].Org = slugs[incidents[i].orgID]
	}
	return nil
}

// target names an incident in a form, as KIND:SCOPE:ID. The scope is an organization, or a queue.
type target struct {
	kind      incidentKind
	scope, id string
}

func (t target) String() string { return string(t.kind) + ":" + t.scope + ":" + t.id }

func parseTarget(text string) (target, bool) {
	const parts = 3
	split := strings.SplitN(text, ":", parts)
	if len(split) != parts {
		return target{}, false
	}
	return target{incidentKind(split[0]), split[1], split[2]}, true
}

// do retries or discards one target, and audits who did it and why.
func (a *App) do(ctx context.Context, action operation, t target, reason string) error {
	visitor, _ := pages.VisitorFrom(ctx)
	record := core.AuditRecord{
		ActorID: visitor.UserID, Action: "job." + string(action), TargetType: "job", TargetID: t.id,
		RequestID: core.RequestID(ctx), Detail: reason,
	}
	if t.kind == kindTask {
		return a.doTask(ctx, action, t, record)
	}
	orgID, ok := core.ParseID(t.scope)
	if !ok {
		return core.NotFound(string(t.kind))
	}
	record.OrgID = orgID
	if t.kind == kindJob {
		return a.doJob(ctx, action, t, record)
	}
	id, ok := core.ParseID(t.id)
	if !ok || action != operationRetry {
		return core.NotFound(string(t.kind))
	}
	operator := core.Principal{OrgID: orgID, UserID: visitor.UserID}
	switch t.kind {
	case kindKey:
		return a.Keys.Release(ctx, operator, id, reason)
	case kindRun:
		return a.Executor.Requeue(ctx, operator, id, reason)
	default:
		return core.NotFound(string(t.kind))
	}
}

func (a *App) doJob(ctx context.Context, action operation, t target, record core.AuditRecord) error {
	id, err := strconv.ParseInt(t.id, 10, 64)
	if err != nil {
		return core.NotFound(string(t.kind)).Because(err)
	}
	if action == operationDiscard {
		return tasks.DiscardDeadLetter(ctx, a.DB, id, record)
	}
	return tasks.RetryDeadLetter(ctx, a.DB, id, record)
}

// doTask writes the audit record before it changes Redis, so that nothing is done without a record. An action that
// Redis does not confirm gets a second record.
func (a *App) doTask(ctx context.Context, action operation, t target, record core.AuditRecord) error {
	if err := a.queues.CheckArchived(t.scope, t.id); err != nil {
		return err
	}
	record.OrgID, _ = tasks.OrganizationOf(t.id)
	if err := a.record(ctx, record); err != nil {
		return err
	}
	do := a.queues.Retry
	if action == operationDiscard {
		do = a.queues.Discard
	}
	cause := do(t.scope, t.id)
	if cause == nil {
		return nil
	}
	// The record is written even if the client has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	record.Action, record.Detail = record.Action+"_failed", "not confirmed: "+core.Storable(cause.Error())
	return errors.Join(cause, a.record(ctx, record))
}

func (a *App) record(ctx context.Context, record core.AuditRecord) error {
	return db.Do(ctx, a.DB, func(tx db.Tx) error {
		return core.AuditIn(ctx, tx, record)
	})
}
