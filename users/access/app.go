// Package access decides who may use the API: it owns the tokens, finds the holder of each request's token, and bounds
// how many requests a token may send.
package access

import (
	"embed"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/flush"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/signin"
)

//go:embed templates/access/*.html
var templates embed.FS

// Service makes, finds and ends tokens.
type Service struct {
	db       *db.DB
	check    *core.Validator
	accounts *account.Service
	// cell is the name of the installation among several; empty where it is the only one.
	cell string
	used *flush.Collector[usedTokens]
	// tokenCache caches the holders of recently used tokens.
	tokenCache *lru.Cache[tokenDigest, tokenHolder]
}

// NewService makes the service. New tokens name the cell.
func NewService(database *db.DB, check *core.Validator, accounts *account.Service, cell string) (*Service, error) {
	tokens, err := lru.New[tokenDigest, tokenHolder](maxCachedTokens)
	if err != nil {
		return nil, fmt.Errorf("make the cache of tokens: %w", err)
	}
	return &Service{
		db: database, check: check, accounts: accounts, cell: cell, used: flush.NewCollector(newUsedTokens),
		tokenCache: tokens,
	}, nil
}

// App authenticates requests, and shows the tokens of an organization.
type App struct {
	service *Service
	signIn  *signin.App
	check   *core.Validator
	pages   *pages.Set
}

// New makes the app.
func New(service *Service, signIn *signin.App, check *core.Validator) (*App, error) {
	set, err := pages.Parse(templates, "templates/access")
	if err != nil {
		return nil, err
	}
	return &App{service: service, signIn: signIn, check: check, pages: set}, nil
}

// Routes adds the app's routes to the authenticated API. Tokens take no keys: an answer that holds a secret must not be
// kept. Whose tokens one may see, rotate and revoke is decided for each token.
func (a *App) Routes(routes *core.Routes) {
	routes.GET("/tokens/", core.As(api.RoleViewer, "list tokens", a.listTokens))
	routes.POST("/tokens/", core.Changing("create tokens", a.createToken))
	routes.POST("/tokens/:id/rotate/", core.Changing("rotate tokens", core.OfID("token", a.rotateToken)))
	routes.DELETE("/tokens/:id/", core.Changing("revoke tokens", core.OfID("token", a.revokeToken)))
}

// Pages adds the app's pages to the dashboard.
func (a *App) Pages(web *echo.Group) {
	org := web.Group(pages.OrgRoute)
	org.GET("/tokens/", core.As(api.RoleViewer, "see tokens", a.tokensPage))
	// A token outlives its session, so whoever has stolen a session must not make one.
	org.POST("/tokens/", core.As(api.RoleViewer, "create tokens", a.signIn.RequireRecentSignIn(a.createTokenForm)))
	org.POST("/tokens/:id/rotate/",
		core.As(api.RoleViewer, "rotate tokens", a.signIn.RequireRecentSignIn(core.OfID("token", a.rotateTokenForm))))
	org.POST("/tokens/:id/revoke/", core.As(api.RoleViewer, "revoke tokens", core.OfID("token", a.revokeTokenForm)))
}
