package users

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// The states of an invitation as clients see it. Those that were declined or revoked are not shown any more.
const (
	stateInvited  = "invited"
	stateExpired  = "expired"
	stateAccepted = "accepted"
)

// invitationBody is an invitation as clients see it: never its link.
type invitationBody struct {
	ID        uuid.UUID `json:"id"`
	Org       orgBody   `json:"org"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Role      core.Role `json:"role"`
	State     string    `json:"state"`
	CreatedAt string    `json:"created_at"`
	ExpiresAt string    `json:"expires_at"`
}

// linkBody is an invitation with its new link.
type linkBody struct {
	invitationBody
	// Link is the path of the page on which the invited person accepts.
	Link string `json:"link"`
}

func renderInvitation(i Invitation) invitationBody {
	state := stateInvited
	if !i.Valid {
		state = stateExpired
	}
	return invitationBody{
		ID: i.ID, Org: orgBody{ID: i.OrgID, Slug: i.OrgSlug, Name: i.OrgName}, Email: i.Email, Name: i.Name,
		Role: i.Role, State: state, CreatedAt: core.FormatTime(i.CreatedAt), ExpiresAt: core.FormatTime(i.ExpiresAt),
	}
}

// listInvitations is GET /api/members/invitations/: the open invitations of the organization.
func (a *App) listInvitations(c echo.Context, principal core.Principal) error {
	page, err := core.ReadPage(c, a.check, &core.PageQuery{}, func(i Invitation) uuid.UUID { return i.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Invitation, error) {
			return a.service.invitations(ctx, principal.OrgID, cursor)
		})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, renderInvitation))
}

// linkInvitation is POST /api/members/invitations/{id}/link/. It takes no key: the answer holds a secret.
func (a *App) linkInvitation(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "invitation")
	if err != nil {
		return err
	}
	if err := a.mayMail(principal); err != nil {
		return err
	}
	issued, err := a.service.renewLink(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusCreated, linkBody{
		invitationBody: renderInvitation(issued.Invitation), Link: issued.Path(),
	})
}

// revokeInvitation is DELETE /api/members/invitations/{id}/. Repeating it is not an error.
func (a *App) revokeInvitation(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "invitation")
	if err != nil {
		return err
	}
	if err := a.service.revokeInvitation(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// ownInvitations is GET /api/invitations/: the caller's own invitations, of all organizations.
func (a *App) ownInvitations(c echo.Context, principal core.Principal) error {
	page, err := core.ReadPage(c, a.check, &core.PageQuery{}, func(i Invitation) uuid.UUID { return i.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Invitation, error) {
			return a.service.invitationsOf(ctx, principal.UserID, cursor)
		})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, renderInvitation))
}

// acceptInvitation is POST /api/invitations/{id}/accept/. Repeating it changes nothing.
func (a *App) acceptInvitation(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "invitation")
	if err != nil {
		return err
	}
	accepted, err := a.service.accept(c.Request().Context(), invitationKey{id: id}, principal.UserID)
	if err != nil {
		return err
	}
	body := renderInvitation(accepted)
	body.State = stateAccepted
	return c.JSON(http.StatusOK, body)
}

// declineInvitation is POST /api/invitations/{id}/decline/.
func (a *App) declineInvitation(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "invitation")
	if err != nil {
		return err
	}
	if _, err := a.service.decline(c.Request().Context(), invitationKey{id: id}, principal.UserID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// mayMail counts a mail to an address that a member has chosen.
func (a *App) mayMail(principal core.Principal) error {
	if !a.service.Mails.AreSent() {
		return nil
	}
	err := a.SignIn.MayGuess("mails of " + principal.OrgID.String())
	if refused := pages.Refusal(err); refused != nil {
		refused.Detail = fmt.Sprintf("Your organization has sent many mails. Try again in %s.",
			core.Plural(refused.RetrySeconds(), "second"))
	}
	return err
}
