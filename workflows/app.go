// Package workflows owns workflows and their versions, and the start endpoint: the request that turns
// a document into a validation run exactly once.
package workflows

import (
	"embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations/insights"
	"github.com/simplevalidations/simplevalidations/validations/progress"
	"github.com/simplevalidations/simplevalidations/workflows/files"
	"github.com/simplevalidations/simplevalidations/workflows/start"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

//go:embed templates/workflows/*.html
var templates embed.FS

// RunPages show the page of the run that a request is about.
type RunPages interface {
	// ShowRefused answers a form of the page that was refused.
	ShowRefused(c echo.Context, principal core.Principal, id uuid.UUID, err error) error
	// Cancel cancels a run if the principal may do so.
	Cancel(c echo.Context, principal core.Principal, id uuid.UUID) error
}

// Deps are what the app needs.
type Deps struct {
	Service *Service
	// Insights reads the results of workflows for their pages.
	Insights *insights.Reader
	Usage    *quota.Service
	Starter  *start.Starter
	Waiters  *progress.Waiters
	Guard    *idempotency.Guard
	// Limiter bounds how fast an organization starts runs.
	Limiter   core.Limiter
	Validator *core.Validator
	Limits    body.Limits
	// Address is the URL of the service, for snippets and files that are used elsewhere.
	Address  string
	RunPages RunPages
	Files    *files.Parser
}

// App is the app: its services and the views on them.
type App struct {
	Deps

	starts *start.API
	pages  *pages.Set
}

// New makes the app.
func New(deps Deps) (*App, error) {
	set, err := pages.Parse(templates, "templates/workflows")
	if err != nil {
		return nil, fmt.Errorf("parse the pages of workflows: %w", err)
	}
	versions, err := newVersionCache(deps.Service)
	if err != nil {
		return nil, err
	}
	return &App{
		Deps: deps, starts: start.NewAPI(deps.Starter, versions, deps.Waiters, deps.Limiter, deps.Limits), pages: set,
	}, nil
}

// Operations are the names of what the app does once for each key.
func Operations() idempotency.Operations {
	return idempotency.Operations{
		start.Endpoint:      {Title: "Start a run", Target: "workflow"},
		start.EndpointRerun: {Title: "Repeat a run", Target: "run"},
		EndpointCreate:      {Title: "Create a workflow", Target: "workflow"},
		EndpointVersion:     {Title: "Add a version of a workflow", Target: "workflow"},
		EndpointImport:      {Title: "Import a workflow", Target: "workflow"},
	}
}
