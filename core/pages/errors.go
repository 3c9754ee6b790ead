package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// WriteErrors returns a writer that shows errors as pages: those of the dashboard to everybody, and others to browsers.
// It leaves the rest to next, and all errors of the API, whose addresses begin with prefix. Visitors without a session
// are sent to sign in and come back afterwards; a form stays on the page of the error, to be sent again.
func WriteErrors(prefix string, next core.ErrorWriter) (core.ErrorWriter, error) {
	own, err := Parse(layouts, "templates/errors")
	if err != nil {
		return nil, err
	}
	return func(c echo.Context, err *core.Error) {
		request := c.Request()
		address := request.URL.Path
		if !strings.HasPrefix(address, Root) && (strings.HasPrefix(address, prefix) || !isBrowser(request)) {
			next(c, err)
			return
		}
		if err.Code == api.CodeNotAuthenticated && request.Method == http.MethodGet {
			query := url.Values{"next": {request.URL.RequestURI()}}
			// Nothing more can be done for a browser that has gone.
			_ = c.Redirect(http.StatusSeeOther, SignInAddress+"?"+query.Encode())
			return
		}
		err.SetRetryAfter(c.Response().Header())
		shown := errorPage{Problem: err.Problem(core.RequestID(request.Context()))}
		if err.Code == api.CodeNotAuthenticated {
			shown.Resend = newResend(c)
		}
		if own.Render(c, shown.Status, "error", Page{Title: shown.Title, Data: shown}) != nil {
			next(c, err)
		}
	}, nil
}

// errorPage is an error as a page.
type errorPage struct {
	api.Problem

	// Resend is the form of a visitor without a session; nil if it cannot be sent again from the page.
	Resend *resend
}

// isBrowser tells browsers from programs, which do not ask for HTML.
func isBrowser(request *http.Request) bool {
	return strings.Contains(request.Header.Get(echo.HeaderAccept), echo.MIMETextHTML)
}

// Refusal returns the error when it is about what the visitor has entered, for the form to show it and to keep the
// entries; nil for what the form cannot help with.
func Refusal(err error) *core.Error {
	refused, ok := errors.AsType[*core.Error](err)
	if !ok || core.Spec(refused.Code).Status >= http.StatusInternalServerError {
		return nil
	}
	return refused
}

// RefusalStatus returns the status that a form is shown again with, and says in the answer when to try again, if the
// problem does.
func RefusalStatus(c echo.Context, problem *core.Error) int {
	core.NoteRefusal(c, problem)
	problem.SetRetryAfter(c.Response().Header())
	return core.Spec(problem.Code).Status
}

// Refuse shows a form again with what is wrong with its entries. An error that the form cannot help with is returned.
func Refuse(c echo.Context, err error, render func(c echo.Context, status int, problem *core.Error) error) error {
	problem := Refusal(err)
	if problem == nil {
		return err
	}
	return render(c, RefusalStatus(c, problem), problem)
}
