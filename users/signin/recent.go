package signin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// proofPage asks visitors to confirm who they are before a form takes effect. It holds the form, so that nothing has to
// be entered again.
type proofPage struct {
	Action string
	Fields []proofField
	Ways   ways
	// Provider is the address where users confirm it at the OpenID Connect provider; the form is lost then.
	Provider string
	Problem  *core.Error
}

type proofField struct{ Name, Value string }

// RequireRecentSignIn protects a view whose action needs more than a session: somebody at an open browser, or with a
// stolen cookie, does not know the password. The user must have confirmed who they are within the last ten minutes, or
// does so now.
func (a *App) RequireRecentSignIn(view core.View) core.View {
	return func(c echo.Context, principal core.Principal) error {
		if proven, err := a.isRecentSignIn(c); !proven {
			return err
		}
		return view(c, principal)
	}
}

// RequireRecentSignInOfVisitor is RequireRecentSignIn for pages that belong to no organization.
func (a *App) RequireRecentSignInOfVisitor(view echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if proven, err := a.isRecentSignIn(c); !proven {
			return err
		}
		return view(c)
	}
}

// RequireRecentSignInFor demands it of forms that give a role from admin up.
func (a *App) RequireRecentSignInFor(c echo.Context, role api.Role) (bool, error) {
	if !role.Allows(api.RoleAdmin) {
		return true, nil
	}
	return a.isRecentSignIn(c)
}

// isRecentSignIn reports whether the visitor has confirmed who they are. If not, it has answered with the page that
// asks for it, or returns an error.
func (a *App) isRecentSignIn(c echo.Context) (bool, error) {
	visitor, err := SignedIn(c)
	if err != nil {
		return false, err
	}
	// Read as far as it goes, a form that is cut off would be one with other fields.
	if err := core.ReadForm(c); err != nil {
		return false, err
	}
	password, code := c.FormValue(pages.ProofPassword), c.FormValue(pages.ProofCode)
	if password == "" && code == "" {
		lately, err := a.service.signedInLately(c.Request().Context(), SessionSecret(c))
		if err != nil || lately {
			return lately, err
		}
		return false, a.renderProof(c, visitor, nil)
	}
	if err = a.MayGuess(c.Request().Context(), "visitor "+visitor.UserID.String()); err == nil {
		err = a.service.prove(c.Request().Context(), visitor, password, code, BrowserOf(c))
	}
	if problem := pages.Refusal(err); problem != nil {
		return false, a.renderProof(c, visitor, problem)
	}
	return err == nil, err
}

func (a *App) renderProof(c echo.Context, visitor pages.Visitor, problem *core.Error) error {
	possible, err := a.service.waysOf(c.Request().Context(), visitor.UserID)
	if err != nil {
		return err
	}
	status := http.StatusForbidden
	if problem != nil {
		status = pages.RefusalStatus(c, problem)
	}
	page := proofPage{Action: c.Request().URL.RequestURI(), Ways: possible, Problem: problem}
	if possible.Provider {
		page.Provider = openIDAddress + "?" + url.Values{"again": {"1"}, "next": {cameFrom(c)}}.Encode()
	}
	for _, name := range slices.Sorted(maps.Keys(c.Request().PostForm)) {
		for _, value := range c.Request().PostForm[name] {
			if !pages.IsProof(name) {
				page.Fields = append(page.Fields, proofField{name, value})
			}
		}
	}
	return a.pages.Render(c, status, "proof", pages.Page{Title: "Confirm that it is you", Data: page})
}

// cameFrom is the page of the form, if the browser names it (Referer).
func cameFrom(c echo.Context) string {
	from, err := url.Parse(c.Request().Referer())
	if err != nil || !strings.HasPrefix(from.Path, pages.Root) {
		return pages.Root
	}
	return pages.Inside(from.RequestURI())
}

// prove records that the user of the session has confirmed who they are, by the password or by a code.
func (s *Service) prove(ctx context.Context, visitor pages.Visitor, password, code string, from Browser) error {
	if password == "" {
		if err := s.factors.Use(ctx, visitor.UserID, code, from.Origin()); err != nil {
			return err
		}
		return s.noteProof(ctx, visitor, "with a code", from)
	}
	if err := s.checkPassword(ctx, visitor, pages.ProofPassword, password, from); err != nil {
		return err
	}
	return s.noteProof(ctx, visitor, "with the password", from)
}

// checkPassword refuses every password but the visitor's. The field is the one in which it was entered.
func (s *Service) checkPassword(
	ctx context.Context, visitor pages.Visitor, field, password string, from Browser,
) error {
	user, err := s.accounts.User(ctx, visitor.Email)
	if err != nil {
		return err
	}
	matches, err := s.accounts.Match(ctx, "", password, user.PasswordHash)
	if err != nil || matches {
		return err
	}
	err = s.accounts.RecordAction(ctx, visitor.UserID, visitor.UserID, "password.refuse", from.Origin())
	if err != nil {
		return err
	}
	return core.InvalidField(api.FieldError{Parameter: field, Code: "wrong", Detail: "is not your password"})
}

// noteProof records that the user of a session has just confirmed who they are.
func (s *Service) noteProof(ctx context.Context, visitor pages.Visitor, way string, from Browser) error {
	return db.DoGorm(ctx, s.db, func(tx db.GormTx) error {
		proved, err := gorm.G[Session](tx.Gorm(ctx)).
			Where("digest = ? AND user_id = ? AND expires_at > now()", account.Digest(from.Secret), visitor.UserID).
			Update(ctx, "proved_at", gorm.Expr("now()"))
		if err != nil {
			return fmt.Errorf("note that a session was proved: %w", err)
		}
		if proved == 0 {
			return errSessionEnded()
		}
		return account.AuditUser(ctx, tx, visitor.UserID, visitor.UserID, "session.prove", from.how(way))
	})
}

// signedInLately reports whether the user of a session has confirmed who they are within the last ten minutes.
func (s *Service) signedInLately(ctx context.Context, secret string) (bool, error) {
	var lately []bool
	err := s.db.Gorm.WithContext(ctx).Model(&Session{}).
		Where("digest = ? AND expires_at > now()", account.Digest(secret)).
		Pluck("coalesce(proved_at > now() - interval '10 minutes', false)", &lately).Error
	if err != nil {
		return false, fmt.Errorf("look when a session was proved: %w", err)
	}
	if len(lately) == 0 {
		return false, errSessionEnded()
	}
	return lately[0], nil
}

// ways are those in which a user can confirm who they are.
type ways struct {
	Password, Code, Provider bool
}

// waysOf returns how the user can confirm who they are.
func (s *Service) waysOf(ctx context.Context, userID uuid.UUID) (ways, error) {
	var found ways
	err := s.db.Gorm.WithContext(ctx).Table("users AS u").Where("u.id = ?", userID).Select(`
		u.password_hash <> '' AS password,
		EXISTS (SELECT FROM second_factors AS f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL) AS code,
		EXISTS (SELECT FROM identities AS i WHERE i.user_id = u.id AND i.issuer = ?) AS provider`, s.issuer()).
		Take(&found).Error
	if err != nil {
		return ways{}, fmt.Errorf("look how user %s signs in: %w", userID, err)
	}
	return found, nil
}
