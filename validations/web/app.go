package web

import (
	"context"
	"embed"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/external"
	"github.com/simplevalidations/simplevalidations/validations/insights"
	"github.com/simplevalidations/simplevalidations/validations/progress"
	"github.com/simplevalidations/simplevalidations/validations/web/viewer"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
)

//go:embed templates/validations/*.html
var templates embed.FS

// Workflows knows what can be started.
type Workflows interface {
	// FirstStart returns a command that starts a run at the service's address, or "" if the organization has no
	// active workflow.
	FirstStart(ctx context.Context, orgID uuid.UUID, address string) (string, error)
	// Names returns the names of the organization's workflows in alphabetical order, up to a limit.
	Names(ctx context.Context, orgID uuid.UUID) ([]validations.WorkflowName, error)
}

// Deps are the services that the views call.
type Deps struct {
	Runs      *validations.Service
	Insights  *insights.Reader
	Signing   *external.Keys
	Executor  *execution.Executor
	Waiters   *progress.Waiters
	Keys      *admin.Inspector
	Usage     *quota.Service
	Users     *users.Service
	Workflows Workflows
	Webhooks  *webhooks.Service
	Callbacks core.Limiter
	// StreamsPerOrg bounds the open event streams of one organization; 0 means no limit.
	StreamsPerOrg int
	Validator     *core.Validator
	// Address is the service's public URL, without a slash at its end.
	Address string
	// RequireRecentSignIn protects a view whose visitor has to confirm who they are (signin.App).
	RequireRecentSignIn func(core.View) core.View
}

// App is the API, the pages and the event streams of runs.
type App struct {
	Deps

	pages     *pages.Set
	events    *progress.Streams
	documents *viewer.App
}

// New makes the app.
func New(deps Deps) (*App, error) {
	set, err := pages.Parse(templates, "templates/validations")
	if err != nil {
		return nil, err
	}
	return &App{
		Deps: deps, pages: set,
		events:    progress.NewStreams(deps.Runs, deps.Waiters, deps.Validator, deps.StreamsPerOrg),
		documents: viewer.New(deps.Runs, deps.Validator, set),
	}, nil
}
