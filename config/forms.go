package config

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

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
		return core.NewError(core.CodePayloadTooLarge, fmt.Sprintf(
			"The form has %d bytes; %d are allowed.", request.ContentLength, maxForm))
	}
	request.Body = http.MaxBytesReader(c.Response(), request.Body, maxForm)
	return nil
}
