// Package users owns organizations, their members, invitations and settings. Tokens, signing in, quotas and audit
// records are packages of their own below it.
package users

import (
	"embed"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/audit"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

//go:embed templates/users/*.html
var templates embed.FS

// App is the app: its service and the views on it.
type App struct {
	Access *access.App
	SignIn *signin.App
	Quota  *quota.App

	service *Service
	audit   *audit.App
	guard   *idempotency.Guard
	check   *core.Validator
	pages   *pages.Set
}

// New makes the app. signIns limits attempts to sign in.
func New(
	service *Service, guard *idempotency.Guard, keys *admin.Inspector, check *core.Validator, runs quota.RunCounter,
	signIns core.Limiter,
) (*App, error) {
	set, err := pages.Parse(templates, "templates/users")
	if err != nil {
		return nil, err
	}
	a := &App{service: service, guard: guard, check: check, pages: set}
	if a.SignIn, err = signin.New(service.SignIn, check, signIns); err != nil {
		return nil, err
	}
	if a.Access, err = access.New(service.Access, a.SignIn, check); err != nil {
		return nil, err
	}
	if a.audit, err = audit.New(service.db, service.Access, check); err != nil {
		return nil, err
	}
	if a.Quota, err = quota.New(service.Quota, keys, runs); err != nil {
		return nil, err
	}
	return a, nil
}
