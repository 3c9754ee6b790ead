package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// The purposes of challenges.
const (
	// purposeCode waits for a code of a user whose password was right, or who comes from the provider.
	purposeCode = "code"
	// purposeSignIn and purposeProve wait for a browser that was sent to the provider.
	purposeSignIn = "sign_in"
	purposeProve  = "prove"
)

// maxNext is how many characters of an address are kept.
const maxNext = 2000

// challenge is an unfinished sign-in of a browser.
type challenge struct {
	Digest  []byte `gorm:"primaryKey"`
	Purpose string
	// UserID is the zero UUID until the user is known.
	UserID uuid.UUID
	Next   string
	// Issuer and Subject are the account at the provider that is linked by the code; empty for none.
	Issuer, Subject string
}

// TableName is the table of challenges.
func (challenge) TableName() string { return "sign_in_steps" }

// outcome is the result of a part of a sign-in. One of the secrets is set: for the cookie of the session, or for
// that of the challenge that waits for a code.
type outcome struct {
	session, challenge string
}

// passFirst continues a sign-in whose user is known: with a session, or with the code of the second factor.
func (s *Service) passFirst(ctx context.Context, waiting challenge, how string, from Browser) (outcome, error) {
	hasFactor, _, err := s.factors.Has(ctx, waiting.UserID)
	if err != nil {
		return outcome{}, err
	}
	if !hasFactor {
		secret, err := s.BeginSession(ctx, waiting.UserID, how, from)
		return outcome{session: secret}, err
	}
	waiting.Purpose = purposeCode
	secret, err := s.beginChallenge(ctx, waiting)
	return outcome{challenge: secret}, err
}

// passCode ends a sign-in with the code of the second factor, and returns the secret of the session and where to go.
func (s *Service) passCode(ctx context.Context, secret, code string, from Browser) (string, string, error) {
	waiting, err := gorm.G[challenge](s.db.Gorm).
		Where("digest = ? AND purpose = ? AND expires_at > now()", account.Digest(secret), purposeCode).Take(ctx)
	if err != nil {
		return "", "", challengeError(err)
	}
	if err := s.factors.Use(ctx, waiting.UserID, code, from.Origin()); err != nil {
		return "", "", err
	}
	session, err := db.InGormTx(ctx, s.db, func(tx db.GormTx) (string, error) {
		// Two concurrent requests with two valid codes make one session.
		if _, err := takeChallenge(ctx, tx.Gorm(ctx), secret); err != nil {
			return "", err
		}
		if waiting.Subject != "" {
			who := person{Issuer: waiting.Issuer, Subject: waiting.Subject}
			if err := s.linkIdentity(ctx, tx, waiting.UserID, who); err != nil {
				return "", err
			}
		}
		err := account.AuditUser(ctx, tx, waiting.UserID, waiting.UserID, "session.begin", from.how("with a code"))
		if err != nil {
			return "", err
		}
		return insertSession(ctx, tx, waiting.UserID, from)
	})
	return session, waiting.Next, err
}

// beginChallenge returns the secret of the cookie.
func (s *Service) beginChallenge(ctx context.Context, waiting challenge) (string, error) {
	secret, digest := account.NewSecret()
	err := s.db.Gorm.WithContext(ctx).Model(&challenge{}).Create(map[string]any{
		"digest": digest, "purpose": waiting.Purpose, "user_id": db.NonZero(waiting.UserID),
		"next": core.StorableUpTo(waiting.Next, maxNext), "issuer": waiting.Issuer, "subject": waiting.Subject,
	}).Error
	if err != nil {
		return "", fmt.Errorf("begin a step of a sign-in: %w", err)
	}
	return secret, nil
}

// takeChallenge deletes the unfinished sign-in of the browser and returns it. Of two concurrent requests, one finds it.
func takeChallenge(ctx context.Context, database *gorm.DB, secret string) (challenge, error) {
	var found challenge
	taken := database.WithContext(ctx).Where("digest = ? AND expires_at > now()", account.Digest(secret)).
		Clauses(clause.Returning{Columns: []clause.Column{{Name: "purpose"}, {Name: "user_id"}, {Name: "next"}}}).
		Delete(&found)
	if taken.Error == nil && taken.RowsAffected == 0 {
		return challenge{}, noSuchChallenge()
	}
	return found, challengeError(taken.Error)
}

func challengeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return noSuchChallenge()
	default:
		return fmt.Errorf("look for a step of a sign-in: %w", err)
	}
}

func noSuchChallenge() error {
	return core.NewError(api.CodeNotAuthenticated, "The sign-in was begun too long ago, or in another browser. "+
		"Begin again.")
}

const (
	// challengeCookie holds the secret of a sign-in that waits for its second part.
	challengeCookie = "sv_sign_in"
	// challengeLife is the lifetime of the cookie. The database decides when the challenge ends.
	challengeLife = 10 * time.Minute
	// codeAddress is the page that asks for a code of the second factor.
	codeAddress = pages.SignInAddress + "code/"
)

// codeForm is what a visitor with a second factor sends.
type codeForm struct {
	Code    string `form:"code" validate:"required,max=40"`
	Problem *core.Error
}

// codePage is GET /app/sign-in/code/.
func (a *App) codePage(c echo.Context) error {
	return a.renderCode(c, http.StatusOK, nil)
}

func (a *App) renderCode(c echo.Context, status int, problem *core.Error) error {
	return a.pages.Render(c, status, "sign_in_code", pages.Page{
		Title: "Enter a code", Data: codeForm{Problem: problem},
	})
}

// codeForm is POST /app/sign-in/code/. Wrong codes are limited by network and, in the database, by account.
func (a *App) codeForm(c echo.Context) error {
	var form codeForm
	if err := a.BindGuess(c, &form); err != nil {
		return pages.Refuse(c, err, a.renderCode)
	}
	secret := pages.Cookie(c, challengeCookie)
	session, next, err := a.service.passCode(c.Request().Context(), secret, form.Code, BrowserOf(c))
	if err != nil {
		return pages.Refuse(c, err, a.renderCode)
	}
	pages.SetCookie(c, challengeCookie, "", 0)
	return enterInto(c, outcome{session: session}, next)
}
