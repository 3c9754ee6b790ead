package signin

import (
	"context"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// InvitationsAddress is where the links of invitations lead.
const InvitationsAddress = pages.Root + "invitations/"

// SignedIn is the visitor of a page that people without a session may see, too.
func SignedIn(c echo.Context) (pages.Visitor, error) {
	visitor, ok := pages.VisitorFrom(c.Request().Context())
	if !ok {
		return pages.Visitor{}, core.NewError(core.CodeNotAuthenticated, "Your session has ended. Sign in again.")
	}
	return visitor, nil
}

func (g *guest) admit(members []core.Principal) {
	g.principals = make(map[string]core.Principal, len(members))
	for _, m := range members {
		g.principals[m.OrgSlug] = m
		if m.OrgID == g.lastOrg {
			g.visitor.Home = m.OrgSlug
		}
		g.visitor.Orgs = append(g.visitor.Orgs, pages.Organization{Slug: m.OrgSlug, Name: m.OrgName, Role: m.Role})
	}
	if g.visitor.Home == "" && len(members) > 0 {
		g.visitor.Home = members[0].OrgSlug
	}
}

const (
	// SessionCookie is the name of the cookie of a session.
	SessionCookie = "sv_session"
	// CookieLife is the longest that a session can last. The database decides when it ends.
	CookieLife = 7 * 24 * time.Hour
)

// Visit lets only visitors with a session through to the pages of the dashboard. On the pages of an organization the
// principal is the visitor as its member; for others the organization is not_found. The organization is read from the
// path and not from the route, so that the error page of an unknown address belongs to it, too. The pages of links are
// for people without a session as well.
//
// trust is core.Access.Trust of the forms.
func (a *App) Visit(trust time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			address, secret := c.Request().URL.EscapedPath(), SessionSecret(c)
			found, err := a.service.visit(c.Request().Context(), secret)
			if core.HasCode(err, core.CodeNotAuthenticated) && isForStrangers(address) {
				return next(c)
			}
			if err != nil {
				return err
			}
			ctx := pages.WithVisitor(c.Request().Context(), found.visitor)
			c.SetRequest(c.Request().WithContext(withGuest(ctx, found)))
			var principal core.Principal
			if slug := pages.OrgOf(address); slug != "" {
				if principal, err = a.enter(c, found, slug); err != nil {
					return err
				}
			}
			access := core.Access{
				GrantedAt: time.Now(), Trust: trust, Confirm: func(ctx context.Context) error {
					return a.service.confirmSession(ctx, secret, principal)
				},
			}
			c.SetRequest(c.Request().WithContext(core.WithAccess(c.Request().Context(), access)))
			return next(c)
		}
	}
}

// isForStrangers reports whether people without a session may see the page, too.
func isForStrangers(address string) bool {
	return strings.HasPrefix(address, InvitationsAddress) || strings.HasPrefix(address, passwordAddress)
}

// enter makes the visitor the principal of a request for an organization, and remembers the organization for the next
// sign-in.
func (a *App) enter(c echo.Context, found guest, slug string) (core.Principal, error) {
	ctx := c.Request().Context()
	principal, err := MemberOf(ctx, slug)
	if err != nil {
		return core.Principal{}, err
	}
	if principal.OrgID != found.lastOrg {
		if err := a.service.noteOrg(ctx, principal.UserID, principal.OrgID); err != nil {
			return core.Principal{}, err
		}
	}
	c.SetRequest(c.Request().WithContext(core.WithPrincipal(ctx, principal)))
	return principal, nil
}

type guestKey struct{}

func withGuest(ctx context.Context, found guest) context.Context {
	return context.WithValue(ctx, guestKey{}, found)
}

// MemberOf is the visitor as a member of the organization.
func MemberOf(ctx context.Context, slug string) (core.Principal, error) {
	found, _ := ctx.Value(guestKey{}).(guest)
	principal, isMember := found.principals[slug]
	if !isMember {
		return core.Principal{}, core.NewError(core.CodeNotFound,
			"There is no such organization, or you are not a member of it.")
	}
	return principal, nil
}

// SessionSecret is the secret of the session that a browser has sent, "" without one.
func SessionSecret(c echo.Context) string {
	return pages.Cookie(c, SessionCookie)
}
