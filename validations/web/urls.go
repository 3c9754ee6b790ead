package web

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(routes *core.Routes) {
	routes.GET("/runs/", core.As(api.RoleViewer, "list runs", a.listRuns))
	routes.GET("/runs/:id/", onRun("see runs", a.getRun))
	routes.GET("/runs/:id/findings/", onRun("see findings", a.listFindings))
	routes.GET("/runs/:id/comparison/", onRun("see findings", a.compareRun))
	routes.GET("/runs/:id/document/", onRun(seeDocuments, a.documents.Show))
	routes.GET("/runs/:id/document/content/", onRun(seeDocuments, a.documents.Download))
	routes.GET("/runs/:id/events/", onRun("follow runs", a.events.RunEvents))
	routes.POST("/runs/:id/cancel/", onRun(cancelRuns, a.cancelRun))
	routes.GET("/v1/orgs/:org/runs/:id/", onRun("see runs", a.getRunV1), core.OwnOrganization)
	routes.GET("/signing-secrets/", core.As(api.RoleAdmin, "see the signing secrets", a.showSecrets))
	// A callback has no token but a signature.
	routes.POST("/callbacks/:id/", a.acceptCallback)
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	org := web.Group(pages.OrgRoute)
	org.GET("/", core.As(api.RoleViewer, "see runs", a.overviewPage))
	org.GET("/runs/", core.As(api.RoleViewer, "see runs", a.runsPage))
	org.GET("/export-runs/", core.As(api.RoleViewer, "see runs", a.exportRuns))
	org.GET("/runs/:id/", onRun("see runs", a.runPage))
	org.GET("/runs/:id/findings/:format/", onRun("see findings", a.downloadFindings))
	org.GET("/runs/:id/comparison/", onRun("see findings", a.comparisonPage))
	org.GET("/runs/:id/document/", onRun(seeDocuments, a.documents.Page))
	org.GET("/runs/:id/document/content/", onRun(seeDocuments, a.documents.Download))
	org.POST("/runs/:id/cancel/", onRun(cancelRuns, a.cancelForm))
	org.POST("/settings/secrets/",
		core.As(api.RoleAdmin, "see the signing secrets", a.RequireRecentSignIn(a.secretsForm)))
	org.POST("/settings/secrets/rotate/",
		core.As(api.RoleOwner, "rotate the signing secrets", a.RequireRecentSignIn(a.rotateSecretsForm)))
	org.GET("/events/", core.As(api.RoleViewer, "follow runs", a.events.PageEvents))
}

const (
	cancelRuns   = "cancel runs"
	seeDocuments = "see documents"
)

// onRun is core.As for a view of the run that an address names, for every role. A view that demands a higher role finds
// the run first: a run of another organization is not_found for every role.
func onRun(action string, view core.ViewOf) echo.HandlerFunc {
	return core.As(api.RoleViewer, action, core.OfID("run", view))
}
