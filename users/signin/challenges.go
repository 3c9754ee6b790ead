package signin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
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
	Purpose string
	// UserID is the zero UUID until the user is known.
	UserID uuid.UUID
	Next   string
}

// outcome is the result of a part of a sign-in. One of the secrets is set: for the cookie of the session, or for
// that of the challenge that waits for a code.
type outcome struct {
	session, challenge string
}

// passFirst continues a sign-in whose user is known: with a session, or with the code of the second factor.
func (s *Service) passFirst(ctx context.Context, userID uuid.UUID, next, how string, from Browser) (outcome, error) {
	factor, err := s.factor(ctx, userID)
	if err != nil {
		return outcome{}, err
	}
	if factor == nil || !factor.confirmed {
		secret, err := s.BeginSession(ctx, userID, how, from)
		return outcome{session: secret}, err
	}
	secret, err := s.beginChallenge(ctx, challenge{Purpose: purposeCode, UserID: userID, Next: next})
	return outcome{challenge: secret}, err
}

// passCode ends a sign-in with the code of the second factor, and returns the secret of the session and where to go.
func (s *Service) passCode(ctx context.Context, secret, code string, from Browser) (string, string, error) {
	waiting, err := s.challenge(ctx, secret, purposeCode)
	if err != nil {
		return "", "", err
	}
	if err := s.useCode(ctx, waiting.UserID, code, from); err != nil {
		return "", "", err
	}
	session, err := db.InTx(ctx, s.db, func(tx db.Tx) (string, error) {
		// Two concurrent requests with two valid codes make one session.
		if _, err := deleteChallenge(ctx, tx, secret, purposeCode); err != nil {
			return "", err
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
	secret, digest, _ := account.NewSecret()
	waiting.Next = core.StorableUpTo(waiting.Next, maxNext)
	if err := s.insertChallenge(ctx, digest, waiting); err != nil {
		return "", err
	}
	return secret, nil
}

// errNoChallenge is the cause if no sign-in of the browser waits.
var errNoChallenge = errors.New("no sign-in waits for this browser")

func noSuchChallenge() error {
	return core.NewError(core.CodeNotAuthenticated, "The sign-in was begun too long ago, or in another browser. "+
		"Begin again.").Because(errNoChallenge)
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
	err := core.BindForm(c, a.check, &form)
	if err == nil {
		err = a.MayGuess("network " + Network(c.RealIP()))
	}
	var session, next string
	if err == nil {
		secret := pages.Cookie(c, challengeCookie)
		session, next, err = a.service.passCode(c.Request().Context(), secret, form.Code, BrowserOf(c))
	}
	if problem := pages.Refusal(err); problem != nil {
		return a.renderCode(c, pages.RefusalStatus(c, problem), problem)
	}
	if err != nil {
		return err
	}
	pages.SetCookie(c, challengeCookie, "", 0)
	return enterInto(c, outcome{session: session}, next)
}
