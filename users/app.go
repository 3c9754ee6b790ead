// Package users owns organizations, users, memberships with their roles, API tokens, authentication
// and the usage counters that hold the quotas.
package users

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// RunCounter tells what the runs that were counted in a period were, which the counters alone do not know.
type RunCounter interface {
	CountRuns(ctx context.Context, orgID uuid.UUID, period time.Time) (RunCounts, error)
}

// App is the app: its service and the views on it.
type App struct {
	service *Service
	guard   *idempotency.Guard
	check   *core.Validator
	runs    RunCounter
}

// New makes the app.
func New(service *Service, guard *idempotency.Guard, check *core.Validator, runs RunCounter) *App {
	return &App{service: service, guard: guard, check: check, runs: runs}
}
