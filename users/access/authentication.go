package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

const maxTokenLength = 200

// Edge bounds the requests of tokens.
type Edge struct {
	// Requests bounds those of one token, and OrgRequests those of all tokens of an organization together.
	Requests    core.Limiter
	OrgRequests core.Limiter
	// Trust is core.Access.Trust.
	Trust time.Duration
}

// Authenticate lets only requests with a valid Bearer token through and puts their principal into the context. A
// revoked token is refused from the next request on, in every process: its holder is cached, but each request asks the
// database whether the entry is still valid. The Prefetch of the request's route goes with that question.
func (a *App) Authenticate(edge Edge, routes *core.Routes) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			authenticate := a.admitToken
			if onBehalf(c.Request().Context()) {
				authenticate = a.serveVisitor
			}
			if err := authenticate(c, edge, routes.PrefetchOf(c)); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// admitToken is what Authenticate does for the holder of a token.
func (a *App) admitToken(c echo.Context, edge Edge, prefetch func(core.CallerOrg, *db.Loader)) error {
	secret, err := bearer(c.Request().Header.Values(echo.HeaderAuthorization))
	if err != nil {
		return err
	}
	digest := tokenDigest(sha256.Sum256([]byte(secret)))
	principal, err := a.service.identify(c.Request().Context(), digest, prefetch)
	if errors.Is(err, api.CodeNotAuthenticated) {
		return a.passOn(c, digest, err)
	}
	if err != nil {
		return err
	}
	if err := edge.admit(c, principal); err != nil {
		// The log names the holder of the token that makes too many requests.
		c.SetRequest(c.Request().WithContext(core.WithPrincipal(c.Request().Context(), principal)))
		return err
	}
	a.service.used.Collect(func(used usedTokens) { used[principal.TokenID] = principal.OrgID })
	ctx := core.WithAccess(c.Request().Context(), core.Access{
		GrantedAt: time.Now(), Trust: edge.Trust, Confirm: func(ctx context.Context) error {
			now, err := a.service.identify(ctx, digest, prefetch)
			if err == nil && now != principal {
				return core.AccessChanged()
			}
			return err
		},
	})
	c.SetRequest(c.Request().WithContext(core.WithPrincipal(ctx, principal)))
	return nil
}

// passOn has nginx send the request to the cell that the organization of an unknown token has moved to
// (config/deploy/nginx). Only a client that has come without nginx gets this answer.
func (a *App) passOn(c echo.Context, digest tokenDigest, unknown error) error {
	cell, err := a.service.movedTo(c.Request().Context(), digest)
	if err != nil {
		return err
	}
	if cell == "" {
		return unknown
	}
	c.Response().Header().Set("X-Accel-Redirect", "@moved")
	c.Response().Header().Set("SV-Cell", cell)
	return core.NewError(api.CodeNotAuthenticated,
		"The organization of this token has moved to the cell "+cell+". Send the request there.")
}

type onBehalfKey struct{}

// OnBehalf returns a context for a request that the dashboard makes to the API on behalf of its visitor. The visitor's
// session stands for the token; principal and access are in the context already. No client can make such a context.
func OnBehalf(ctx context.Context) context.Context {
	return context.WithValue(ctx, onBehalfKey{}, true)
}

func onBehalf(ctx context.Context) bool {
	is, _ := ctx.Value(onBehalfKey{}).(bool)
	return is
}

// serveVisitor is what Authenticate does for a visitor: the rate limits count as for a token, and the look-ups of the
// route are made.
func (a *App) serveVisitor(c echo.Context, edge Edge, prefetch func(core.CallerOrg, *db.Loader)) error {
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	if err := edge.admit(c, principal); err != nil {
		return err
	}
	var loader db.Loader
	prefetch(core.CallerOrg{Param: orgParam(principal.OrgID)}, &loader)
	if err := a.service.db.Load(c.Request().Context(), &loader); err != nil {
		return core.Unavailable(fmt.Errorf("look up for a visitor: %w", err))
	}
	return nil
}

// admit enforces the rate limits, and tells the client how many requests are left.
func (e Edge) admit(c echo.Context, principal core.Principal) error {
	// A form brings its token's id, so another organization could have a token with the same one.
	holder := principal.TokenID
	if holder == uuid.Nil {
		// Visitors of the dashboard have no token.
		holder = principal.UserID
	}
	holder = uuid.NewSHA1(principal.OrgID, holder[:])
	if err := core.Admit(c, e.Requests, holder, "This token makes too many requests."); err != nil {
		return err
	}
	return core.Admit(c, e.OrgRequests, principal.OrgID, "Your organization makes too many requests.")
}

func bearer(headers []string) (string, error) {
	if len(headers) != 1 {
		return "", core.NewError(api.CodeNotAuthenticated,
			"Send one Authorization header: \"Authorization: Bearer <token>\".")
	}
	scheme, secret, _ := strings.Cut(headers[0], " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") || secret == "" || len(secret) > maxTokenLength {
		return "", core.NewError(api.CodeNotAuthenticated,
			"The Authorization header must be \"Bearer <token>\" with one of your API tokens.")
	}
	if isDamaged(secret) {
		return "", core.NewError(api.CodeNotAuthenticated,
			"The token is damaged: its checksum does not match. Copy all of it again.")
	}
	return secret, nil
}

// identify returns the holder of the token, from the cache while the entry is valid. The prefetched look-ups follow its
// own.
func (s *Service) identify(
	ctx context.Context, digest tokenDigest, prefetch func(core.CallerOrg, *db.Loader),
) (core.Principal, error) {
	cached, ok := s.tokenCache.Get(digest)
	if !ok {
		return s.identifyByToken(ctx, digest, prefetch)
	}
	var loader db.Loader
	unchanged := cached.lookUpTag(&loader)
	prefetch(cached.org(), &loader)
	if err := s.db.Load(ctx, &loader); err != nil {
		return core.Principal{}, core.Unavailable(fmt.Errorf("look a token up: %w", err))
	}
	valid, err := unchanged.Get()
	if err != nil {
		return core.Principal{}, err
	}
	if valid != nil && *valid {
		return cached.principal, nil
	}
	s.tokenCache.Remove(digest)
	return s.identifyByToken(ctx, digest, prefetch)
}

func (s *Service) identifyByToken(
	ctx context.Context, digest tokenDigest, prefetch func(core.CallerOrg, *db.Loader),
) (core.Principal, error) {
	var loader db.Loader
	found := lookUpHolder(&loader, digest)
	prefetch(core.CallerOrg{Param: orgOfToken(digest)}, &loader)
	if err := s.db.Load(ctx, &loader); err != nil {
		return core.Principal{}, core.Unavailable(fmt.Errorf("look a token up: %w", err))
	}
	switch holder, err := found.Get(); {
	case err != nil:
		return core.Principal{}, err
	case holder == nil:
		return core.Principal{}, core.NewError(api.CodeNotAuthenticated,
			"The token is unknown, revoked or expired. Create a new one and try again.")
	case !holder.isMember:
		return core.Principal{}, core.PermissionDenied(
			"You are no longer a member of " + holder.principal.OrgName + ".")
	case holder.lacksFactor:
		return core.Principal{}, account.FactorRequired(holder.principal.OrgName)
	case holder.principal.Moving:
		// It ends by itself, without a new tag.
		return holder.principal, nil
	default:
		s.tokenCache.Add(digest, *holder)
		return holder.principal, nil
	}
}
