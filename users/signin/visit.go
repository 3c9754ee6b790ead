package signin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// InvitationsAddress is where the links of invitations lead.
const InvitationsAddress = pages.Root + "invitations/"

// SignedIn is the visitor of a page that people without a session may see, too.
func SignedIn(c echo.Context) (pages.Visitor, error) {
	visitor, ok := pages.VisitorFrom(c.Request().Context())
	if !ok {
		return pages.Visitor{}, errSessionEnded()
	}
	return visitor, nil
}

// guest is the visitor of a session, and what the visitor may do in each organization, by its slug.
type guest struct {
	visitor pages.Visitor
	seats   map[string]seat
	// lastOrg is the organization whose pages the visitor has seen last.
	lastOrg uuid.UUID
}

// seat is one of the organizations to which the user of a session belongs, or the user alone who belongs to none.
type seat struct {
	core.Principal

	Operator bool
	LastOrg  uuid.UUID
	// FactorRequired says that the organization requires a second factor, and LacksFactor that the user has none.
	FactorRequired, LacksFactor bool
	// Prolong says that the session is to be prolonged.
	Prolong bool
}

// seatColumns are those of a seat. A session is prolonged, and its last use written, at most every five minutes,
// however often pages are loaded.
const seatColumns = `
	u.id AS user_id, u.email, u.name, u.is_operator AS operator, u.last_org_id AS last_org,
	m.role, o.id AS org_id, o.slug AS org_slug, o.name AS org_name, o.overage_billing AS overage, o.key_required,
	(extract(epoch FROM o.key_lifetime) * 1e9)::bigint AS key_lifetime, o.suspended_at IS NOT NULL AS suspended,
	` + account.IsMoving + ` AS moving,
	o.second_factor_required AS factor_required, ` + account.LacksFactor + ` AS lacks_factor,
	s.last_used_at <= now() - interval '5 minutes' AS prolong`

// sessionsOf selects the session with the secret and its user.
func (s *Service) sessionsOf(ctx context.Context, secret string) *gorm.DB {
	return s.db.Gorm.WithContext(ctx).Table("sessions AS s").
		Joins("JOIN users AS u ON u.id = s.user_id AND u.disabled_at IS NULL").
		Where("s.digest = ? AND s.expires_at > now()", account.Digest(secret))
}

// visit returns the visitor of a session and prolongs the session.
func (s *Service) visit(ctx context.Context, secret string) (guest, error) {
	var seats []seat
	err := s.sessionsOf(ctx, secret).Select(seatColumns).Joins("LEFT JOIN memberships AS m ON m.user_id = u.id").
		Joins("LEFT JOIN organizations AS o ON o.id = m.org_id").Order("m.created_at, o.id").Find(&seats).Error
	if err != nil {
		return guest{}, core.Unavailable(fmt.Errorf("look a session up: %w", err))
	}
	if len(seats) == 0 {
		return guest{}, errSessionEnded()
	}
	if seats[0].Prolong {
		err := s.db.Gorm.WithContext(ctx).Model(&Session{}).
			Where("digest = ? AND expires_at > now()", account.Digest(secret)).Updates(map[string]any{
			"expires_at":   gorm.Expr("least(created_at + " + sessionLife + ", now() + " + sessionIdle + ")"),
			"last_used_at": gorm.Expr("now()"),
		}).Error
		if err != nil {
			return guest{}, core.Unavailable(fmt.Errorf("prolong a session: %w", err))
		}
	}
	return newGuest(seats), nil
}

func newGuest(seats []seat) guest {
	user := seats[0]
	found := guest{
		visitor: pages.Visitor{UserID: user.UserID, Email: user.Email, Name: user.Name, Operator: user.Operator},
		seats:   make(map[string]seat, len(seats)), lastOrg: user.LastOrg,
	}
	for _, m := range seats {
		if m.OrgID == uuid.Nil {
			continue
		}
		found.seats[m.OrgSlug] = m
		if m.OrgID == user.LastOrg || found.visitor.Home == "" {
			found.visitor.Home = m.OrgSlug
		}
		found.visitor.Orgs = append(found.visitor.Orgs,
			pages.Organization{Slug: m.OrgSlug, Name: m.OrgName, Role: m.Role, FactorRequired: m.FactorRequired})
	}
	return found
}

// confirmSession answers an error unless a session has not ended and its user has the role in the organization that the
// principal has. Without an organization the session alone counts. Asking does not prolong the session.
func (s *Service) confirmSession(ctx context.Context, secret string, principal core.Principal) error {
	var found []seat
	err := s.sessionsOf(ctx, secret).Select("m.role, "+account.LacksFactor+" AS lacks_factor").
		Joins("LEFT JOIN memberships AS m ON m.user_id = u.id AND m.org_id = ?", principal.OrgID).
		Joins("LEFT JOIN organizations AS o ON o.id = m.org_id").Find(&found).Error
	switch {
	case err != nil:
		return core.Unavailable(fmt.Errorf("confirm a session: %w", err))
	case len(found) == 0:
		return errSessionEnded()
	case principal.OrgID == uuid.Nil:
		return nil
	case found[0].Role == "":
		return core.PermissionDenied("You are no longer a member of " + principal.OrgName + ".")
	case found[0].LacksFactor:
		return account.FactorRequired(principal.OrgName)
	case found[0].Role != principal.Role:
		return core.AccessChanged()
	default:
		return nil
	}
}

func errSessionEnded() error {
	return core.NewError(api.CodeNotAuthenticated, "Your session has ended. Sign in again.")
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
			if errors.Is(err, api.CodeNotAuthenticated) && isForStrangers(address) {
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
	if found.seats[slug].LacksFactor {
		return core.Principal{}, account.FactorRequired(principal.OrgName)
	}
	if principal.OrgID != found.lastOrg {
		if err := a.service.noteOrg(ctx, principal.UserID, principal.OrgID); err != nil {
			return core.Principal{}, err
		}
	}
	c.SetRequest(c.Request().WithContext(core.WithPrincipal(ctx, principal)))
	return principal, nil
}

// noteOrg stores which organization's pages the user has seen last. It writes when the user goes from one organization
// to another, and not with every page.
func (s *Service) noteOrg(ctx context.Context, userID, orgID uuid.UUID) error {
	_, err := gorm.G[account.User](s.db.Gorm).Where("id = ?", userID).Update(ctx, "last_org_id", orgID)
	if err != nil {
		return fmt.Errorf("note the organization that was looked at: %w", err)
	}
	return nil
}

type guestKey struct{}

func withGuest(ctx context.Context, found guest) context.Context {
	return context.WithValue(ctx, guestKey{}, found)
}

// MemberOf is the visitor as a member of the organization.
func MemberOf(ctx context.Context, slug string) (core.Principal, error) {
	found, _ := ctx.Value(guestKey{}).(guest)
	member, isMember := found.seats[slug]
	if !isMember {
		return core.Principal{}, core.NewError(api.CodeNotFound,
			"There is no such organization, or you are not a member of it.")
	}
	return member.Principal, nil
}

// SessionSecret is the secret of the session that a browser has sent, "" without one.
func SessionSecret(c echo.Context) string {
	return pages.Cookie(c, SessionCookie)
}
