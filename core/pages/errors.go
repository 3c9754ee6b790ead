package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// WriteErrors returns a writer that shows errors as pages: those of the dashboard to everybody, and others to browsers.
// It leaves the rest to next, and all errors of the API, whose addresses begin with api. Who has no session is sent to
// sign in and comes back afterwards.
func WriteErrors(api string, next core.ErrorWriter) (core.ErrorWriter, error) {
	own, err := Parse(layouts, "templates/errors")
	if err != nil {
		return nil, err
	}
	return func(c echo.Context, err *core.Error) {
		request := c.Request()
		address := request.URL.Path
		if !strings.HasPrefix(address, Root) && (strings.HasPrefix(address, api) || !isBrowser(request)) {
			next(c, err)
			return
		}
		if err.Code == core.CodeNotAuthenticated && request.Method == http.MethodGet {
			query := url.Values{"next": {request.URL.RequestURI()}}
			// Nothing more can be done for a browser that has gone.
			_ = c.Redirect(http.StatusSeeOther, SignInAddress+"?"+query.Encode())
			return
		}
		err.SetRetryAfter(c.Response().Header())
		problem := err.Problem(core.RequestID(request.Context()))
		if own.Render(c, problem.Status, "error", Page{Title: problem.Title, Data: problem}) != nil {
			next(c, err)
		}
	}, nil
}

// isBrowser tells browsers from programs, which do not ask for HTML.
func isBrowser(request *http.Request) bool {
	return strings.Contains(request.Header.Get(echo.HeaderAccept), echo.MIMETextHTML)
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

// RefusalStatus returns the status that a form is shown again with, and says in the answer when to try again where the
// problem tells.
func RefusalStatus(c echo.Context, problem *core.Error) int {
	problem.SetRetryAfter(c.Response().Header())
	return problem.Code.Spec().Status
}
