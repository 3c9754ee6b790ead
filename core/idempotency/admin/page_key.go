package admin

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// keyPage is GET /app/orgs/{org}/keys/{id}/.
func (a *App) keyPage(c echo.Context, principal core.Principal, id uuid.UUID) error {
	return a.renderKey(c, principal, id, http.StatusOK, releaseBody{}, nil)
}

// renderKey shows a key, with the form for its release as it was filled in.
func (a *App) renderKey(
	c echo.Context, principal core.Principal, id uuid.UUID, status int, release releaseBody, problem *core.Error,
) error {
	report, err := a.keyReport(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	data := newKeyPage(pages.Base(principal.OrgSlug), a.inspector.operations, report)
	// The button is only a convenience. releaseForm checks the role, and the engine checks the state under a lock.
	data.MayRelease = principal.Role.Allows(api.RoleAdmin) && report.entry.isStuck()
	data.Reason, data.Problem = release.Reason, problem
	return a.pages.Render(c, status, "key", pages.Page{
		Title: report.entry.Key, Section: pages.SectionKeys, Data: data,
	})
}

// releaseForm is POST /app/orgs/{org}/keys/{id}/release/.
func (a *App) releaseForm(c echo.Context, principal core.Principal, id uuid.UUID) error {
	var form releaseBody
	err := core.BindForm(c, a.check, &form)
	if err == nil {
		err = a.inspector.Release(c.Request().Context(), principal, id, form.Reason)
	}
	// A key that is gone has no page any more, on which the form could be shown again.
	if problem := pages.Refusal(err); problem != nil && problem.Code != api.CodeNotFound {
		return a.renderKey(c, principal, id, pages.RefusalStatus(c, problem), form, problem)
	}
	if err != nil {
		return err
	}
	return pages.Redirect(c, pages.Base(principal.OrgSlug)+"keys/", "The key is released: its request can continue.")
}

// keyPage shows one key with its timeline.
type keyPage struct {
	keyRow
	Takeovers   int
	Fingerprint string
	Request     origin
	Picture     []laneGroup
	// Response is nil where there is none, or where the visitor may not see it.
	Response   *storedResponse
	MayRelease bool
	// Reason and Problem belong to a release that was refused.
	Reason  string
	Problem *core.Error
}

// The formats of times on the day of the first request, and on other days.
const (
	clock    = "15:04:05.000"
	otherDay = "2 Jan 15:04"
)

func newKeyPage(base string, operations idempotency.Operations, report keyReport) keyPage {
	e := report.entry
	page := keyPage{
		keyRow: newKeyRow(operations)(e), Takeovers: e.takeovers(), Request: report.first,
		Fingerprint: hex.EncodeToString(report.first.Fingerprint),
	}
	if len(report.responses) > 0 {
		page.Response = &report.responses[0]
	}
	page.Picture = newPicture(base, e, report.requests, report.labels)
	return page
}

// Cut reports whether only the beginning of the body is shown.
func (r storedResponse) Cut() bool { return r.Size > len(r.Body) }

// Text is the response as it looks on the wire, without the headers of the request that fetches it. JSON is indented
// for people.
func (r storedResponse) Text() string {
	text := fmt.Sprintf("HTTP/1.1 %d %s\n", r.Status, http.StatusText(r.Status))
	if r.Headers.Location != "" {
		text += "Location: " + r.Headers.Location + "\n"
	}
	var body bytes.Buffer
	if err := json.Indent(&body, r.Body, "", "  "); err != nil {
		body.Reset()
		body.Write(r.Body)
	}
	return text + "Content-Type: " + r.Headers.ContentType + "\n\n" + body.String()
}
