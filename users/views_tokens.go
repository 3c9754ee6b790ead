package users

import (
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// maxAccountBytes bounds the bodies of this app.
	maxAccountBytes = 16 << 10
	// defaultOverlap is how long a rotated token works on where the request does not say.
	defaultOverlap = 24 * time.Hour
)

// listTokens is GET /api/tokens/: one's own tokens, and for administrators those of all members.
func (a *App) listTokens(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	var query tokensQuery
	cursor, err := core.BindList(c, a.check, &query)
	if err != nil {
		return err
	}
	tokens, err := a.service.tokens(c.Request().Context(), principal, query.TokenFilter, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, tokens, func(t Token) uuid.UUID { return t.ID }, *c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, renderToken))
}

// createToken is POST /api/tokens/.
func (a *App) createToken(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	var draft tokenDraft
	if _, err := core.ReadJSON(c, a.check, maxAccountBytes, &draft); err != nil {
		return err
	}
	issued, err := a.service.createToken(c.Request().Context(), principal, TokenRequest{
		Label: draft.Label, Role: draft.Role, ValidFor: time.Duration(draft.ValidForMS) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	return answerSecret(c, issued)
}

// rotateToken is POST /api/tokens/{id}/rotate/.
func (a *App) rotateToken(c echo.Context) error {
	principal, id, err := callerAnd(c, "token")
	if err != nil {
		return err
	}
	draft := rotationDraft{OverlapMS: defaultOverlap.Milliseconds()}
	// Nothing has to be said, so nothing has to be sent.
	if c.Request().ContentLength != 0 {
		if _, err := core.ReadJSON(c, a.check, maxAccountBytes, &draft); err != nil {
			return err
		}
	}
	overlap := time.Duration(draft.OverlapMS) * time.Millisecond
	issued, err := a.service.rotateToken(c.Request().Context(), principal, id, overlap)
	if err != nil {
		return err
	}
	return answerSecret(c, issued)
}

// revokeToken is DELETE /api/tokens/{id}/. To repeat it is no error.
func (a *App) revokeToken(c echo.Context) error {
	principal, id, err := callerAnd(c, "token")
	if err != nil {
		return err
	}
	if err := a.service.revokeToken(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// answerSecret shows a secret, which nobody on the way may keep.
func answerSecret(c echo.Context, issued issuedToken) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusCreated, secretBody{tokenBody: renderToken(issued.Token), Secret: issued.secret})
}

// callerAnd returns who asks, and the id of what the address names.
func callerAnd(c echo.Context, what string) (core.Principal, uuid.UUID, error) {
	principal, err := core.Caller(c)
	if err != nil {
		return core.Principal{}, uuid.Nil, err
	}
	id, ok := core.ParseID(c.Param("id"))
	if !ok {
		return core.Principal{}, uuid.Nil, core.NotFound(what)
	}
	return principal, id, nil
}
