// Package audit shows the audit records of an organization. Who acts writes them (core.Audit).
package audit

import (
	"embed"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/access"
)

//go:embed templates/audit/*.html
var templates embed.FS

// Service reads audit records.
type Service struct {
	db     *db.DB
	tokens *access.Service
}

// App shows audit records.
type App struct {
	service *Service
	check   *core.Validator
	pages   *pages.Set
}

// New makes the app.
func New(database *db.DB, tokens *access.Service, check *core.Validator) (*App, error) {
	set, err := pages.Parse(templates, "templates/audit")
	if err != nil {
		return nil, err
	}
	return &App{service: &Service{db: database, tokens: tokens}, check: check, pages: set}, nil
}

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(routes *core.Routes) {
	routes.GET("/audit/", core.As(api.RoleAdmin, "read the audit records", a.listAudits))
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.Group(pages.OrgRoute).GET("/audit/", core.As(api.RoleAdmin, "read the audit log", a.auditPage))
}
