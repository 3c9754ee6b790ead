package workflows

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// The names of the endpoints in idempotency keys.
const (
	EndpointCreate  idempotency.Endpoint = "workflow_create"
	EndpointVersion idempotency.Endpoint = "workflow_version"
	EndpointImport  idempotency.Endpoint = "workflow_import"
)

// maxChangeBytes bounds the body of a change.
const maxChangeBytes = 64 << 10

func renderVersion(v Version, orgSlug string) api.Workflow {
	steps := make([]api.WorkflowStep, len(v.Definition.Steps))
	for i, step := range v.Definition.Steps {
		steps[i] = api.WorkflowStep{ID: step.ID, Name: step.Name, ValidatorType: step.Type, Order: i + 1}
	}
	return api.Workflow{
		ID: v.ID.String(), Slug: v.Slug, Name: v.Name, Description: v.Description, Version: v.Number, OrgSlug: orgSlug,
		IsActive: v.IsActive, Accepts: v.Definition.Accepts, Steps: steps,
		Constants: []string{}, // The existing command line client expects the member.
		CreatedAt: api.At(v.CreatedAt), UpdatedAt: api.At(v.UpdatedAt),
	}
}

// forClient replaces the types of steps that the existing command line client does not know: it would fail on them.
func forClient(c echo.Context, body api.Workflow) api.Workflow {
	if !strings.HasPrefix(c.Path(), "/api/v1/") {
		return body
	}
	for i := range body.Steps {
		body.Steps[i].ValidatorType = engines.V1Type(body.Steps[i].ValidatorType)
	}
	return body
}

// list is GET /api/workflows/.
func (a *App) list(c echo.Context, principal core.Principal) error {
	page, err := a.readWorkflows(c, principal)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, func(v Version) api.Workflow {
		return forClient(c, renderVersion(v, principal.OrgSlug))
	}))
}

// readWorkflows reads a page of the organization's workflows, for the API and for the dashboard.
func (a *App) readWorkflows(c echo.Context, principal core.Principal) (api.Page[Version], error) {
	return core.ReadPage(c, a.Validator, &core.PageQuery{}, func(v Version) uuid.UUID { return v.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Version, error) {
			return a.Service.list(ctx, principal.OrgID, cursor)
		})
}

// read is GET /api/workflows/{id}/.
func (a *App) read(c echo.Context, principal core.Principal, version Version) error {
	return core.AnswerTagged(c, forClient(c, renderVersion(version, principal.OrgSlug)))
}

// create is POST /api/workflows/.
func (a *App) create(c echo.Context, principal core.Principal) error {
	var draft Draft
	content, err := readDefinition(c, a.Validator, &draft)
	if err != nil {
		return err
	}
	if err := a.Service.validate(c.Request().Context(), draft); err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: EndpointCreate, Content: content}
	return a.Guard.Once(c, operation, createOnce(principal, draft))
}

// versionDraft is the body of a new version.
type versionDraft struct {
	Definition validations.Definition `json:"definition"`
}

// createVersion is POST /api/workflows/{id}/versions/.
func (a *App) createVersion(c echo.Context, principal core.Principal, workflow Version) error {
	var draft versionDraft
	content, err := readDefinition(c, a.Validator, &draft)
	if err != nil {
		return err
	}
	if err := a.Service.checkDefinition(c.Request().Context(), draft.Definition); err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: EndpointVersion, Target: workflow.ID.String(), Content: content}
	return a.Guard.Once(c, operation, createVersionOnce(principal, workflow, draft.Definition, core.IfMatch(c)))
}

// readDefinition reads a body that has a definition, and digests it by its structure.
func readDefinition(c echo.Context, check *core.Validator, value any) (idempotency.Digest, error) {
	body, err := core.ReadJSON(c, check, files.MaxBytes, value)
	if err != nil {
		return idempotency.Digest{}, err
	}
	digest, err := idempotency.DigestJSON(body, files.MaxDepth)
	if fault, ok := errors.AsType[*idempotency.JSONError](err); ok {
		detail := "The body cannot be read: it is " + fault.Reason + "."
		return idempotency.Digest{}, core.InvalidPayload(detail).Because(err)
	}
	return digest, err
}

// update is PATCH /api/workflows/{id}/. Repeating it changes nothing.
func (a *App) update(c echo.Context, principal core.Principal, workflow Version) error {
	var wanted change
	if _, err := core.ReadJSON(c, a.Validator, maxChangeBytes, &wanted); err != nil {
		return err
	}
	wanted.Expected = core.IfMatch(c)
	changed, err := a.Service.Change(c.Request().Context(), principal, workflow.ID, wanted, "workflow.update")
	if err != nil {
		return err
	}
	return core.AnswerTagged(c, renderVersion(changed, principal.OrgSlug))
}

// setActive is POST /api/workflows/{id}/activate/ and /deactivate/.
func (a *App) setActive(active bool) VersionView {
	return func(c echo.Context, principal core.Principal, workflow Version) error {
		changed, err := a.Service.setActive(c.Request().Context(), principal, workflow.ID, active, core.IfMatch(c))
		if err != nil {
			return err
		}
		return core.AnswerTagged(c, renderVersion(changed, principal.OrgSlug))
	}
}
