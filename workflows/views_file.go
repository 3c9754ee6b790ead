package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

const endpointImport idempotency.Endpoint = "workflow_import"

// importBody is the answer to an import.
type importBody struct {
	Outcome  importOutcome `json:"outcome"`
	Workflow workflowBody  `json:"workflow"`
}

// exportFile is GET /api/workflows/{id}/export/.
func (a *App) exportFile(c echo.Context) error {
	_, found, err := a.versionOf(c)
	if err != nil {
		return err
	}
	content, err := fileOf(found).YAML(a.address + FileSchemaPath)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+found.Slug+`.yaml"`)
	return c.Blob(http.StatusOK, mediatype.YAML, content)
}

// importFile is POST /api/workflows/import/.
func (a *App) importFile(c echo.Context) error {
	principal, err := authorOf(c)
	if err != nil {
		return err
	}
	file, content, err := a.readFile(c)
	if err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: endpointImport, Content: content}
	return a.guard.Once(c, operation, func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		version, outcome, err := importFile(ctx, tx, principal.OrgID, file)
		if err != nil {
			return idempotency.Response{}, err
		}
		return announceImport(ctx, tx, principal, version, outcome)
	})
}

// readFile reads the request's workflow file, and digests what it says.
func (a *App) readFile(c echo.Context) (File, idempotency.Digest, error) {
	body, err := core.ReadBody(c, maxDefinitionBytes, mediatype.YAML, "application/x-yaml", "text/yaml", mediatype.JSON)
	if err != nil {
		return File{}, idempotency.Digest{}, err
	}
	file, faults, err := a.files.Parse(c.Request().Context(), body)
	if err != nil {
		return File{}, idempotency.Digest{}, err
	}
	if len(faults) > 0 {
		return File{}, idempotency.Digest{}, refuseFile(faults)
	}
	text, err := json.Marshal(file)
	if err != nil {
		return File{}, idempotency.Digest{}, fmt.Errorf("digest a workflow file: %w", err)
	}
	digest, err := idempotency.DigestJSON(text, maxDefinitionDepth)
	return file, digest, err
}

func refuseFile(faults []FileError) error {
	fields := make([]core.FieldError, len(faults))
	for i, fault := range faults {
		fields[i] = core.FieldError{
			Pointer: fault.Pointer, Line: fault.Line, Column: fault.Column, Code: fault.Code, Detail: fault.Detail,
		}
	}
	return core.InvalidPayload("The workflow file is wrong; errors says where.", fields...)
}

// announceImport audits what the import has changed and renders the answer.
func announceImport(
	ctx context.Context, tx db.Tx, principal core.Principal, version Version, outcome importOutcome,
) (idempotency.Response, error) {
	status := http.StatusOK
	if outcome == importCreated || outcome == importVersioned {
		status = http.StatusCreated
	}
	if outcome != importUnchanged {
		if err := audit(ctx, tx, principal, "workflow.import", version); err != nil {
			return idempotency.Response{}, err
		}
	}
	return respond(status, version, importBody{outcome, renderVersion(version, principal.OrgSlug)})
}
