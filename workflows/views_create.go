package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// The names of the endpoints in idempotency keys.
const (
	endpointCreate  idempotency.Endpoint = "workflow_create"
	endpointVersion idempotency.Endpoint = "workflow_version"
)

const (
	// maxDefinitionBytes bounds the body of a workflow.
	maxDefinitionBytes = 2 << 20
	maxDefinitionDepth = 200
)

// create is POST /api/workflows/.
func (a *App) create(c echo.Context) error {
	principal, err := authorOf(c)
	if err != nil {
		return err
	}
	var draft Draft
	content, err := readDefinition(c, a.check, &draft)
	if err != nil {
		return err
	}
	if err := draft.validate(c.Request().Context()); err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: endpointCreate, Content: content}
	return a.guard.Once(c, operation, func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		version, err := create(ctx, tx, principal.OrgID, draft)
		if err != nil {
			return idempotency.Response{}, err
		}
		return announce(ctx, tx, principal, "workflow.create", version)
	})
}

// createVersion is POST /api/workflows/{id}/versions/.
func (a *App) createVersion(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	workflow, err := a.service.Find(c.Request().Context(), principal.OrgID, c.Param("id"), 0)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAuthor, "edit workflows"); err != nil {
		return err
	}
	var draft versionDraft
	content, err := readDefinition(c, a.check, &draft)
	if err != nil {
		return err
	}
	if err := checkDefinition(c.Request().Context(), draft.Definition); err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: endpointVersion, Target: workflow.ID.String(), Content: content}
	return a.guard.Once(c, operation, func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		version, err := createVersion(ctx, tx, workflow, draft.Definition)
		if err != nil {
			return idempotency.Response{}, err
		}
		return announce(ctx, tx, principal, "workflow.create_version", version)
	})
}

func authorOf(c echo.Context) (core.Principal, error) {
	principal, err := core.Caller(c)
	if err != nil {
		return core.Principal{}, err
	}
	return principal, principal.Require(core.RoleAuthor, "edit workflows")
}

// readDefinition reads a body that has a definition, and digests it by its structure.
func readDefinition(c echo.Context, check *core.Validator, value any) (idempotency.Digest, error) {
	body, err := core.ReadJSON(c, check, maxDefinitionBytes, value)
	if err != nil {
		return idempotency.Digest{}, err
	}
	digest, err := idempotency.DigestJSON(body, maxDefinitionDepth)
	if fault, ok := errors.AsType[*idempotency.JSONError](err); ok {
		detail := "The body cannot be read: it is " + fault.Reason + "."
		return idempotency.Digest{}, core.InvalidPayload(detail).Because(err)
	}
	return digest, err
}

// announce audits the new version and renders it as the answer.
func announce(
	ctx context.Context, tx db.Tx, principal core.Principal, action string, version Version,
) (idempotency.Response, error) {
	if err := audit(ctx, tx, principal, action, version); err != nil {
		return idempotency.Response{}, err
	}
	return respond(http.StatusCreated, version, renderVersion(version, principal.OrgSlug))
}

// audit says who did what to the workflow, and which version is its latest since.
func audit(ctx context.Context, tx db.Tx, principal core.Principal, action string, version Version) error {
	id, err := core.NewID()
	if err != nil {
		return err
	}
	batch := tx.NewBatch()
	core.Audit(batch, core.AuditRecord{
		ID: id, OrgID: principal.OrgID, ActorID: principal.UserID, TokenID: principal.TokenID, Action: action,
		TargetType: "workflow", TargetID: version.ID.String(), RequestID: core.RequestID(ctx),
		Detail: fmt.Sprintf("version %d", version.Number),
	})
	return batch.Send(ctx)
}

// respond renders an answer about the workflow that is stored under the request's key.
func respond(status int, version Version, value any) (idempotency.Response, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return idempotency.Response{}, fmt.Errorf("render a workflow: %w", err)
	}
	return idempotency.Response{
		Status: status,
		Headers: idempotency.ResponseHeaders{
			ContentType: "application/json", Location: "/api/workflows/" + version.ID.String() + "/",
		},
		Body: body,
	}, nil
}
