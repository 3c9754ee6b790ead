// Package users owns organizations, users, memberships with their roles, API tokens, authentication
// and the usage counters that hold the quotas.
package users

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

//go:embed templates/users/*.html
var templates embed.FS

// RunCounter counts the runs of a period by day and by workflow, which the usage counters do not.
type RunCounter interface {
	CountRuns(ctx context.Context, orgID uuid.UUID, period time.Time) (RunCounts, error)
}

// App is the app: its service and the views on it.
type App struct {
	service *Service
	guard   *idempotency.Guard
	check   *core.Validator
	runs    RunCounter
	keys    *admin.Inspector
	pages   *pages.Set
	signIns Limiter
	// familiar caches the pairs of account and network with a recent sign-in.
	familiar *lru.Cache[string, struct{}]
}

// maxFamiliar bounds the cache of recent sign-ins.
const maxFamiliar = 10_000

// New makes the app. signIns limits attempts to sign in.
func New(
	service *Service, guard *idempotency.Guard, keys *admin.Inspector, check *core.Validator, runs RunCounter,
	signIns Limiter,
) (*App, error) {
	set, err := pages.Parse(templates, "templates/users")
	if err != nil {
		return nil, err
	}
	familiar, err := lru.New[string, struct{}](maxFamiliar)
	if err != nil {
		return nil, fmt.Errorf("make the cache of sign-ins: %w", err)
	}
	return &App{
		service: service, guard: guard, keys: keys, check: check, runs: runs, pages: set, signIns: signIns,
		familiar: familiar,
	}, nil
}
