package access

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

const (
	// maxTokenBytes bounds the bodies of requests.
	maxTokenBytes = 16 << 10
	// defaultOverlap is how long a rotated token keeps working unless the request says otherwise.
	defaultOverlap = 24 * time.Hour
)

type tokensQuery struct {
	core.PageQuery
	TokenFilter
}

// tokenDraft asks for a new token.
type tokenDraft struct {
	Label string   `json:"label" validate:"required,max=100,excludesrune=\x00"`
	Role  api.Role `json:"role"  validate:"oneof=owner admin author executor viewer"`
	// ValidForMS is the token's life, up to 100 years; 0 is for ever.
	ValidForMS int64 `json:"valid_for_ms" validate:"min=0,max=3153600000000"`
}

// rotationDraft is how long the old token keeps working, up to 7 days.
type rotationDraft struct {
	OverlapMS int64 `json:"overlap_ms" validate:"min=0,max=604800000"`
}

func renderToken(t Token) api.Token {
	return api.Token{
		ID: t.ID.String(), Label: t.Label, Prefix: t.Prefix, Role: t.Role,
		User: t.UserID.String(), Email: t.Email, State: t.State, ReplacedBy: api.MaybeID(t.ReplacedBy),
		CreatedAt: api.At(t.CreatedAt), ExpiresAt: api.MaybeAt(t.ExpiresAt), RevokedAt: api.MaybeAt(t.RevokedAt),
		LastUsedAt: api.MaybeAt(t.LastUsedAt),
	}
}

// listTokens is GET /api/tokens/: one's own tokens, and for administrators those of all members.
func (a *App) listTokens(c echo.Context, principal core.Principal) error {
	page, err := a.readTokens(c, principal, &tokensQuery{})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, core.MapPage(page, renderToken))
}

// readTokens reads a page of tokens, for the API and for the dashboard.
func (a *App) readTokens(c echo.Context, principal core.Principal, query *tokensQuery) (api.Page[Token], error) {
	return core.ReadPage(c, a.check, query, func(t Token) uuid.UUID { return t.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Token, error) {
			return a.service.tokens(ctx, principal, query.TokenFilter, cursor)
		})
}

// createToken is POST /api/tokens/.
func (a *App) createToken(c echo.Context, principal core.Principal) error {
	var draft tokenDraft
	if _, err := core.ReadJSON(c, a.check, maxTokenBytes, &draft); err != nil {
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
func (a *App) rotateToken(c echo.Context, principal core.Principal, id uuid.UUID) error {
	draft := rotationDraft{OverlapMS: defaultOverlap.Milliseconds()}
	// The body may be left out: its only member has a default.
	if c.Request().ContentLength != 0 {
		if _, err := core.ReadJSON(c, a.check, maxTokenBytes, &draft); err != nil {
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

// revokeToken is DELETE /api/tokens/{id}/. Repeating it is not an error.
func (a *App) revokeToken(c echo.Context, principal core.Principal, id uuid.UUID) error {
	if err := a.service.revokeToken(c.Request().Context(), principal, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// answerSecret answers with a secret, which no cache may store.
func answerSecret(c echo.Context, issued issuedToken) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusCreated, api.TokenSecret{Token: renderToken(issued.Token), Secret: issued.secret})
}
