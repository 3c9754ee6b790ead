package pages

import (
	"context"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Visitor is who looks at a page. The principal beside it says what the visitor may do in the page's organization.
type Visitor struct {
	UserID uuid.UUID
	Email  string
	Name   string
	// Operator says that the visitor runs the installation.
	Operator bool
	// Orgs are those that the visitor is a member of, the longest membership first.
	Orgs []Organization
	// Home is the slug of the organization to which a sign-in leads: the one that the visitor used last. It is "" for
	// visitors who belong to none.
	Home string
}

// roleIn returns the visitor's role in an organization; "" for an organization of others.
func (v Visitor) roleIn(slug string) api.Role {
	for _, org := range v.Orgs {
		if org.Slug == slug {
			return org.Role
		}
	}
	return ""
}

// Organization is one that a visitor may switch to.
type Organization struct {
	Slug string
	Name string
	Role api.Role
	// FactorRequired says that the organization requires a second factor.
	FactorRequired bool
}

type visitorKey struct{}

// WithVisitor returns a context that carries the visitor.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// VisitorFrom returns the visitor of the request; false without a session.
func VisitorFrom(ctx context.Context) (Visitor, bool) {
	v, ok := ctx.Value(visitorKey{}).(Visitor)
	return v, ok
}
