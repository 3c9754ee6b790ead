package config

import (
	"context"
	"embed"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/migrations"
	"github.com/simplevalidations/simplevalidations/tasks"
)

//go:embed templates/operations/*.html
var operationsTemplates embed.FS

const (
	// maxIncidents is how many incidents of each kind are listed.
	maxIncidents = 100
	// recordTimeout bounds the writing of a failure into the audit log.
	recordTimeout = 5 * time.Second
)

// operations is the page for operators. It belongs to the project because it shows all apps: the outbox and the queues,
// the keys and the runs of every organization, the schema and the release.
type operations struct {
	project *Project
	queues  *tasks.Queues
	check   *core.Validator
	pages   *pages.Set
}

func newOperations(project *Project, check *core.Validator) (*operations, error) {
	set, err := pages.Parse(operationsTemplates, "templates/operations")
	if err != nil {
		return nil, err
	}
	return &operations{
		project: project, queues: tasks.NewQueues(project.redis), check: check, pages: set,
	}, nil
}

// Pages adds the page to the dashboard.
func (o *operations) Pages(web *echo.Group) {
	web.GET("/operations/", forOperators(o.show))
	web.POST("/operations/", forOperators(o.act))
}

// forOperators answers not_found to everybody but operators.
func forOperators(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if visitor, _ := pages.VisitorFrom(c.Request().Context()); !visitor.Operator {
			return core.NewError(core.CodeNotFound, "There is no such page.")
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
	Keys                []stateCount
	Ticks               []tasks.LastTick
	// RedisProblem is the error of a Redis that does not answer; "" when it does.
	RedisProblem string
	Queues       []tasks.Queue
	Workers      []tasks.WorkerState
	Processes    processesView
	Checks       []checkRow
}

// readState reads what the database knows.
func (o *operations) readState(ctx context.Context) (systemState, error) {
	p := o.project
	found := systemState{Version: p.version}
	states, err := migrations.Status(ctx, p.db.SQL)
	if err != nil {
		return found, err
	}
	found.Migrations = int64(len(states))
	for _, state := range states {
		if state.Applied {
			found.Applied++
		}
	}
	if found.Backlog, err = tasks.ReadBacklog(ctx, p.db); err != nil {
		return found, err
	}
	counts, err := p.inspector.KeyCounts(ctx)
	if err != nil {
		return found, err
	}
	found.Keys = newStateCounts(counts)
	processes, err := tasks.Processes(ctx, p.db, maxProcesses)
	if err != nil {
		return found, err
	}
	found.Processes = newProcessesView(processes)
	var names []string
	for _, work := range p.periodic() {
		names = append(names, work.Name)
	}
	found.Ticks, err = tasks.LastTicks(ctx, p.db, names)
	return found, err
}

// readQueues adds what Redis knows, and returns the tasks that have failed. The page is shown without Redis, too.
func (o *operations) readQueues(ctx context.Context, found *systemState) []incident {
	if err := o.pingRedis(ctx); err != nil {
		found.RedisProblem = err.Error()
		return nil
	}
	var err error
	var archived []tasks.ArchivedTask
	if found.Queues, err = o.queues.List(); err == nil {
		found.Workers, err = o.queues.Workers()
	}
	if err == nil {
		archived, err = o.queues.Archived(maxIncidents)
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
func (o *operations) pingRedis(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return o.project.redis.Ping(ctx).Err()
}

// incidents lists the keys, runs and jobs of all organizations that need an operator.
func (o *operations) incidents(ctx context.Context) ([]incident, error) {
	p := o.project
	keys, err := p.inspector.StuckEverywhere(ctx, maxIncidents)
	if err != nil {
		return nil, err
	}
	runs, err := p.runService.LateEverywhere(ctx, maxIncidents)
	if err != nil {
		return nil, err
	}
	letters, err := tasks.DeadLetters(ctx, p.db, maxIncidents)
	if err != nil {
		return nil, err
	}
	var all []incident
	for _, key := range keys {
		all = append(all, incidentOfKey(key))
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
func (o *operations) nameOrganizations(ctx context.Context, incidents []incident) error {
	var ids []uuid.UUID
	for _, t := range incidents {
		ids = append(ids, t.orgID)
	}
	slugs, err := o.project.userService.Slugs(ctx, ids)
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
func (o *operations) do(ctx context.Context, action operation, t target, reason string) error {
	auditID, err := core.NewID()
	if err != nil {
		return err
	}
	visitor, _ := pages.VisitorFrom(ctx)
	record := core.AuditRecord{
		ID: auditID, ActorID: visitor.UserID, Action: "job." + string(action), TargetType: "job", TargetID: t.id,
		RequestID: core.RequestID(ctx), Detail: reason,
	}
	if t.kind == kindTask {
		return o.doTask(ctx, action, t, record)
	}
	orgID, ok := core.ParseID(t.scope)
	if !ok {
		return core.NotFound(string(t.kind))
	}
	record.OrgID = orgID
	if t.kind == kindJob {
		return o.doJob(ctx, action, t, record)
	}
	id, ok := core.ParseID(t.id)
	if !ok || action != operationRetry {
		return core.NotFound(string(t.kind))
	}
	switch t.kind {
	case kindKey:
		record.Action, record.TargetType = "idempotency_key.release", "idempotency_key"
		return o.project.inspector.Release(ctx, orgID, id, record)
	case kindRun:
		record.Action, record.TargetType = "run.requeue", "run"
		return o.project.executor.Requeue(ctx, orgID, id, record)
	default:
		return core.NotFound(string(t.kind))
	}
}

func (o *operations) doJob(ctx context.Context, action operation, t target, record core.AuditRecord) error {
	id, err := strconv.ParseInt(t.id, 10, 64)
	if err != nil {
		return core.NotFound(string(t.kind)).Because(err)
	}
	if action == operationDiscard {
		return tasks.DiscardDeadLetter(ctx, o.project.db, id, record)
	}
	return tasks.RetryDeadLetter(ctx, o.project.db, id, record)
}

// doTask writes the audit record before it changes Redis, so that nothing is done without a record. An action that
// Redis does not confirm gets a second record.
func (o *operations) doTask(ctx context.Context, action operation, t target, record core.AuditRecord) error {
	if err := o.queues.CheckArchived(t.scope, t.id); err != nil {
		return err
	}
	record.OrgID, _ = tasks.OrganizationOf(t.id)
	if err := o.record(ctx, record); err != nil {
		return err
	}
	do := o.queues.Retry
	if action == operationDiscard {
		do = o.queues.Discard
	}
	cause := do(t.scope, t.id)
	if cause == nil {
		return nil
	}
	// The record is written even if the client has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	id, err := core.NewID()
	if err != nil {
		return errors.Join(cause, err)
	}
	record.ID, record.Action = id, record.Action+"_failed"
	record.Detail = "not confirmed: " + core.Storable(cause.Error())
	return errors.Join(cause, o.record(ctx, record))
}

func (o *operations) record(ctx context.Context, record core.AuditRecord) error {
	return db.Do(ctx, o.project.db, func(tx db.Tx) error {
		batch := tx.NewBatch()
		core.Audit(batch, record)
		return batch.Send(ctx)
	})
}
