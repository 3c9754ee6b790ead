package core

import (
	"context"
	"errors"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Access is the right of a request's caller, as it was when the headers had arrived.
type Access struct {
	// GrantedAt is when the right was looked up.
	GrantedAt time.Time
	// Trust is for how long the body may arrive before the right is looked up again.
	Trust time.Duration
	// Confirm looks the right up again. It answers not_authenticated, permission_denied or second_factor_required where
	// the right has ended, and unavailable where it has changed, because the view has begun with the former one.
	Confirm func(ctx context.Context) error
}

type accessKey struct{}

var errNoAccess = errors.New("the route has no authentication")

// WithAccess returns a context that carries the right of the caller.
func WithAccess(ctx context.Context, access Access) context.Context {
	return context.WithValue(ctx, accessKey{}, access)
}

// ConfirmAccess looks up again whether the caller may still do what the request asks for. Requests that last call it:
// before the answer of a wait, and before each event of a stream.
func ConfirmAccess(ctx context.Context) error {
	access, ok := ctx.Value(accessKey{}).(Access)
	if !ok {
		return errNoAccess
	}
	return access.Confirm(ctx)
}

// ConfirmAfterBody is ConfirmAccess for a request whose body was slow, and reports whether it was. Otherwise a client
// that sends slowly could write long after its token was revoked.
func ConfirmAfterBody(ctx context.Context) (bool, error) {
	access, ok := ctx.Value(accessKey{}).(Access)
	if !ok || time.Since(access.GrantedAt) < access.Trust {
		return false, nil
	}
	return true, access.Confirm(ctx)
}

// AccessChanged says that the right of the caller has changed while the request arrived.
func AccessChanged() error {
	err := NewError(api.CodeUnavailable,
		"What you may do has changed while the request arrived. This request has changed nothing; send it again.")
	err.RetryAfter = time.Second
	return err
}
