package users

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

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

// Limiter bounds how often each id may do something, such as the requests of a token.
type Limiter interface {
	Allow(id uuid.UUID) core.Allowance
}

// OrgOfToken is SQL for the organization of the token that TokenParam names, whether the token is still valid or not.
const OrgOfToken = `(SELECT org_id FROM api_tokens WHERE digest = asked.digest)` //nolint:gosec // no credential

// TokenParam is the parameter of look-ups that use OrgOfToken.
func TokenParam(digest []byte) core.Param {
	return core.Param{Name: "digest", Type: "bytea", Value: digest}
}

// ReadAhead adds look-ups that the request is going to need to the one of its token, so that they cost no
// round trip of their own. They find the organization by OrgOfToken, and nothing may be done with what they
// have found before the token has turned out to be valid.
type ReadAhead func(c echo.Context, tokenDigest []byte, lookups *core.Lookups)

// Authenticate lets only requests with a valid Bearer token through and puts their principal into the
// context. A revoked token is refused from the next request on, in every process: nothing is cached.
func (a *App) Authenticate(limit Limiter, ahead ReadAhead) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			secret, err := bearer(c.Request().Header.Values(echo.HeaderAuthorization))
			if err != nil {
				return err
			}
			digest := sha256.Sum256([]byte(secret))
			principal, err := a.service.identify(c.Request().Context(), digest[:], func(lookups *core.Lookups) {
				ahead(c, digest[:], lookups)
			})
			if err != nil {
				return err
			}
			// A form brings its token's id, so another organization could have a token with the same one.
			allowance := limit.Allow(uuid.NewSHA1(principal.OrgID, principal.TokenID[:]))
			allowance.Announce(c.Response().Header())
			if !allowance.Allowed() {
				return core.RateLimited("This token makes too many requests.", allowance.Wait)
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

// identify answers who the token stands for. The look-ups that are read ahead follow its own.
func (s *Service) identify(ctx context.Context, digest []byte, ahead func(*core.Lookups)) (core.Principal, error) {
	var found holder
	var lookups core.Lookups
	lookups.Queue(func(row pgx.CollectableRow) error {
		var err error
		found, err = scanHolder(row)
		return err
	}, holderQuery, TokenParam(digest))
	ahead(&lookups)
	err := s.db.LookUp(ctx, &lookups)
	switch {
	case err != nil:
		return core.Principal{}, core.Unavailable(fmt.Errorf("look a token up: %w", err))
	case found.principal.TokenID == uuid.Nil:
		return core.Principal{}, core.NewError(core.CodeNotAuthenticated,
			"The token is unknown, revoked or expired. Create a new one and try again.")
	case !found.isMember:
		return core.Principal{}, core.NewError(core.CodePermissionDenied,
			"You are no longer a member of "+found.principal.OrgName+".")
	}
	return found.principal, nil
}

const holderQuery = `
	SELECT t.id, t.role, m.role, u.id, u.email, u.name, o.id, o.slug, o.name, o.overage_billing, o.key_required,
		coalesce(extract(epoch FROM o.key_lifetime), 0)::float8
	FROM api_tokens AS t
	JOIN organizations AS o ON o.id = t.org_id
	JOIN users AS u ON u.id = t.user_id
	LEFT JOIN memberships AS m ON m.org_id = t.org_id AND m.user_id = t.user_id
	WHERE t.digest = asked.digest AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())`

// holder is who has a valid token. One who has left the organization is known but may do nothing.
type holder struct {
	principal core.Principal
	isMember  bool
}

func scanHolder(row pgx.CollectableRow) (holder, error) {
	var p core.Principal
	var tokenRole core.Role
	var memberRole *core.Role
	var lifetime float64
	err := row.Scan(&p.TokenID, &tokenRole, &memberRole, &p.UserID, &p.Email, &p.Name,
		&p.OrgID, &p.OrgSlug, &p.OrgName, &p.Overage, &p.KeyRequired, &lifetime)
	if err != nil || memberRole == nil {
		return holder{principal: p}, err
	}
	p.Role = tokenRole.Lesser(*memberRole)
	p.KeyLifetime = core.Seconds(lifetime)
	return holder{principal: p, isMember: true}, nil
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
