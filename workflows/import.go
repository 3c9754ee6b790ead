package workflows

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

const endpointImport idempotency.Endpoint = "workflow_import"

// exportFile is GET /api/workflows/{id}/export/, and the same on the dashboard.
func (a *App) exportFile(c echo.Context, _ core.Principal, version Version) error {
	content, err := fileOf(version).YAML(a.address + files.SchemaPath)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+version.Slug+`.yaml"`)
	return c.Blob(http.StatusOK, mediatype.YAML, content)
}

// importFile is POST /api/workflows/import/.
func (a *App) importFile(c echo.Context, principal core.Principal) error {
	file, warnings, content, err := a.readFile(c)
	if err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: endpointImport, Content: content}
	return a.guard.Once(c, operation, importOnce(principal, file, warnings))
}

// readFile reads the request's workflow file with the warnings about it, and digests its meaning.
func (a *App) readFile(c echo.Context) (files.File, []core.FieldError, idempotency.Digest, error) {
	body, err := core.ReadBody(c, files.MaxBytes, mediatype.YAML, "application/x-yaml", "text/yaml", mediatype.JSON)
	if err != nil {
		return files.File{}, nil, idempotency.Digest{}, err
	}
	file, faults, err := a.files.Parse(c.Request().Context(), body)
	if err != nil {
		return files.File{}, nil, idempotency.Digest{}, err
	}
	if len(faults) > 0 {
		return files.File{}, nil, idempotency.Digest{}, refuseFile(faults)
	}
	text, err := json.Marshal(file)
	if err != nil {
		return files.File{}, nil, idempotency.Digest{}, fmt.Errorf("digest a workflow file: %w", err)
	}
	digest, err := idempotency.DigestJSON(text, files.MaxDepth)
	return file, fieldsOf(a.files.Warnings(file, body)), digest, err
}

func refuseFile(faults []files.Fault) error {
	return core.InvalidPayload("The workflow file is invalid; see errors.", fieldsOf(faults)...)
}
