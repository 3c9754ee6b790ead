package audit

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// auditBody is an action in the audit log.
type auditBody struct {
	ID        uuid.UUID `json:"id"`
	CreatedAt string    `json:"created_at"`
	// Actor and Token are absent where the operator or the service acted.
	Actor      core.Optional `json:"actor"`
	ActorEmail string        `json:"actor_email"`
	Token      core.Optional `json:"token"`
	Action     string        `json:"action"`
	TargetType string        `json:"target_type"`
	TargetID   string        `json:"target_id"`
	RequestID  core.Optional `json:"request_id"`
	Detail     string        `json:"detail"`
}

func renderAudit(e auditEntry) auditBody {
	return auditBody{
		ID: e.ID, CreatedAt: core.FormatTime(e.CreatedAt), Actor: core.OptionalID(e.ActorID), ActorEmail: e.ActorEmail,
		Token: core.OptionalID(e.TokenID), Action: e.Action, TargetType: e.TargetType, TargetID: e.TargetID,
		RequestID: core.Optional(e.RequestID), Detail: e.Detail,
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
