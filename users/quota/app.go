// Package quota counts the runs of organizations by the month, charges each run once, and refuses those beyond the
// quota.
package quota

import (
	"context"
	"embed"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

//go:embed templates/quota/*.html
var templates embed.FS

// RunCounter counts the runs of a period by day and by workflow, which the usage counters do not.
type RunCounter interface {
	CountRuns(ctx context.Context, orgID uuid.UUID, period time.Time) (RunCounts, error)
}

// Service reads the usage of organizations.
type Service struct {
	db *db.DB
}

// NewService makes the service.
func NewService(database *db.DB) *Service {
	return &Service{db: database}
}

// App shows the usage of an organization.
type App struct {
	service *Service
	runs    RunCounter
	keys    *admin.Inspector
	pages   *pages.Set
}

// New makes the app.
func New(service *Service, keys *admin.Inspector, runs RunCounter) (*App, error) {
	set, err := pages.Parse(templates, "templates/quota")
	if err != nil {
		return nil, err
	}
	return &App{service: service, keys: keys, runs: runs, pages: set}, nil
}

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(routes *core.Routes) {
	routes.GET("/usage/", core.As(api.RoleViewer, "see the usage", a.usage))
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.Group(pages.OrgRoute).GET("/usage/", core.As(api.RoleViewer, "see the usage", a.usagePage))
}
