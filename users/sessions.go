package users

import (
	"context"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	sessionCookie = "sv_session"
	// cookieLife is the longest that a session can last. The database decides when it ends.
	cookieLife = 7 * 24 * time.Hour
)

// Visit lets only visitors with a session through to the pages of the dashboard. On the pages of an organization the
// principal is the visitor as its member; for others the organization is not_found. The organization is read from the
// path and not from the route, so that the error page of an unknown address belongs to it, too. The page of an
// invitation's link is for people without a session as well.
func (a *App) Visit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL.EscapedPath()
		found, err := a.service.visit(c.Request().Context(), sessionSecret(c))
		if core.HasCode(err, core.CodeNotAuthenticated) && strings.HasPrefix(address, invitationsAddress) {
			return next(c)
		}
		if err != nil {
			return err
		}
		ctx := pages.WithVisitor(c.Request().Context(), found.visitor)
		c.SetRequest(c.Request().WithContext(withGuest(ctx, found)))
		slug := pages.OrgOf(address)
		if slug == "" {
			return next(c)
		}
		principal, err := memberOf(c.Request().Context(), slug)
		if err != nil {
			return err
		}
		if principal.OrgID != found.lastOrg {
			if err := a.service.noteOrg(ctx, principal.UserID, principal.OrgID); err != nil {
				return err
			}
		}
		c.SetRequest(c.Request().WithContext(core.WithPrincipal(c.Request().Context(), principal)))
		return next(c)
	}
}

type guestKey struct{}

func withGuest(ctx context.Context, found guest) context.Context {
	return context.WithValue(ctx, guestKey{}, found)
}

// memberOf is the visitor as a member of the organization.
func memberOf(ctx context.Context, slug string) (core.Principal, error) {
	found, _ := ctx.Value(guestKey{}).(guest)
	principal, isMember := found.principals[slug]
	if !isMember {
		return core.Principal{}, core.NewError(core.CodeNotFound,
			"There is no such organization, or you are not a member of it.")
	}
	return principal, nil
}

// Lasts reports whether the visitor of a page that is still being answered may go on seeing it: the session has not
// ended, and the visitor still belongs to the page's organization. To ask is no use of the session.
func (a *App) Lasts(c echo.Context) (bool, error) {
	principal, err := core.Caller(c)
	if err != nil {
		return false, err
	}
	return a.service.sessionLasts(c.Request().Context(), sessionSecret(c), principal.OrgID)
}

func sessionSecret(c echo.Context) string {
	cookie, err := c.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}
