package users

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// endpointMember names the endpoint in idempotency keys.
const endpointMember idempotency.Endpoint = "member_add"

// Operations are what people call what the app does once for each key.
func Operations() idempotency.Operations {
	return idempotency.Operations{endpointMember: {Title: "Add a member"}}
}

// maxMemberDepth is far beyond what the body of a member nests.
const maxMemberDepth = 10

// listMembers is GET /api/members/. All members may see whom to ask.
func (a *App) listMembers(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	cursor, err := core.BindList(c, a.check, &core.PageQuery{})
	if err != nil {
		return err
	}
	members, err := a.service.members(c.Request().Context(), principal.OrgID, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, members, func(m Member) uuid.UUID { return m.ID }, *c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, renderMember))
}

// addMember is POST /api/members/.
func (a *App) addMember(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "add members"); err != nil {
		return err
	}
	draft, content, err := a.readMember(c)
	if err != nil {
		return err
	}
	user, err := a.service.draftMember(principal, draft)
	if err != nil {
		return err
	}
	operation := idempotency.Operation{Endpoint: endpointMember, Content: content}
	return a.guard.Once(c, operation, func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		member, err := insertMember(ctx, tx, principal, user, draft.Role)
		if err != nil {
			return idempotency.Response{}, err
		}
		body, err := json.Marshal(renderMember(member))
		if err != nil {
			return idempotency.Response{}, fmt.Errorf("render a member: %w", err)
		}
		return idempotency.Response{
			Status: http.StatusCreated, Body: body,
			Headers: idempotency.ResponseHeaders{ContentType: echo.MIMEApplicationJSON},
		}, nil
	})
}

// readMember reads who is to be added, and digests it by its structure.
func (a *App) readMember(c echo.Context) (memberDraft, idempotency.Digest, error) {
	var draft memberDraft
	body, err := core.ReadJSON(c, a.check, maxAccountBytes, &draft)
	if err != nil {
		return memberDraft{}, idempotency.Digest{}, err
	}
	digest, err := idempotency.DigestJSON(body, maxMemberDepth)
	return draft, digest, err
}

// changeMember is PATCH /api/members/{id}/. Doing it twice is doing it once.
func (a *App) changeMember(c echo.Context) error {
	principal, id, err := callerAnd(c, "member")
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "change members"); err != nil {
		return err
	}
	var wanted memberChange
	if _, err := core.ReadJSON(c, a.check, maxAccountBytes, &wanted); err != nil {
		return err
	}
	member, err := a.service.setRole(c.Request().Context(), principal, id, wanted.Role)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, renderMember(member))
}

// removeMember is DELETE /api/members/{id}/. To repeat it is no error.
func (a *App) removeMember(c echo.Context) error {
	principal, id, err := callerAnd(c, "member")
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "remove members"); err != nil {
		return err
	}
	if err := a.service.removeMember(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// listAudits is GET /api/audit/.
func (a *App) listAudits(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "read the audit records"); err != nil {
		return err
	}
	cursor, err := core.BindList(c, a.check, &core.PageQuery{})
	if err != nil {
		return err
	}
	entries, err := a.service.audits(c.Request().Context(), principal.OrgID, AuditFilter{}, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, entries, func(e auditEntry) uuid.UUID { return e.ID }, *c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, renderAudit))
}
