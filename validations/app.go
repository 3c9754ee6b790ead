// Package validations owns submissions, runs, step runs and findings, and executes runs.
//
// A run stores the digest of the definition it executes, so it needs no workflow, and editing a
// workflow never changes what an old run checked.
package validations

import (
	"context"
	"embed"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users"
)

//go:embed templates/validations/*.html
var templates embed.FS

// Keys tells about idempotency keys.
type Keys interface {
	// Replays returns how often each key was replayed. One that is no longer kept is not in the answer.
	Replays(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]int64, error)
	// RunsStartedWith returns the runs that were started with a key that is still kept.
	RunsStartedWith(ctx context.Context, orgID uuid.UUID, key string) ([]uuid.UUID, error)
	// Hours tells what starts came to in the hours that began at a time or later.
	Hours(ctx context.Context, orgID uuid.UUID, since time.Time) (admin.Hours, error)
	// Stuck counts the unfinished keys whose lock has expired, up to admin.MaxStuck.
	Stuck(ctx context.Context, orgID uuid.UUID) (int64, error)
}

// Sessions tells whether the visitor of a page that is still being answered may go on seeing it.
type Sessions interface {
	Lasts(c echo.Context) (bool, error)
}

// Usage tells how much of its quota an organization has used.
type Usage interface {
	RunUsage(ctx context.Context, orgID uuid.UUID) (users.PeriodUsage, error)
}

// Workflows tells what can be run.
type Workflows interface {
	// FirstStart is a command that starts a run at the service with the address; "" where no workflow can be run.
	FirstStart(ctx context.Context, orgID uuid.UUID, address string) (string, error)
}

// Others are what the pages of runs ask other apps for.
type Others struct {
	Keys      Keys
	Sessions  Sessions
	Usage     Usage
	Workflows Workflows
}

// App is the app: its service and the views on it.
type App struct {
	service *Service
	waiters *Waiters
	streams *streams
	others  Others
	check   *core.Validator
	pages   *pages.Set
}

// New makes the app.
func New(service *Service, waiters *Waiters, others Others, check *core.Validator) (*App, error) {
	set, err := pages.Parse(templates, "templates/validations")
	if err != nil {
		return nil, err
	}
	return &App{
		service: service, waiters: waiters, streams: newStreams(), others: others, check: check, pages: set,
	}, nil
}
