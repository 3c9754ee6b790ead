package users

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// endpointMember names the endpoint in idempotency keys.
const endpointMember idempotency.Endpoint = "member_add"

// Operations are the names of what the app does once for each key.
func Operations() idempotency.Operations {
	return idempotency.Operations{endpointMember: {Title: "Invite a member"}}
}

// maxMemberDepth is far more than the body of a member nests.
const maxMemberDepth = 10

// memberDraft is the body of an invitation.
type memberDraft struct {
	Email string    `json:"email" form:"email" validate:"required,email,max=254"`
	Name  string    `json:"name"  form:"name"  validate:"max=200,excludesrune=\x00"`
	Role  core.Role `json:"role"  form:"role"  validate:"oneof=owner admin author executor viewer"`
}

// memberChange is what of a member may change.
type memberChange struct {
	Role core.Role `json:"role" form:"role" validate:"oneof=owner admin author executor viewer"`
}

type memberBody struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Role      core.Role `json:"role"`
	CreatedAt string    `json:"created_at"`
}

func renderMember(m Member) memberBody {
	return memberBody{ID: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, CreatedAt: core.FormatTime(m.CreatedAt)}
}

// listMembers is GET /api/members/.
func (a *App) listMembers(c echo.Context, principal core.Principal) error {
	page, err := a.readMembers(c, principal)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, renderMember))
}

// readMembers reads a page of the organization's members, for the API and for the dashboard.
func (a *App) readMembers(c echo.Context, principal core.Principal) (core.Page[Member], error) {
	return core.ReadPage(c, a.check, &core.PageQuery{}, func(m Member) uuid.UUID { return m.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Member, error) {
			return a.service.members(ctx, principal.OrgID, cursor)
		})
}

// inviteMember is POST /api/members/.
func (a *App) inviteMember(c echo.Context, principal core.Principal) error {
	var draft memberDraft
	body, err := core.ReadJSON(c, a.check, maxAccountBytes, &draft)
	if err != nil {
		return err
	}
	content, err := idempotency.DigestJSON(body, maxMemberDepth)
	if err != nil {
		return err
	}
	if err := a.mayMail(principal); err != nil {
		return err
	}
	invite, err := a.service.inviteOnce(principal, draft)
	if err != nil {
		return err
	}
	return a.guard.Once(c, idempotency.Operation{Endpoint: endpointMember, Content: content}, invite)
}

// changeMember is PATCH /api/members/{id}/. Repeating it changes nothing.
func (a *App) changeMember(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "member")
	if err != nil {
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

// removeMember is DELETE /api/members/{id}/. Repeating it is not an error.
func (a *App) removeMember(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "member")
	if err != nil {
		return err
	}
	if err := a.service.removeMember(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// leave is DELETE /api/members/me/.
func (a *App) leave(c echo.Context, principal core.Principal) error {
	if err := a.service.leave(c.Request().Context(), principal); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
