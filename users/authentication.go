package users

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
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

// ReadAhead adds look-ups that the request is going to need to the one of its token, so that they cost no
// round trip of their own. Nothing may be done with what they have found before the token has turned out to be valid.
// It may be called twice for a request; then only what was found last counts.
type ReadAhead func(c echo.Context, caller Caller, lookups *db.Loader)

// Authenticate lets only requests with a valid Bearer token through and puts their principal into the
// context. A revoked token is refused from the next request on, in every process: who has it is remembered, but each
// request asks the database whether that is still true.
func (a *App) Authenticate(limit Limiter, ahead ReadAhead) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			secret, err := bearer(c.Request().Header.Values(echo.HeaderAuthorization))
			if err != nil {
				return err
			}
			digest := tokenDigest(sha256.Sum256([]byte(secret)))
			principal, err := a.service.identify(c.Request().Context(), digest,
				func(caller Caller, lookups *db.Loader) { ahead(c, caller, lookups) })
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

// identify answers who the token stands for, from what is remembered when that is still true. The look-ups that are
// read ahead follow its own.
func (s *Service) identify(
	ctx context.Context, digest tokenDigest, ahead func(Caller, *db.Loader),
) (core.Principal, error) {
	if known, ok := s.holders.Get(digest); ok {
		var lookups db.Loader
		stillTrue := false
		known.queueTag(&lookups, &stillTrue)
		ahead(knownCaller(known), &lookups)
		if err := s.db.Load(ctx, &lookups); err != nil {
			return core.Principal{}, core.Unavailable(fmt.Errorf("look a token up: %w", err))
		}
		if stillTrue {
			return known.principal, nil
		}
		s.holders.Remove(digest)
	}
	return s.identifyUnknown(ctx, digest, ahead)
}

func (s *Service) identifyUnknown(
	ctx context.Context, digest tokenDigest, ahead func(Caller, *db.Loader),
) (core.Principal, error) {
	var found tokenHolder
	var lookups db.Loader
	caller := unknownCaller(digest[:])
	queueHolder(&lookups, caller, &found)
	ahead(caller, &lookups)
	err := s.db.Load(ctx, &lookups)
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
	s.holders.Add(digest, found)
	return found.principal, nil
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
