// Package validations owns submissions, runs, step runs and findings, and executes runs.
//
// A run stores the digest of the definition it executes, so it needs no workflow, and editing a
// workflow never changes what an old run checked.
package validations

import (
	"context"
	"embed"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

//go:embed templates/validations/*.html
var templates embed.FS

// Keys tells how often idempotency keys were replayed. A key that is no longer kept is not in the answer.
type Keys interface {
	Replays(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]int64, error)
}

// Sessions tells whether the visitor of a page that is still being answered may go on seeing it.
type Sessions interface {
	Lasts(c echo.Context) (bool, error)
}

// App is the app: its service and the views on it.
type App struct {
	service  *Service
	waiters  *Waiters
	streams  *streams
	keys     Keys
	sessions Sessions
	check    *core.Validator
	pages    *pages.Set
}

// New makes the app.
func New(service *Service, waiters *Waiters, keys Keys, sessions Sessions, check *core.Validator) (*App, error) {
	set, err := pages.Parse(templates, "templates/validations")
	if err != nil {
		return nil, err
	}
	return &App{
		service: service, waiters: waiters, streams: newStreams(), keys: keys, sessions: sessions, check: check,
		pages: set,
	}, nil
}
