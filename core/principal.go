package core

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Principal is who makes a request and for which organization. The role is the lower of the
// membership's and the token's.
type Principal struct {
	UserID  uuid.UUID
	Email   string
	Name    string
	OrgID   uuid.UUID
	OrgSlug string
	OrgName string
	Role    api.Role
	TokenID uuid.UUID
	// Narrowed says that the membership has a higher role than the token.
	Narrowed bool
	// KeyRequired says that every request that creates something must carry an idempotency key.
	KeyRequired bool
	// KeyLifetime is how long the organization's keys are kept; zero is the default of the settings.
	KeyLifetime time.Duration
	// Overage says that the organization may start runs beyond its quota, each charged on its own.
	Overage bool
	// Suspended says that the operator lets the organization only read.
	Suspended bool
	// Moving says that the organization is on its way between two cells, and only reads until it is there.
	Moving bool
}

// Require answers permission_denied unless the principal's role includes the needed one, and organization_suspended or
// unavailable if the organization only reads and viewers may not do it.
func (p Principal) Require(needed api.Role, action string) error {
	if needed != api.RoleViewer {
		if err := p.requireActive(action); err != nil {
			return err
		}
	}
	if p.Role.Allows(needed) {
		return nil
	}
	requires := string(needed) + " or higher. Ask an administrator of the organization."
	if needed == api.RoleOwner {
		requires = "owner. Ask an owner of the organization."
	}
	return PermissionDenied("Your role (" + string(p.Role) + ") may not " + action + "; this requires " + requires)
}

// retryMoving is when a request is sent again that was refused because of a move. A client of ours with its usual
// retries outlasts three times as much.
const retryMoving = 30 * time.Second

// requireActive refuses what an organization may not do that only reads.
func (p Principal) requireActive(action string) error {
	switch {
	case p.Moving:
		err := NewError(api.CodeUnavailable, p.OrgName+" is being moved, so you may not "+action+
			" for a moment. This request has changed nothing; send it again.")
		err.RetryAfter = retryMoving
		return err
	case p.Suspended:
		return NewError(api.CodeOrganizationSuspended, p.OrgName+" is suspended, so you may not "+action+
			". Ask the operator of the service.")
	default:
		return nil
	}
}

type (
	principalKey struct{}
	requestIDKey struct{}
)

// WithPrincipal returns a context that carries the principal.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the principal of the request; false on a route without authentication.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// WithRequestID returns a context that carries the request's id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the request's id, or "" outside of a request.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
