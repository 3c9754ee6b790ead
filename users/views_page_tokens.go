package users

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const dayLength = 24 * time.Hour

// tokensPage is GET /app/orgs/{org}/tokens/.
func (a *App) tokensPage(c echo.Context) error {
	form, err := newTokenForm()
	if err != nil {
		return err
	}
	return a.renderTokens(c, http.StatusOK, form, nil)
}

// renderTokens shows the list, with the form as it was filled in.
func (a *App) renderTokens(c echo.Context, status int, form tokenForm, problem *core.Error) error {
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
	return a.pages.Render(c, status, "tokens", pages.Page{
		Title: "API tokens", Section: pages.SectionTokens,
		Data: tokensPage{
			Page: core.MapPage(page, tokenRowFor(principal)), All: seesAllTokens(principal),
			State: TokenState(query.State), States: []TokenState{TokenActive, TokenExpired, TokenRevoked},
			Form: form, Roles: rolesUpTo(principal.Role, form.Role), Lives: tokenLives(form.Days), Problem: problem,
		},
	})
}

// createTokenForm is POST /app/orgs/{org}/tokens/.
func (a *App) createTokenForm(c echo.Context) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	var form tokenForm
	err = core.BindForm(c, a.check, &form)
	var issued issuedToken
	if err == nil {
		issued, err = a.service.createToken(c.Request().Context(), principal, TokenRequest{
			ID: form.ID, Label: form.Label, Role: form.Role, ValidFor: time.Duration(form.Days) * dayLength,
		})
	}
	if problem := pages.Refusal(err); problem != nil {
		if errors.Is(err, errTokenMade) {
			if form.ID, err = core.NewID(); err != nil {
				return err
			}
		}
		return a.renderTokens(c, pages.RefusalStatus(c, problem), form, problem)
	}
	if err != nil {
		return err
	}
	return a.renderSecret(c, issued, "")
}

// rotateTokenForm is POST /app/orgs/{org}/tokens/{id}/rotate/.
func (a *App) rotateTokenForm(c echo.Context) error {
	principal, id, err := callerAnd(c, "token")
	if err != nil {
		return err
	}
	issued, err := a.service.rotateToken(c.Request().Context(), principal, id, defaultOverlap)
	if err != nil {
		return err
	}
	return a.renderSecret(c, issued, strconv.Itoa(int(defaultOverlap.Hours()))+" hours")
}

// renderSecret shows a secret, which neither the browser nor anybody on the way may keep.
func (a *App) renderSecret(c echo.Context, issued issuedToken, overlap string) error {
	return a.pages.RenderOnce(c, http.StatusCreated, "token_secret", pages.Page{
		Title: "New token " + issued.Label, Section: pages.SectionTokens,
		Data: secretPage{Token: issued.Token, Secret: issued.secret, Overlap: overlap},
	})
}

// revokeTokenForm is POST /app/orgs/{org}/tokens/{id}/revoke/.
func (a *App) revokeTokenForm(c echo.Context) error {
	principal, id, err := callerAnd(c, "token")
	if err != nil {
		return err
	}
	if err := a.service.revokeToken(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"tokens/",
		"The token is revoked. Programs that use it are refused from now on.")
}
