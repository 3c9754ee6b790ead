package users

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(routes *core.Routes) {
	a.Access.Routes(routes)
	a.Quota.Routes(routes)
	a.audit.Routes(routes)
	const viewer, admin = api.RoleViewer, api.RoleAdmin
	routes.GET("/me/", core.As(viewer, "see the caller", a.me))
	routes.GET("/orgs/", core.As(viewer, "list organizations", a.orgs))
	routes.GET("/organization/", core.As(viewer, "see the settings", a.readOrganization))
	routes.PATCH("/organization/", core.As(api.RoleOwner, "change the settings", a.changeOrganization))
	routes.GET("/members/", core.As(viewer, "list members", a.listMembers))
	routes.POST("/members/", core.As(admin, "invite members", a.inviteMember), a.guard.Keyed)
	routes.GET("/members/invitations/", core.As(admin, "list invitations", a.listInvitations))
	// A link is a secret, so its answer must not be kept for a key.
	routes.POST("/members/invitations/:id/link/",
		core.As(admin, "invite members", core.OfID("invitation", a.linkInvitation)))
	routes.DELETE("/members/invitations/:id/",
		core.As(admin, "revoke invitations", core.OfID("invitation", a.revokeInvitation)))
	routes.DELETE("/members/me/", core.Changing("leave", core.WithWholeRole(a.leave)))
	routes.PATCH("/members/:id/", core.As(admin, "change members", core.OfID("member", a.changeMember)))
	routes.DELETE("/members/:id/", core.As(admin, "remove members", core.OfID("member", a.removeMember)))
	// The caller's own invitations, of all organizations. A token that only reads one does not answer for the others.
	const executor = api.RoleExecutor
	routes.GET("/invitations/", core.As(executor, "see invitations", core.WithWholeRole(a.ownInvitations)))
	routes.POST("/invitations/:id/accept/",
		core.As(executor, "accept invitations", core.WithWholeRole(core.OfID("invitation", a.acceptInvitation))))
	routes.POST("/invitations/:id/decline/",
		core.As(executor, "decline invitations", core.WithWholeRole(core.OfID("invitation", a.declineInvitation))))
	routes.GET("/v1/auth/me/", core.As(viewer, "see the caller", a.meV1))
	routes.GET("/v1/orgs/", core.As(viewer, "list organizations", a.orgs))
}

// Pages adds the app's pages to the dashboard. Those below /account/ are the visitor's own and belong to no
// organization.
func (a *App) Pages(web *echo.Group) {
	a.SignIn.Pages(web)
	a.Access.Pages(web)
	a.Quota.Pages(web)
	a.audit.Pages(web)
	a.visitorPages(web)
	a.orgPages(web.Group(pages.OrgRoute))
}

// visitorPages adds the pages that belong to no organization.
func (a *App) visitorPages(web *echo.Group) {
	web.GET("/", a.home)
	web.GET("/users/api-key/", a.tokensOfHome)
	web.GET("/account/", a.accountPage)
	web.POST("/account/password/", a.changePassword)
	web.POST("/account/organizations/:org/leave/", a.leaveForm)
	web.POST("/account/invitations/:id/accept/", a.answerForm(byID, a.service.accept, toAccepted))
	web.POST("/account/invitations/:id/decline/", a.answerForm(byID, a.service.decline, toDeclined))
	web.POST("/account/second-factor/", a.SignIn.RequireRecentSignInOfVisitor(a.beginFactorForm))
	web.GET("/invitations/:token/", a.invitationPage)
	web.POST("/invitations/:token/join/", a.joinForm)
	web.POST("/invitations/:token/accept/", a.answerForm(byLink, a.service.accept, toAccepted))
	web.POST("/invitations/:token/decline/", a.answerForm(byLink, a.service.decline, toDeclined))
}

// orgPages adds the pages of an organization.
func (a *App) orgPages(org *echo.Group) {
	const viewer, admin = api.RoleViewer, api.RoleAdmin
	org.GET("/members/", core.As(viewer, "see members", a.membersPage))
	org.POST("/members/", core.As(admin, "invite members", a.inviteForm))
	org.POST("/members/invitations/:id/link/",
		core.As(admin, "invite members", core.OfID("invitation", a.renewLinkForm)))
	org.POST("/members/invitations/:id/revoke/",
		core.As(admin, "revoke invitations", core.OfID("invitation", a.revokeInvitationForm)))
	org.POST("/members/:id/role/",
		core.As(admin, "change members", a.SignIn.RequireRecentSignIn(core.OfID("member", a.changeMemberForm))))
	org.POST("/members/:id/password/",
		core.As(admin, "make links for members", a.SignIn.RequireRecentSignIn(core.OfID("member", a.linkPasswordForm))))
	org.POST("/members/:id/second-factor/remove/",
		core.As(admin, "remove second factors",
			a.SignIn.RequireRecentSignIn(core.OfID("member", a.removeMembersFactorForm))))
	org.POST("/members/:id/remove/", core.As(admin, "remove members", core.OfID("member", a.removeMemberForm)))
	org.GET("/settings/", core.As(viewer, "see the settings", a.settingsPage))
	org.POST("/settings/", core.As(api.RoleOwner, "change the settings", a.SignIn.RequireRecentSignIn(a.settingsForm)))
}
