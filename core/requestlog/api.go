package requestlog

import (
	"encoding/hex"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// requestsQuery is the query of the list in the API and on the page.
type requestsQuery struct {
	core.PageQuery
	Filter
}

func renderRequest(r Request) api.LoggedRequest {
	return api.LoggedRequest{
		ID: r.ID.String(), At: api.At(r.At), Method: r.Method, Path: r.Path, Endpoint: api.Optional(r.Endpoint),
		Status: r.Status, Code: api.Optional(r.Code), Key: api.Optional(r.Key),
		Token: api.MaybeID(orNil(&r.TokenID)), Address: api.Optional(addressOf(r.Entry)),
		RequestID: r.RequestID, Replayed: r.Replayed, OriginalRequestID: api.Optional(r.OriginalRequestID),
		Run: api.MaybeID(orNil(&r.RunID)), DurationMS: float64(r.Took.Microseconds()) / 1000,
	}
}

// list is GET /api/requests/.
func (a *App) list(c echo.Context, principal core.Principal) error {
	var query requestsQuery
	cursor, err := core.BindList(c, a.check, &query)
	if err != nil {
		return err
	}
	found, err := a.reader.List(c.Request().Context(), principal, query.Filter, cursor)
	if err != nil {
		return err
	}
	page := core.NewPage(cursor, found.Found, found.Stopped, func(r Request) uuid.UUID { return r.ID },
		*c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, renderRequest))
}

// read is GET /api/requests/{id}/.
func (a *App) read(c echo.Context, principal core.Principal, id uuid.UUID) error {
	found, err := a.reader.Find(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	body := api.LoggedRequestDetail{
		LoggedRequest: renderRequest(found), Headers: found.Headers, BodySize: found.BodySize, Problem: found.Problem,
	}
	if found.BodyDigest != nil {
		body.BodySHA256 = api.Optional(hex.EncodeToString(found.BodyDigest[:]))
	}
	return c.JSON(http.StatusOK, body)
}
