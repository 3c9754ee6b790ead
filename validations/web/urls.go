package web

import (
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *core.Routes) {
	api.GET("/runs/", core.As(core.RoleViewer, "list runs", a.listRuns))
	api.GET("/runs/:id/", onRun("see runs", a.getRun))
	api.GET("/runs/:id/findings/", onRun("see findings", a.listFindings))
	api.GET("/runs/:id/comparison/", onRun("see findings", a.compareRun))
	api.GET("/runs/:id/document/", onRun(seeDocuments, a.documents.Show))
	api.GET("/runs/:id/document/content/", onRun(seeDocuments, a.documents.Download))
	api.GET("/runs/:id/events/", onRun("follow runs", a.events.RunEvents))
	api.POST("/runs/:id/cancel/", onRun(cancelRuns, a.cancelRun))
	api.GET("/v1/orgs/:org/runs/:id/", onRun("see runs", a.getRunV1), core.OwnOrganization)
	api.GET("/signing-secrets/", core.As(core.RoleAdmin, "see the signing secrets", a.showSecrets))
	// A callback has no token but a signature.
	api.POST("/callbacks/:id/", a.acceptCallback)
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	org := web.Group(pages.OrgRoute)
	org.GET("/", core.As(core.RoleViewer, "see runs", a.overviewPage))
	org.GET("/runs/", core.As(core.RoleViewer, "see runs", a.runsPage))
	org.GET("/export-runs/", core.As(core.RoleViewer, "see runs", a.exportRuns))
	org.GET("/runs/:id/", onRun("see runs", a.runPage))
	org.GET("/runs/:id/findings/:format/", onRun("see findings", a.downloadFindings))
	org.GET("/runs/:id/comparison/", onRun("see findings", a.comparisonPage))
	org.GET("/runs/:id/document/", onRun(seeDocuments, a.documents.Page))
	org.GET("/runs/:id/document/content/", onRun(seeDocuments, a.documents.Download))
	org.POST("/runs/:id/cancel/", onRun(cancelRuns, a.cancelForm))
	org.POST("/settings/secrets/",
		core.As(core.RoleAdmin, "see the signing secrets", a.RequireRecentSignIn(a.secretsForm)))
	org.POST("/settings/secrets/rotate/",
		core.As(core.RoleOwner, "rotate the signing secrets", a.RequireRecentSignIn(a.rotateSecretsForm)))
	org.GET("/events/", core.As(core.RoleViewer, "follow runs", a.events.PageEvents))
}

const (
	cancelRuns   = "cancel runs"
	seeDocuments = "see documents"
)

// viewOfRun answers a request about a run.
type viewOfRun func(c echo.Context, principal core.Principal, id uuid.UUID) error

// onRun is core.As for a view of the run that an address names, for every role. A view that demands a higher role finds
// the run first: a run of another organization is not_found for every role.
func onRun(action string, view viewOfRun) echo.HandlerFunc {
	return core.As(core.RoleViewer, action, func(c echo.Context, principal core.Principal) error {
		id, err := core.PathID(c, "run")
		if err != nil {
			return err
		}
		return view(c, principal, id)
	})
}
