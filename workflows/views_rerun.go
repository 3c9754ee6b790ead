package workflows

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
)

// endpointRerun names the endpoint in idempotency keys.
const endpointRerun idempotency.Endpoint = "run_rerun"

// rerun is POST /api/runs/{id}/rerun/: the document of an earlier run is checked again, with the version of
// the workflow that the earlier run had.
func (a *App) rerun(c echo.Context) error {
	answer, err := a.rerunOnce(c, idempotency.KeyFrom(c.Request().Context()), sourceOf(c))
	if err != nil {
		return err
	}
	return answer.Write(c)
}

// rerunOnce checks the document of the request's run again, once for each key.
func (a *App) rerunOnce(c echo.Context, key idempotency.Key, source validations.Source) (idempotency.Answer, error) {
	ctx := c.Request().Context()
	principal, err := core.Caller(c)
	if err != nil {
		return idempotency.Answer{}, err
	}
	id, ok := core.ParseID(c.Param("id"))
	if !ok {
		return idempotency.Answer{}, core.NotFound("run")
	}
	earlier, err := a.runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if err := principal.Require(core.RoleExecutor, "start runs"); err != nil {
		return idempotency.Answer{}, err
	}
	order, err := a.rerunOrder(ctx, principal, earlier, key)
	if err != nil {
		return idempotency.Answer{}, err
	}
	order.Source = source
	prepared, err := validations.PrepareRerun(order, earlier, time.Now())
	if err != nil {
		return idempotency.Answer{}, err
	}
	operation := idempotency.Operation{
		Endpoint: endpointRerun, Target: earlier.ID.String(), KeyID: order.IdempotencyKeyID, RunID: prepared.Run.ID,
		Admit: a.admit(c, earlier.OrgID),
	}
	answer, err := a.guard.Do(c, key, operation,
		func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
			return a.commitRerun(ctx, tx, prepared, order)
		})
	a.staged.Wake()
	return answer, err
}

// rerunOrder says what the rerun is to execute.
func (a *App) rerunOrder(
	ctx context.Context, principal core.Principal, earlier validations.Run, key idempotency.Key,
) (validations.Order, error) {
	workflow, err := a.service.Find(ctx, principal.OrgID, earlier.WorkflowID.String(), earlier.WorkflowVersion)
	if err != nil {
		return validations.Order{}, err
	}
	order := validations.Order{
		Principal: principal, Workflow: workflow.ref(), RequestID: core.RequestID(ctx),
	}
	if !key.Given {
		return order, nil
	}
	order.IdempotencyKey = key.Value
	if order.IdempotencyKeyID, err = core.NewID(); err != nil {
		return validations.Order{}, err
	}
	return order, nil
}

// commitRerun charges the run and writes it, in the transaction that claims the key.
func (a *App) commitRerun(
	ctx context.Context, tx db.Tx, prepared validations.Prepared, order validations.Order,
) (idempotency.Response, error) {
	if !order.Workflow.Active {
		return idempotency.Response{}, workflowInactive()
	}
	// Here and not before: a replay needs no document.
	if err := validations.RequireDocument(ctx, tx, prepared.Run); err != nil {
		return idempotency.Response{}, err
	}
	batch := tx.NewBatch()
	grants, err := users.ChargeRuns(ctx, tx, batch, []uuid.UUID{prepared.Run.OrgID})
	if err != nil {
		return idempotency.Response{}, err
	}
	if !grants[0].Granted {
		return idempotency.Response{}, rerunRefused(order.Principal, grants[0])
	}
	prepared.Run.UsageMetric, prepared.Run.UsagePeriod = grants[0].Usage.Metric, grants[0].Usage.Period
	auditID, err := core.NewID()
	if err != nil {
		return idempotency.Response{}, err
	}
	a.runs.CreateReruns(batch, prepared)
	core.Audit(batch, core.AuditRecord{
		ID: auditID, OrgID: prepared.Run.OrgID, ActorID: order.Principal.UserID, TokenID: order.Principal.TokenID,
		Action: "run.rerun", TargetType: "run", TargetID: prepared.Run.ID.String(), RequestID: order.RequestID,
	})
	return created(prepared.Run.ID, prepared.Answer), batch.Send(ctx)
}

// rerunRefused tells an organization whose starts may go beyond the quota that its reruns may not.
func rerunRefused(principal core.Principal, grant users.Grant) *core.Error {
	refusal := grant.Refusal()
	if principal.Overage && refusal.Code == core.CodeQuotaExceeded {
		refusal.Detail += " A rerun is never charged beyond the quota; start the document again for that."
	}
	return refusal
}
