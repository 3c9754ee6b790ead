package workflows

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/workflows/start"
)

// EditWorkflows is what authors may do.
const EditWorkflows = "edit workflows"

// Routes adds the app's routes to the authenticated API. Starts look up their workflow and their key in the round trip
// that authenticates their caller.
func (a *App) Routes(routes *core.Routes) {
	const viewer, author = api.RoleViewer, api.RoleAuthor
	routes.GET("/workflows/", core.As(viewer, "list workflows", a.list))
	routes.GET("/workflows/:id/", a.onVersion(viewer, "see workflows", a.read))
	routes.POST("/workflows/", core.As(author, EditWorkflows, a.create), a.Guard.Keyed)
	routes.PATCH("/workflows/:id/", a.editing(a.update))
	routes.POST("/workflows/:id/activate/", a.editing(a.setActive(true)))
	routes.POST("/workflows/:id/deactivate/", a.editing(a.setActive(false)))
	routes.GET("/workflows/:id/export/", a.onVersion(viewer, "export workflows", a.exportFile))
	routes.POST("/workflows/import/", core.As(author, EditWorkflows, a.importFile), a.Guard.Keyed)
	routes.POST("/workflows/:id/versions/", a.editing(a.createVersion), a.Guard.Keyed)
	routes.POST("/runs/:id/rerun/", core.As(viewer, "start runs", a.starts.Rerun), a.Guard.Keyed)
	routes.GET("/v1/orgs/:org/workflows/", core.As(viewer, "list workflows", a.list), core.OwnOrganization)
	routes.GET("/v1/orgs/:org/workflows/:id/", a.onVersion(viewer, "see workflows", a.read), core.OwnOrganization)

	current, existing := a.starts.Start(a.starts.Current()), a.starts.Start(a.starts.Existing())
	routes.Prefetch(routes.POST("/workflows/:id/start/", current, a.Guard.Keyed), a.starts.Prefetch)
	// The existing clients send no keys and cannot be made to.
	routes.Prefetch(routes.POST("/v1/orgs/:org/workflows/:id/runs/",
		existing, core.OwnOrganization, a.Guard.KeyOptional), a.starts.Prefetch)
}

// Pages adds the app's pages to the dashboard. Those of one workflow come below its slug or id, so that no slug can be
// taken for a page.
func (a *App) Pages(web *echo.Group) {
	const viewer, executor = api.RoleViewer, api.RoleExecutor
	org := web.Group(pages.OrgRoute)
	org.GET("/launch/", core.As(viewer, "list workflows", a.launchAny))
	org.GET("/workflows/", core.As(viewer, "list workflows", a.workflowsPage))
	org.GET("/workflows/:id/", a.onVersion(viewer, "see workflows", a.workflowPage))
	org.GET("/workflows/:id/export/", a.onVersion(viewer, "export workflows", a.exportFile))
	org.POST("/workflows/:id/activate/", a.editing(a.activeForm(true)))
	org.POST("/workflows/:id/deactivate/", a.editing(a.activeForm(false)))
	org.GET("/workflows/:id/versions/", core.As(viewer, "see workflows", a.versionsPage))
	org.GET("/workflows/:id/versions/:number/", core.As(viewer, "see workflows", a.versionPage))
	org.GET("/workflows/:id/launch/", a.onVersion(executor, "start runs", a.showLaunch))
	org.POST("/workflows/:id/launch/", a.onVersion(executor, "start runs", a.launch))
	org.GET("/workflows/:id/launch/:key/", a.onVersion(executor, "start runs", a.showLaunched))
	org.POST("/runs/:id/rerun/", core.As(executor, "start runs", core.OfID("run", a.rerunForm)))
	org.POST("/select-runs/", core.As(executor, "start runs", a.selectRuns))
}

// VersionView answers a request about a version of a workflow.
type VersionView func(c echo.Context, principal core.Principal, version Version) error

// onVersion is core.As for a view of the version that a request pins, or of the latest. A workflow that the
// organization does not have is not_found for every role.
func (a *App) onVersion(needed api.Role, action string, view VersionView) echo.HandlerFunc {
	return a.Service.on(start.VersionNumber, needed, action, view)
}

func (a *App) editing(view VersionView) echo.HandlerFunc { return a.Service.Editing(view) }

// Editing is for authors who change a workflow, whose latest version the view gets.
func (s *Service) Editing(view VersionView) echo.HandlerFunc {
	return s.on(func(echo.Context) (int, error) { return 0, nil }, api.RoleAuthor, EditWorkflows, view)
}

func (s *Service) on(
	pinned func(c echo.Context) (int, error), needed api.Role, action string, view VersionView,
) echo.HandlerFunc {
	return core.As(api.RoleViewer, action, func(c echo.Context, principal core.Principal) error {
		number, err := pinned(c)
		if err != nil {
			return err
		}
		version, err := s.Find(c.Request().Context(), principal.OrgID, c.Param("id"), number)
		if err != nil {
			return err
		}
		if err := principal.Require(needed, action); err != nil {
			return err
		}
		return view(c, principal, version)
	})
}
