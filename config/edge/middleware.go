package edge

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// APIPrefix begins the addresses of the API.
const APIPrefix = "/api"

// ClientAddress takes for a client's address what the connection says. Headers can be made up by anyone, so they count
// only as far as trusted proxies have written them.
func ClientAddress(proxies []netip.Prefix) echo.IPExtractor {
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

// Authenticated applies a middleware to the API without its documentation. It is not the group's own
// middleware, because Echo would then answer a wrong method with 404 instead of 405.
func Authenticated(apply echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		protected := apply(next)
		return func(c echo.Context) error {
			path := c.Request().URL.Path
			if isPublic(path) || !strings.HasPrefix(path, APIPrefix+"/") {
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
		return strings.HasPrefix(path, APIPrefix+part)
	})
}

// OneAddress serves equal addresses alike: without the last slash as with it, and with letters that are encoded though
// they need not be (RFC 3986, 6.2.2.2). It never redirects: a redirected POST loses its body.
func OneAddress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL
		if !strings.Contains(strings.ToUpper(address.RawPath), "%2F") {
			address.RawPath = "" // The router matches it, where it is.
		}
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

// ShortMethod cuts the method of a request that no route answers anyway. Methods stand in logs and traces, and a client
// can send one of a megabyte without showing a token.
func ShortMethod(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		request.Method = request.Method[:min(len(request.Method), maxMethod)]
		return next(c)
	}
}

const headKey = "edge.head"

// RouteHead lets a HEAD take the route of a GET. The method has to change in the request itself, which the router looks
// at, and RestoreHead changes it back before any other code sees it: the server then leaves the body out. Allow lists
// HEAD wherever it lists GET.
func RouteHead(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodHead {
			c.Request().Method = http.MethodGet
			c.Set(headKey, true)
		}
		return next(c)
	}
}

// RestoreHead gives a request back the method HEAD once its route was found by GET.
func RestoreHead(next echo.HandlerFunc) echo.HandlerFunc {
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

// FixedHeaders tells browsers to guess no types, to frame nothing, to name no page to others, to keep pages apart from
// windows of other sites, and to lend no device to a page. If clients reach the
// service by https, browsers are told to use nothing else (HSTS); subdomains are not included, because they may belong
// to others. All answers share the values, to save memory.
func FixedHeaders(isEncrypted bool) echo.MiddlewareFunc {
	fixed := http.Header{
		echo.HeaderXContentTypeOptions: {"nosniff"},
		echo.HeaderXFrameOptions:       {"DENY"},
		echo.HeaderReferrerPolicy:      {"same-origin"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Permissions-Policy":           {"camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
	}
	if isEncrypted {
		fixed.Set(echo.HeaderStrictTransportSecurity, "max-age=31536000")
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			maps.Copy(c.Response().Header(), fixed)
			return next(c)
		}
	}
}
