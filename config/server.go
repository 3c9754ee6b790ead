package config

import (
	"fmt"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// NewRouter makes the router with everything that the service answers. What the middleware does to a
// request is in the order of this list.
func NewRouter(p *Project) (*echo.Echo, error) {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	writeError, err := pages.WriteErrors(edge.APIPrefix+"/", core.WriteProblem)
	if err != nil {
		return nil, err
	}
	e.HTTPErrorHandler = core.HandleError(p.log, writeError)
	e.IPExtractor = edge.ClientAddress(p.settings.TrustedProxies)
	api := core.NewRoutes(e.Group(edge.APIPrefix))
	e.Pre(edge.ShortMethod, edge.OneAddress, edge.RouteHead)
	e.Use(
		edge.RestoreHead,
		core.RequestIDs(),
		edge.Traced(p.tracer),
		core.Observe(
			p.requestLog.Record(edge.DescribeLogged()),
			p.metrics.HTTP.Observe,
			core.AccessLog(p.log, edge.DescribeRequest),
		),
		core.Recover(p.log),
		edge.FixedHeaders(p.settings.isEncrypted()),
		pages.HostCookies(p.settings.isEncrypted()),
		core.WellFormed,
		edge.Authenticated(idempotency.ReadKey),
		edge.Authenticated(p.users.Access.Authenticate(p.edge, api)),
		edge.Authenticated(edge.KnownParameters),
		edge.Visited(p.users.SignIn.Visit(p.edge.Trust)),
	)
	registerHealth(e, p)
	if err := edge.RegisterDocs(e); err != nil {
		return nil, err
	}
	for _, add := range []func(*core.Routes){
		p.users.Routes, p.validations.Routes, p.workflows.Routes, p.keys.Routes, p.requests.Routes,
		p.webhooks.Routes,
	} {
		add(api)
	}
	if err := registerPagesOf(e, p); err != nil {
		return nil, err
	}
	p.trial.Service = e
	return e, nil
}

// registerPagesOf adds the pages of the dashboard.
func registerPagesOf(e *echo.Echo, p *Project) error {
	if err := pages.Register(e); err != nil {
		return fmt.Errorf("install the dashboard: %w", err)
	}
	web := e.Group(strings.TrimSuffix(pages.Root, "/"))
	for _, add := range []func(*echo.Group){
		p.keys.Pages, p.requests.Pages, p.users.Pages, p.validations.Pages, p.workflows.Pages, p.editor.Pages,
		p.search.Pages, p.webhooks.Pages, p.console.Pages, p.trial.Pages,
	} {
		add(web)
	}
	return nil
}
