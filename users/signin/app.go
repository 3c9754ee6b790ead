// Package signin is how people come into the dashboard: sessions, passwords, second factors, the provider of OpenID
// Connect, and the pages on which they confirm again who they are.
package signin

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/users/account"
	"github.com/simplevalidations/simplevalidations/users/factors"
	"github.com/simplevalidations/simplevalidations/users/mails"
)

//go:embed templates/signin/*.html
var templates embed.FS

// Config is what the service needs beside the database. Its zero value sends no mail and keeps no second factors.
type Config struct {
	// The keys of mails also encrypt the secrets of second factors.
	mails.Config

	// Address is the service's public URL, without a slash at its end, for the links in mails.
	Address string
	// Cell is the name of the installation among several, for tokens.
	Cell string
	// OpenID is the provider that people may sign in with; nil for none.
	OpenID *OpenID
}

// Service keeps sessions and the ways to begin one.
type Service struct {
	db       *db.DB
	check    *core.Validator
	accounts *account.Service
	factors  *factors.Service
	mails    *mails.Service
	cfg      Config
}

// NewService makes the service.
func NewService(
	database *db.DB, check *core.Validator, accounts *account.Service, second *factors.Service,
	letters *mails.Service, cfg Config,
) *Service {
	return &Service{db: database, check: check, accounts: accounts, factors: second, mails: letters, cfg: cfg}
}

// App is the pages of signing in.
type App struct {
	service *Service
	check   *core.Validator
	pages   *pages.Set
	signIns core.Limiter
	// familiar caches the pairs of account and network with a recent sign-in.
	familiar *lru.Cache[string, struct{}]
}

// maxFamiliar bounds the cache of recent sign-ins.
const maxFamiliar = 10_000

// New makes the app. signIns limits attempts to sign in.
func New(service *Service, check *core.Validator, signIns core.Limiter) (*App, error) {
	set, err := pages.Parse(templates, "templates/signin")
	if err != nil {
		return nil, err
	}
	familiar, err := lru.New[string, struct{}](maxFamiliar)
	if err != nil {
		return nil, fmt.Errorf("make the cache of sign-ins: %w", err)
	}
	return &App{service: service, check: check, pages: set, signIns: signIns, familiar: familiar}, nil
}

// Pages adds the app's pages to the dashboard. They belong to no organization.
func (a *App) Pages(web *echo.Group) {
	web.GET("/sign-in/", a.showSignIn)
	web.POST("/sign-in/", a.signIn)
	web.GET("/sign-in/code/", a.codePage)
	web.POST("/sign-in/code/", a.codeForm)
	web.GET("/sign-in/provider/", a.toProvider)
	web.GET("/sign-in/provider/callback/", a.fromProvider)
	web.POST("/sign-out/", a.signOut)
	web.POST("/account/sessions/end/", a.endSessions)
	web.POST("/account/sessions/:id/end/", a.endSession)
	web.GET("/account/second-factor/", a.factorPage)
	web.POST("/account/second-factor/confirm/", a.RequireRecentSignInOfVisitor(a.confirmFactorForm))
	web.POST("/account/second-factor/codes/", a.RequireRecentSignInOfVisitor(a.renewCodesForm))
	web.POST("/account/second-factor/remove/", a.RequireRecentSignInOfVisitor(a.removeFactorForm))
	web.GET("/password/", a.forgottenPage)
	web.POST("/password/", a.forgottenForm)
	web.GET("/password/:token/", a.newPasswordPage)
	web.POST("/password/:token/", a.newPasswordForm)
}

// MayGuess counts an attempt with a password, because comparing one costs much memory and time. An attempt that is
// refused is not counted, so the limit slows guesses and never locks an account.
func (a *App) MayGuess(ctx context.Context, subject string) error {
	allowance := a.signIns.Allow(ctx, subjectID(subject))
	if allowance.Wait <= 0 {
		return nil
	}
	refused := core.RateLimited("", allowance.Wait)
	refused.Detail = fmt.Sprintf("Too many password attempts. Try again in %s.",
		core.Plural(refused.RetrySeconds(), "second"))
	return refused
}

// mayGuessFrom counts an attempt by the network of the client.
func (a *App) mayGuessFrom(c echo.Context) error {
	return a.MayGuess(c.Request().Context(), "network "+share.Network(c.RealIP()))
}

// BindGuess reads a form in which a visitor may guess, and counts the attempt by the network.
func (a *App) BindGuess(c echo.Context, form any) error {
	if err := core.BindForm(c, a.check, form); err != nil {
		return err
	}
	return a.mayGuessFrom(c)
}

func subjectID(subject string) uuid.UUID {
	digest := sha256.Sum256([]byte(subject))
	return uuid.UUID(digest[:16])
}
