// Package editor serves the pages on which workflows are written as YAML: the editor with its check, its drafts and its
// samples, the import of files, and what a version has changed. What it saves is saved by package workflows.
package editor

import (
	"embed"
	"fmt"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/workflows"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

//go:embed templates/editor/*.html
var templates embed.FS

// Deps are what the pages need.
type Deps struct {
	DB        *db.DB
	Workflows *workflows.Service
	Guard     *idempotency.Guard
	Files     *files.Parser
	// Samples checks sample documents by unsaved definitions.
	Samples *Samples
	// Address is the URL of the service, for files that are used elsewhere.
	Address string
}

// App is the pages.
type App struct {
	Deps

	pages *pages.Set
}

// New makes the app.
func New(deps Deps) (*App, error) {
	set, err := pages.Parse(templates, "templates/editor")
	if err != nil {
		return nil, fmt.Errorf("parse the pages of the editor: %w", err)
	}
	return &App{Deps: deps, pages: set}, nil
}

// Pages adds the pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	const author, edit = api.RoleAuthor, workflows.EditWorkflows
	org := web.Group(pages.OrgRoute)
	org.GET("/new-workflow/", core.As(author, edit, a.showNew))
	org.POST("/new-workflow/", core.As(author, edit, a.saveNew))
	org.GET("/import-workflow/", core.As(author, edit, a.showImport))
	org.POST("/import-workflow/", core.As(author, edit, a.saveImport))
	org.GET("/workflows/:id/edit/", a.Workflows.Editing(a.showEdit))
	org.POST("/workflows/:id/edit/", a.Workflows.Editing(a.saveEdit))
	org.GET("/workflows/:id/versions/:number/diff/", core.As(api.RoleViewer, "see workflows", a.diffPage))
}
