package signin

import (
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// AccountAddress is the page of the own account.
const AccountAddress = pages.Root + "account/"

// endForm says what else is to end with all other sessions.
type endForm struct {
	RevokeTokens bool `form:"revoke_tokens"`
}

// endSessions is POST /app/account/sessions/end/: all of the visitor's but this one.
func (a *App) endSessions(c echo.Context) error {
	var form endForm
	if err := core.BindForm(c, a.check, &form); err != nil {
		return err
	}
	return a.endSessionsOf(c, uuid.Nil, form.RevokeTokens, "All other sessions have ended.")
}

// endSession is POST /app/account/sessions/{id}/end/.
func (a *App) endSession(c echo.Context) error {
	id, err := core.PathID(c, "session")
	if err != nil {
		return err
	}
	return a.endSessionsOf(c, id, false, "The session has ended.")
}

func (a *App) endSessionsOf(c echo.Context, id uuid.UUID, tokens bool, notice string) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	err := a.service.EndOtherSessions(c.Request().Context(), visitor.UserID, id, tokens, BrowserOf(c))
	if err != nil {
		return err
	}
	return pages.Redirect(c, AccountAddress, notice)
}
