package users

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// tokenPrefix lets secret scanners find a leaked token.
	tokenPrefix = "sv_"
	secretBytes = 32
	// shownPrefix is how much of a token is kept to recognize it by.
	shownPrefix    = len(tokenPrefix) + 6
	maxTokenLength = 200
)

// Limiter bounds how many requests a token may make. It says how long to wait when it refuses.
type Limiter interface {
	Allow(token uuid.UUID) (bool, time.Duration)
}

// Authenticate lets only requests with a valid Bearer token through and puts their principal into the
// context. A revoked token is refused from the next request on, in every process: nothing is cached.
func (a *App) Authenticate(limit Limiter) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			secret, err := bearer(c.Request().Header.Values(echo.HeaderAuthorization))
			if err != nil {
				return err
			}
			principal, err := a.service.principal(c.Request().Context(), secret)
			if err != nil {
				return err
			}
			if ok, wait := limit.Allow(principal.TokenID); !ok {
				return core.RateLimited("This token makes too many requests.", wait)
			}
			a.service.seen.note(principal.OrgID, principal.TokenID)
			c.SetRequest(c.Request().WithContext(core.WithPrincipal(c.Request().Context(), principal)))
			return next(c)
		}
	}
}

func bearer(headers []string) (string, error) {
	if len(headers) != 1 {
		return "", core.NewError(core.CodeNotAuthenticated,
			"Send one Authorization header: \"Authorization: Bearer <token>\".")
	}
	scheme, secret, _ := strings.Cut(headers[0], " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") || secret == "" || len(secret) > maxTokenLength {
		return "", core.NewError(core.CodeNotAuthenticated,
			"The Authorization header must be \"Bearer <token>\" with one of your API tokens.")
	}
	return secret, nil
}

// principal answers who the token stands for. A token whose owner has left the organization is known
// but may do nothing.
func (s *Service) principal(ctx context.Context, secret string) (core.Principal, error) {
	digest := sha256.Sum256([]byte(secret))
	var p core.Principal
	var tokenRole core.Role
	var memberRole *core.Role
	var lifetime float64
	err := s.db.Pool.QueryRow(ctx, `
		SELECT t.id, t.role, m.role, u.id, u.email, u.name, o.id, o.slug, o.name, o.overage_billing, o.key_required,
			coalesce(extract(epoch FROM o.key_lifetime), 0)::float8
		FROM api_tokens AS t
		JOIN organizations AS o ON o.id = t.org_id
		JOIN users AS u ON u.id = t.user_id
		LEFT JOIN memberships AS m ON m.org_id = t.org_id AND m.user_id = t.user_id
		WHERE t.digest = $1 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())`,
		digest[:]).Scan(&p.TokenID, &tokenRole, &memberRole, &p.UserID, &p.Email, &p.Name,
		&p.OrgID, &p.OrgSlug, &p.OrgName, &p.Overage, &p.KeyRequired, &lifetime)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, core.NewError(core.CodeNotAuthenticated,
			"The token is unknown, revoked or expired. Create a new one and try again.")
	}
	if err != nil {
		return p, fmt.Errorf("look a token up: %w", err)
	}
	if memberRole == nil {
		return p, core.NewError(core.CodePermissionDenied, "You are no longer a member of "+p.OrgName+".")
	}
	p.Role = tokenRole.Lesser(*memberRole)
	p.KeyLifetime = time.Duration(lifetime * float64(time.Second))
	return p, nil
}

// newSecret makes a token's secret (256 random bits) and what is stored of it.
func newSecret() (secret string, digest []byte, prefix string) { //nolint:nonamedreturns // three results of two types
	random := make([]byte, secretBytes)
	// Read never fails (since Go 1.24 it ends the process instead).
	_, _ = rand.Read(random)
	secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	sum := sha256.Sum256([]byte(secret))
	return secret, sum[:], secret[:shownPrefix]
}
