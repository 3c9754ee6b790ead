package users

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

func renderInvitation(i Invitation) api.Invitation {
	state := api.InvitationStateInvited
	if !i.Valid {
		state = api.InvitationStateExpired
	}
	return api.Invitation{
		Member: api.Member{
			ID: i.ID.String(), Email: i.Email, Name: i.Name, Role: i.Role, CreatedAt: api.At(i.CreatedAt),
		},
		Org:   api.Organization{ID: i.OrgID.String(), Slug: i.OrgSlug, Name: i.OrgName},
		State: state, ExpiresAt: api.At(i.ExpiresAt),
	}
}

// inviteOnce invites the person of the draft as the work of a keyed request, whose answer is stored in the same
// transaction. The answer has no link, because a link is a secret.
func (s *Service) inviteOnce(principal core.Principal, draft memberDraft) (idempotency.Work, error) {
	wanted, err := newInvitation(principal, draft)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
		invited, err := invite(ctx, tx, principal, wanted)
		if err != nil {
			return idempotency.Response{}, err
		}
		if s.Mails.AreSent() {
			if _, err := s.makeLink(ctx, tx, principal, invited.ID); err != nil {
				return idempotency.Response{}, err
			}
		}
		return idempotency.JSONResponse(http.StatusCreated, renderInvitation(invited))
	}, nil
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
func (a *App) linkInvitation(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.mayMail(c, principal); err != nil {
		return err
	}
	issued, err := a.service.renewLink(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusCreated, api.InvitationLink{
		Invitation: renderInvitation(issued.Invitation), Link: issued.Path(),
	})
}

// revokeInvitation is DELETE /api/members/invitations/{id}/. Repeating it is not an error.
func (a *App) revokeInvitation(c echo.Context, principal core.Principal, id uuid.UUID) error {
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
func (a *App) acceptInvitation(c echo.Context, principal core.Principal, id uuid.UUID) error {
	accepted, err := a.service.accept(c.Request().Context(), invitationKey{id: id}, principal.UserID)
	if err != nil {
		return err
	}
	body := renderInvitation(accepted)
	body.State = api.InvitationStateAccepted
	return c.JSON(http.StatusOK, body)
}

// declineInvitation is POST /api/invitations/{id}/decline/.
func (a *App) declineInvitation(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if _, err := a.service.decline(c.Request().Context(), invitationKey{id: id}, principal.UserID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// mayMail counts a mail to an address that a member has chosen.
func (a *App) mayMail(c echo.Context, principal core.Principal) error {
	if !a.service.Mails.AreSent() {
		return nil
	}
	err := a.SignIn.MayGuess(c.Request().Context(), "mails of "+principal.OrgID.String())
	if refused := pages.Refusal(err); refused != nil {
		refused.Detail = fmt.Sprintf("Your organization has sent many mails. Try again in %s.",
			core.Plural(refused.RetrySeconds(), "second"))
	}
	return err
}

// invitationAddress is the page of a link with the secret.
func invitationAddress(secret string) string {
	return signin.InvitationsAddress + url.PathEscape(secret) + "/"
}

// invitationPage is what a link leads to. It looks the same whether or not the address has an account.
type invitationPage struct {
	Invitation Invitation
	Address    string
	// SignIn is the page to sign in on, from which a visitor comes back.
	SignIn string
	// Meant says that the visitor has signed in with the address of the invitation.
	Meant       bool
	MinPassword int
	Form        joinForm
	Problem     *core.Error
}

// joinForm is what a person who is new sends.
type joinForm struct {
	Name  string `form:"name"  validate:"max=200"`
	New   string `form:"new"   validate:"required,min=12,max=500"`
	Again string `form:"again" validate:"required,eqfield=New"`
}

// invitationPage is GET /app/invitations/{token}/.
func (a *App) invitationPage(c echo.Context) error {
	return a.renderInvitation(c, http.StatusOK, nil, nil)
}

// renderInvitation shows the invitation, with the form as it was filled in; nil is the form as it is shown first.
func (a *App) renderInvitation(c echo.Context, status int, form *joinForm, problem *core.Error) error {
	linked, err := a.service.linkedInvitation(c.Request().Context(), c.Param("token"))
	if err != nil {
		return err
	}
	if form == nil {
		form = &joinForm{Name: linked.Name}
	}
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	address := invitationAddress(c.Param("token"))
	return a.pages.Render(c, status, "invitation", pages.Page{
		Title: "Invitation to " + linked.OrgName,
		Data: invitationPage{
			Invitation: linked, Address: address, Meant: visitor.Email == linked.Email,
			SignIn:      pages.SignInAddress + "?" + url.Values{"next": {address}}.Encode(),
			MinPassword: account.MinPassword, Form: *form, Problem: problem,
		},
	})
}

// joinForm is POST /app/invitations/{token}/join/: a person who is new makes an account and accepts.
func (a *App) joinForm(c echo.Context) error {
	var form joinForm
	err := a.SignIn.BindGuess(c, &form)
	var user account.User
	var accepted Invitation
	if err == nil {
		user, accepted, err = a.service.join(c.Request().Context(), c.Param("token"), form)
	}
	if problem := pages.Refusal(err); problem != nil && problem.Code != api.CodeNotFound {
		return a.renderInvitation(c, pages.RefusalStatus(c, problem), &form, problem)
	}
	if err != nil {
		return err
	}
	from := signin.BrowserOf(c)
	secret, err := a.service.SignIn.BeginSession(c.Request().Context(), user.ID, from.Origin(), from)
	if err != nil {
		return err
	}
	pages.SetCookie(c, signin.SessionCookie, secret, signin.CookieLife)
	return toAccepted(c, accepted)
}

// byID and byLink read which invitation the address of a form names.
func byID(c echo.Context) (invitationKey, error) {
	id, err := core.PathID(c, "invitation")
	return invitationKey{id: id}, err
}

func byLink(c echo.Context) (invitationKey, error) {
	return invitationKey{secret: c.Param("token")}, nil
}

// answerForm accepts or declines an invitation for a visitor who has signed in.
func (a *App) answerForm(
	named func(echo.Context) (invitationKey, error),
	answer func(context.Context, invitationKey, uuid.UUID) (Invitation, error),
	done func(echo.Context, Invitation) error,
) echo.HandlerFunc {
	return func(c echo.Context) error {
		key, err := named(c)
		if err != nil {
			return err
		}
		visitor, err := signin.SignedIn(c)
		if err != nil {
			return err
		}
		answered, err := answer(c.Request().Context(), key, visitor.UserID)
		if err != nil {
			return err
		}
		return done(c, answered)
	}
}

func toDeclined(c echo.Context, declined Invitation) error {
	return pages.Redirect(c, signin.AccountAddress, "You have declined the invitation to "+declined.OrgName+".")
}

func toAccepted(c echo.Context, accepted Invitation) error {
	return pages.Redirect(c, pages.Base(accepted.OrgSlug), "You are a member of "+accepted.OrgName+" now.")
}
