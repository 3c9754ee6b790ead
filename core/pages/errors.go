package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// WriteErrors returns a writer that shows the errors of pages as pages and leaves all others to next. Who has no
// session is sent to sign in and comes back afterwards.
func WriteErrors(next core.ErrorWriter) (core.ErrorWriter, error) {
	own, err := Parse(layouts, "templates/errors")
	if err != nil {
		return nil, err
	}
	return func(c echo.Context, err *core.Error) {
		request := c.Request()
		if !strings.HasPrefix(request.URL.Path, Root) {
			next(c, err)
			return
		}
		if err.Code == core.CodeNotAuthenticated && request.Method == http.MethodGet {
			query := url.Values{"next": {request.URL.RequestURI()}}
			// Nothing more can be done for a browser that has gone.
			_ = c.Redirect(http.StatusSeeOther, SignInAddress+"?"+query.Encode())
			return
		}
		if err.RetryAfter > 0 {
			c.Response().Header().Set("Retry-After", strconv.Itoa(err.RetrySeconds()))
		}
		problem := err.Problem(core.RequestID(request.Context()))
		if own.Render(c, problem.Status, "error", Page{Title: problem.Title, Data: problem}) != nil {
			next(c, err)
		}
	}, nil
}

// Refusal returns the error when it is about what the visitor has entered, for the form to show it and to keep the
// entries; nil for what the form cannot help with.
func Refusal(err error) *core.Error {
	refused, ok := errors.AsType[*core.Error](err)
	if !ok || refused.Code.Spec().Status >= http.StatusInternalServerError {
		return nil
	}
	return refused
}
