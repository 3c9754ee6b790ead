package audit

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func renderAudit(e auditEntry) api.AuditRecord {
	return api.AuditRecord{
		ID: e.ID.String(), CreatedAt: api.At(e.CreatedAt), Actor: api.MaybeID(e.ActorID), ActorEmail: e.ActorEmail,
		Token: api.MaybeID(e.TokenID), Action: e.Action, TargetType: e.TargetType, TargetID: e.TargetID,
		RequestID: api.Optional(e.RequestID), Detail: e.Detail,
	}
}

// auditsQuery is the query of the list in the API, which has all records.
type auditsQuery struct {
	core.PageQuery
	Bounds
}

// listAudits is GET /api/audit/.
func (a *App) listAudits(c echo.Context, principal core.Principal) error {
	var query auditsQuery
	page, err := core.ReadPage(c, a.check, &query, auditEntry.id,
		func(ctx context.Context, cursor core.Cursor) ([]auditEntry, error) {
			return a.service.audits(ctx, principal.OrgID, Filter{Bounds: query.Bounds}, cursor)
		})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, renderAudit))
}
