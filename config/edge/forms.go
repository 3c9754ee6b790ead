package edge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Visited applies a middleware to the pages of the dashboard that need a session. A form that another site has sent is
// refused before anything else: browsers say where a request comes from.
func Visited(apply echo.MiddlewareFunc) echo.MiddlewareFunc {
	sameSite := http.NewCrossOriginProtection()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		protected := apply(next)
		return func(c echo.Context) error {
			address := c.Request().URL.Path
			if !strings.HasPrefix(address, pages.Root) {
				return next(c)
			}
			if err := sameSite.Check(c.Request()); err != nil {
				return core.PermissionDenied(
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

// maxForm bounds a form of the dashboard. Nobody needs a session to send one, and a form is read into memory or into
// temporary files.
const maxForm = 1 << 20

// largeForms are the routes of forms that bring documents and workflows. They bound what they read themselves.
func largeForms() []string {
	return []string{
		"/app/orgs/:org/new-workflow/", "/app/orgs/:org/import-workflow/", "/app/orgs/:org/workflows/:id/edit/",
		"/app/orgs/:org/workflows/:id/launch/", "/app/orgs/:org/try/:operation/",
	}
}

// boundForm refuses a form that is larger than any of the dashboard, at the latest when it is read.
func boundForm(c echo.Context) error {
	request := c.Request()
	if slices.Contains(largeForms(), c.Path()) {
		return nil
	}
	if request.ContentLength > maxForm {
		return core.NewError(api.CodePayloadTooLarge, fmt.Sprintf(
			"The form has %d bytes; %d are allowed.", request.ContentLength, maxForm))
	}
	request.Body = http.MaxBytesReader(c.Response(), request.Body, maxForm)
	return nil
}
