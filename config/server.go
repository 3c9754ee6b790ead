package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is far above what core.WellFormed allows, so that mostly it is the one to refuse,
	// with a problem document.
	maxHeaderBytes = 1 << 20
)

// NewRouter makes the router with everything that the service answers. What the middleware does to a
// request is in the order of this list.
func NewRouter(project *Project) (*echo.Echo, error) {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	writeError, err := pages.WriteErrors(apiPrefix+"/", core.WriteProblem)
	if err != nil {
		return nil, err
	}
	e.HTTPErrorHandler = core.HandleError(project.log, writeError)
	e.IPExtractor = clientAddress(project.settings.TrustedProxies)
	api := core.NewRoutes(e.Group(apiPrefix))
	e.Pre(shortMethod, trailingSlash, routeHead)
	e.Use(
		restoreHead,
		core.RequestIDs(),
		traced(project.tracer),
		core.AccessLog(project.log, describeRequest),
		project.metrics.HTTP.Observe,
		project.requestLog.Record(describeLogged()),
		core.Recover(project.log),
		fixedHeaders(project.settings),
		pages.HostCookies(project.settings.isEncrypted()),
		core.WellFormed,
		authenticated(idempotency.ReadKey),
		authenticated(project.users.Authenticate(project.edge, api)),
		authenticated(knownParameters),
		visited(project.users.SignIn.Visit(project.edge.Trust)),
	)
	registerHealth(e, project)
	if err := registerDocs(e); err != nil {
		return nil, err
	}
	for _, app := range project.apps() {
		app.Routes(api)
	}
	if err := registerPagesOf(e, project); err != nil {
		return nil, err
	}
	project.trial.service = e
	return e, nil
}

const apiPrefix = "/api"

// registerPagesOf adds the pages of the dashboard.
func registerPagesOf(e *echo.Echo, project *Project) error {
	if err := pages.Register(e); err != nil {
		return fmt.Errorf("install the dashboard: %w", err)
	}
	web := e.Group(strings.TrimSuffix(pages.Root, "/"))
	for _, app := range project.pagesApps() {
		app.Pages(web)
	}
	return nil
}

// visited applies a middleware to the pages of the dashboard that need a session. A form that another site has sent is
// refused before anything else: browsers say where a request comes from.
func visited(apply echo.MiddlewareFunc) echo.MiddlewareFunc {
	sameSite := http.NewCrossOriginProtection()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		protected := apply(next)
		return func(c echo.Context) error {
			address := c.Request().URL.Path
			if !strings.HasPrefix(address, pages.Root) {
				return next(c)
			}
			if err := sameSite.Check(c.Request()); err != nil {
				return core.NewError(core.CodePermissionDenied,
					"The form was sent from another site. Open the page here and send it again.").Because(err)
			}
			if err := boundForm(c); err != nil {
				return err
			}
			if strings.HasPrefix(address, pages.SignInAddress) || address == pages.Root+"theme/" {
				return next(c)
			}
			return protected(c)
		}
	}
}

// clientAddress takes for a client's address what the connection says. Headers can be made up by anyone, so they count
// only as far as trusted proxies have written them.
func clientAddress(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, proxy := range proxies {
		options = append(options, echo.TrustIPRange(&net.IPNet{
			IP: proxy.Masked().Addr().AsSlice(), Mask: net.CIDRMask(proxy.Bits(), proxy.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}

// authenticated applies a middleware to the API without its documentation. It is not the group's own
// middleware, because Echo would then answer a wrong method with 404 instead of 405.
func authenticated(apply echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		protected := apply(next)
		return func(c echo.Context) error {
			path := c.Request().URL.Path
			if isPublic(path) || !strings.HasPrefix(path, apiPrefix+"/") {
				return next(c)
			}
			return protected(c)
		}
	}
}

// isPublic reports whether a path of the API needs no token: its guides, and the callbacks of external validators,
// which are signed.
func isPublic(path string) bool {
	return slices.ContainsFunc([]string{"/docs/", "/schema/", "/callbacks/"}, func(part string) bool {
		return strings.HasPrefix(path, apiPrefix+part)
	})
}

// trailingSlash serves an address without its last slash as the one with it. It never redirects: a
// redirected POST loses its body.
func trailingSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL
		if !strings.HasSuffix(address.Path, "/") && !strings.Contains(lastSegment(address.Path), ".") {
			address.Path += "/"
			if address.RawPath != "" {
				address.RawPath += "/"
			}
		}
		return next(c)
	}
}

// maxMethod is longer than every method that there is.
const maxMethod = 32

// shortMethod cuts the method of a request that no route answers anyway. Methods stand in logs and traces, and a client
// can send one of a megabyte without showing a token.
func shortMethod(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		request.Method = request.Method[:min(len(request.Method), maxMethod)]
		return next(c)
	}
}

const headKey = "config.head"

// routeHead lets a HEAD take the route of a GET. The method has to change in the request itself, which the router looks
// at, and restoreHead changes it back before any other code sees it: the server then leaves the body out. Allow lists
// HEAD wherever it lists GET.
func routeHead(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodHead {
			c.Request().Method = http.MethodGet
			c.Set(headKey, true)
		}
		return next(c)
	}
}

func restoreHead(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Get(headKey) != nil {
			c.Request().Method = http.MethodHead
		}
		if allow, _ := c.Get(echo.ContextKeyHeaderAllow).(string); strings.Contains(allow, http.MethodGet) {
			c.Set(echo.ContextKeyHeaderAllow, allow+", "+http.MethodHead)
		}
		return next(c)
	}
}

func lastSegment(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

// Listen opens an address for a server.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	// The kernel filters no connections of multipath TCP, which closeToNew needs.
	lc.SetMultipathTCP(false)
	listener, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return listener, nil
}

// closeAfterChunks ends a connection after a request whose body comes in chunks. Such a request may also have a
// Content-Length, which net/http removes without a word, and a proxy that goes by that would take the rest of the body
// for another request (RFC 9112, section 6.3).
func closeAfterChunks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// ServeWeb answers requests until ctx ends, then lets the running ones end within the grace period.
func ServeWeb(
	ctx context.Context, listener net.Listener, handler http.Handler, settings Settings, log *slog.Logger,
) error {
	handler, err := compressed(handler)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: closeAfterChunks(
			rollWriteDeadline(settings.WriteTimeout, drainRefused(ctx, drainLimitsOf(settings), handler))),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       settings.ReadTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(limitConnections(listener, settings.MaxConnections)) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	if settings.ShutdownDelay > 0 {
		closeGently(ctx, listener, log)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), settings.ShutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("end the running requests: %w", errors.Join(err, server.Close()))
	}
	return nil
}
