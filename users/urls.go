package users

import (
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Routes adds the app's routes to the authenticated API.
func (a *App) Routes(api *echo.Group) {
	api.GET("/me/", a.me)
	api.GET("/orgs/", a.orgs)
	api.GET("/usage/", a.usage)
	api.GET("/audit/", a.listAudits)
	api.GET("/members/", a.listMembers)
	api.POST("/members/", a.addMember, a.guard.Keyed)
	api.PATCH("/members/:id/", a.changeMember)
	api.DELETE("/members/:id/", a.removeMember)
	api.GET("/tokens/", a.listTokens)
	// Without keys: an answer that holds a secret must not be kept.
	api.POST("/tokens/", a.createToken)
	api.POST("/tokens/:id/rotate/", a.rotateToken)
	api.DELETE("/tokens/:id/", a.revokeToken)
	api.GET("/v1/auth/me/", a.meV1)
	api.GET("/v1/orgs/", a.orgs)
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	web.GET("/", a.home)
	web.GET("/sign-in/", a.showSignIn)
	web.POST("/sign-in/", a.signIn)
	web.POST("/sign-out/", a.signOut)
	web.GET("/users/api-key/", a.tokensOfHome)
	web.GET("/account/", a.accountPage)
	web.POST("/account/password/", a.changePassword)
	web.POST("/account/sessions/end/", a.endSessions)
	web.GET(pages.OrgRoute+"/tokens/", a.tokensPage)
	web.POST(pages.OrgRoute+"/tokens/", a.createTokenForm)
	web.POST(pages.OrgRoute+"/tokens/:id/rotate/", a.rotateTokenForm)
	web.POST(pages.OrgRoute+"/tokens/:id/revoke/", a.revokeTokenForm)
	web.GET(pages.OrgRoute+"/members/", a.membersPage)
	web.POST(pages.OrgRoute+"/members/", a.addMemberForm)
	web.POST(pages.OrgRoute+"/members/:id/role/", a.changeMemberForm)
	web.POST(pages.OrgRoute+"/members/:id/remove/", a.removeMemberForm)
	web.GET(pages.OrgRoute+"/usage/", a.usagePage)
	web.GET(pages.OrgRoute+"/audit/", a.auditPage)
}
