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

// exportFile is GET /api/workflows/{id}/export/, and the same on the dashboard.
func (a *App) exportFile(c echo.Context, _ core.Principal, version Version) error {
	content, err := version.YAML(a.Address)
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
	operation := idempotency.Operation{Endpoint: EndpointImport, Content: content}
	return a.Guard.Once(c, operation, ImportOnce(principal, file, warnings))
}

// readFile reads the request's workflow file with the warnings about it, and digests its meaning.
func (a *App) readFile(c echo.Context) (files.File, []files.Fault, idempotency.Digest, error) {
	body, err := core.ReadBody(c, files.MaxBytes, mediatype.YAML, "application/x-yaml", "text/yaml", mediatype.JSON)
	if err != nil {
		return files.File{}, nil, idempotency.Digest{}, err
	}
	file, faults, err := a.Files.Parse(c.Request().Context(), body)
	if err != nil {
		return files.File{}, nil, idempotency.Digest{}, err
	}
	if len(faults) > 0 {
		return files.File{}, nil, idempotency.Digest{},
			core.InvalidPayload("The workflow file is invalid; see errors.", fieldsOf(faults)...)
	}
	text, err := json.Marshal(file)
	if err != nil {
		return files.File{}, nil, idempotency.Digest{}, fmt.Errorf("digest a workflow file: %w", err)
	}
	digest, err := idempotency.DigestJSON(text, files.MaxDepth)
	return file, a.Files.Warnings(file, body), digest, err
}
