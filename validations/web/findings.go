package web

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// findingsQuery is the query of a run's findings.
type findingsQuery struct {
	core.PageQuery
	Format string `query:"format" validate:"omitempty,oneof=json text sarif junit github csv"`
}

// listFindings is GET /api/runs/{id}/findings/: a page of them, or with ?format= a report of the whole run.
func (a *App) listFindings(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var query findingsQuery
	if err := core.BindQuery(c, a.Validator, &query); err != nil {
		return err
	}
	if format := formats.Format(query.Format); format != "" && format != formats.FormatJSON {
		report, err := a.report(c.Request().Context(), principal.OrgID, id, format)
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, format.MediaType(), report)
	}
	cursor, err := query.Parse()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	run, err := a.Runs.Find(ctx, principal.OrgID, id)
	if err != nil {
		return err
	}
	definition, err := a.Runs.Definition(ctx, principal.OrgID, validations.Digest(run.DefinitionDigest))
	if err != nil {
		return err
	}
	findings, err := a.Runs.ListFindings(ctx, run, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, findings, uuid.Nil, func(f validations.Finding) uuid.UUID { return f.ID },
		*c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, func(f validations.Finding) api.Finding {
		return api.Finding{StepID: definition.Steps[f.StepOrdinal].ID, Issue: validations.RenderIssue(f)}
	}))
}

// report writes a report with all stored findings of a run.
func (a *App) report(ctx context.Context, orgID, id uuid.UUID, format formats.Format) ([]byte, error) {
	verdict, err := a.Runs.Verdict(ctx, orgID, id)
	if err != nil {
		return nil, err
	}
	return format.Write(verdict, formats.TextOptions{})
}
