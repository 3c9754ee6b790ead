package access

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
)

const dayLength = 24 * time.Hour

// tokenForm asks for a new token. Sent twice, it makes one token.
type tokenForm struct {
	ID    uuid.UUID `form:"id"    validate:"required"`
	Label string    `form:"label" validate:"required,max=100,excludesrune=\x00"`
	Role  api.Role  `form:"role"  validate:"oneof=owner admin author executor viewer"`
	// Days is the token's life; 0 is for ever.
	Days int64 `form:"days" validate:"min=0,max=36500"`
}

// newTokenForm is the form as it is shown first.
func newTokenForm() tokenForm { return tokenForm{ID: core.NewID(), Role: api.RoleExecutor, Days: 90} }

func tokenLives(chosen int64) []pages.Choice {
	return pages.Choices(strconv.FormatInt(chosen, 10), "7", "7 days", "30", "30 days", "90", "90 days",
		"365", "1 year", "0", "no expiry")
}

// tokensPage lists tokens, with the form for a new one.
type tokensPage struct {
	api.Page[tokenRow]
	// All is set if the tokens of all members are listed.
	All     bool
	State   api.TokenState
	States  []api.TokenState
	Form    tokenForm
	Roles   []pages.Choice
	Lives   []pages.Choice
	Problem *core.Error
}

// tokenRow is a token as the page lists it.
type tokenRow struct {
	Token
	Pill pages.Pill
	// MayRotate and MayRevoke say which buttons there are.
	MayRotate, MayRevoke bool
}

func tokenRowFor(principal core.Principal) func(Token) tokenRow {
	return func(t Token) tokenRow {
		tone := "idle"
		if t.State == api.TokenStateActive {
			tone = "ok"
		}
		return tokenRow{
			Token: t, Pill: pages.NewPill(tone, string(t.State)),
			MayRotate: t.mayBeRotated(principal) == nil, MayRevoke: t.State == api.TokenStateActive,
		}
	}
}

// secretPage shows a new token's secret. It is not shown again.
type secretPage struct {
	Token  Token
	Secret string
	// Overlap is how long the replaced token keeps working; "" if none was replaced.
	Overlap string
}

// tokensPage is GET /app/orgs/{org}/tokens/.
func (a *App) tokensPage(c echo.Context, principal core.Principal) error {
	return a.renderTokens(c, http.StatusOK, principal, newTokenForm(), nil)
}

// renderTokens shows the list, with the form as it was filled in.
func (a *App) renderTokens(
	c echo.Context, status int, principal core.Principal, form tokenForm, problem *core.Error,
) error {
	var query tokensQuery
	page, err := a.readTokens(c, principal, &query)
	if err != nil {
		return err
	}
	return a.pages.Render(c, status, "tokens", pages.Page{
		Title: "API tokens", Section: pages.SectionTokens,
		Data: tokensPage{
			Page: core.MapPage(page, tokenRowFor(principal)), All: seesAllTokens(principal),
			State:  api.TokenState(query.State),
			States: []api.TokenState{api.TokenStateActive, api.TokenStateExpired, api.TokenStateRevoked},
			Form:   form, Roles: account.RolesUpTo(principal.Role, form.Role), Lives: tokenLives(form.Days),
			Problem: problem,
		},
	})
}

// createTokenForm is POST /app/orgs/{org}/tokens/.
func (a *App) createTokenForm(c echo.Context, principal core.Principal) error {
	var form tokenForm
	err := core.BindForm(c, a.check, &form)
	var issued issuedToken
	if err == nil {
		issued, err = a.service.createToken(c.Request().Context(), principal, TokenRequest{
			ID: form.ID, Label: form.Label, Role: form.Role, ValidFor: time.Duration(form.Days) * dayLength,
		})
	}
	if problem := pages.Refusal(err); problem != nil {
		if errors.Is(err, errTokenMade) {
			form.ID = core.NewID()
		}
		return a.renderTokens(c, pages.RefusalStatus(c, problem), principal, form, problem)
	}
	if err != nil {
		return err
	}
	return a.renderSecret(c, issued, "")
}

// rotateTokenForm is POST /app/orgs/{org}/tokens/{id}/rotate/.
func (a *App) rotateTokenForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	issued, err := a.service.rotateToken(c.Request().Context(), principal, id, defaultOverlap)
	if err != nil {
		return err
	}
	return a.renderSecret(c, issued, strconv.Itoa(int(defaultOverlap.Hours()))+" hours")
}

// renderSecret shows a secret, which neither the browser nor a proxy may store.
func (a *App) renderSecret(c echo.Context, issued issuedToken, overlap string) error {
	return a.pages.Render(c, http.StatusCreated, "token_secret", pages.Page{
		Title: "New token " + issued.Label, Section: pages.SectionTokens,
		Data: secretPage{Token: issued.Token, Secret: issued.secret, Overlap: overlap},
	})
}

// revokeTokenForm is POST /app/orgs/{org}/tokens/{id}/revoke/.
func (a *App) revokeTokenForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.revokeToken(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"tokens/",
		"The token is revoked. Programs that use it are refused from now on.")
}
