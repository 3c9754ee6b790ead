// Package workflows owns workflows and their versions, and the start endpoint: the request that turns
// a document into a validation run exactly once.
package workflows

import (
	"context"
	"embed"
	"fmt"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
)

//go:embed templates/workflows/*.html
var templates embed.FS

// RunLimiter bounds how many runs an organization may start in a short time.
type RunLimiter interface {
	Allow(ctx context.Context, orgID uuid.UUID) core.Allowance
}

// RunPages show the page of the run that a request is about.
type RunPages interface {
	// ShowRefused answers a form of the page that was refused.
	ShowRefused(c echo.Context, err error) error
}

// App is the app: its services and the views on them.
type App struct {
	service *Service
	usage   UsageReader
	runs    *validations.Service
	staged  *jobs.Signal
	starts  *Starter
	inband  *validations.Inband
	guard   *idempotency.Guard
	limit   RunLimiter
	check   *core.Validator
	limits  BodyLimits
	// address is that of the server, for what is taken elsewhere.
	address  string
	runPages RunPages
	pages    *pages.Set
	files    *FileParser
	// versions are those that were started, by the names they were asked for.
	versions *lru.Cache[versionName, taggedVersion]
}

// UsageReader tells how much of its quota an organization has used.
type UsageReader interface {
	RunUsage(ctx context.Context, orgID uuid.UUID) (users.PeriodUsage, error)
}

// New makes the app.
func New(
	service *Service, usage UsageReader, starts *Starter, inband *validations.Inband, guard *idempotency.Guard,
	limit RunLimiter, check *core.Validator, limits BodyLimits, address string, runPages RunPages,
) (*App, error) {
	set, err := pages.Parse(templates, "templates/workflows")
	if err != nil {
		return nil, fmt.Errorf("parse the pages of workflows: %w", err)
	}
	files, err := NewFileParser()
	if err != nil {
		return nil, err
	}
	versions, err := newVersions()
	if err != nil {
		return nil, err
	}
	return &App{
		service: service, usage: usage, runs: service.runs, staged: starts.staged, starts: starts, inband: inband,
		guard: guard, limit: limit, check: check, limits: limits, address: address, runPages: runPages,
		pages: set, files: files, versions: versions,
	}, nil
}

// Operations are what people call what the app does once for each key.
func Operations() idempotency.Operations {
	return idempotency.Operations{
		EndpointStart: "Start a run", endpointRerun: "Repeat a run", endpointCreate: "Create a workflow",
		endpointVersion: "Add a version of a workflow", endpointImport: "Import a workflow",
	}
}

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/workflows/", a.list)
	api.GET("/workflows/:id/", a.read)
	api.POST("/workflows/", a.create, a.guard.Keyed)
	api.PATCH("/workflows/:id/", a.update)
	api.POST("/workflows/:id/activate/", a.activate)
	api.POST("/workflows/:id/deactivate/", a.deactivate)
	api.GET("/workflows/:id/export/", a.exportFile)
	api.POST("/workflows/import/", a.importFile, a.guard.Keyed)
	api.POST("/workflows/:id/versions/", a.createVersion, a.guard.Keyed)
	api.POST(routeStart, a.start(sourceOf, a.inband.Show), a.guard.Keyed)
	api.POST("/runs/:id/rerun/", a.rerun, a.guard.Keyed)
	api.GET("/v1/orgs/:org/workflows/", a.list, core.OwnOrganization)
	api.GET("/v1/orgs/:org/workflows/:id/", a.read, core.OwnOrganization)
	// Its clients send no keys and cannot be made to.
	api.POST(routeStartV1, a.start(existingClient, a.inband.ShowV1), core.OwnOrganization, a.guard.KeyOptional)
}
