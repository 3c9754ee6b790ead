package requestlog

import (
	"context"
	"encoding/hex"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

// requestsQuery is the query of the list in the API and on the page.
type requestsQuery struct {
	core.PageQuery
	Filter
}

// requestBody is a request in a list.
type requestBody struct {
	ID     uuid.UUID `json:"id"`
	At     string    `json:"at"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	// Endpoint is absent where the request takes no idempotency key, and Code where it was not refused.
	Endpoint core.Optional `json:"endpoint"`
	Status   int           `json:"status"`
	Code     core.Optional `json:"code"`
	Key      core.Optional `json:"key"`
	// Token is absent for a visitor of the dashboard.
	Token     core.Optional `json:"token"`
	Address   core.Optional `json:"address"`
	RequestID string        `json:"request_id"`
	// Replayed says that the answer is that of the request OriginalRequestID.
	Replayed          bool          `json:"replayed"`
	OriginalRequestID core.Optional `json:"original_request_id"`
	Run               core.Optional `json:"run"`
	DurationMS        float64       `json:"duration_ms"`
}

// requestDetailBody is a request with what only its own page shows.
type requestDetailBody struct {
	requestBody

	Headers    []Header      `json:"headers"`
	BodySize   int64         `json:"body_size"`
	BodySHA256 core.Optional `json:"body_sha256"`
	// Problem is nil where the request was not refused.
	Problem *core.Problem `json:"problem"`
}

func renderRequest(r Request) requestBody {
	return requestBody{
		ID: r.ID, At: core.FormatTime(r.At), Method: r.Method, Path: r.Path, Endpoint: core.Optional(r.Endpoint),
		Status: r.Status, Code: core.Optional(r.Code), Key: core.Optional(r.Key),
		Token: core.OptionalID(orNil(&r.TokenID)), Address: core.Optional(addressOf(r.Entry)),
		RequestID: r.RequestID, Replayed: r.Replayed, OriginalRequestID: core.Optional(r.OriginalRequestID),
		Run: core.OptionalID(orNil(&r.RunID)), DurationMS: float64(r.Took.Microseconds()) / 1000,
	}
}

// list is GET /api/requests/.
func (a *App) list(c echo.Context, principal core.Principal) error {
	var query requestsQuery
	var stopped uuid.UUID
	page, err := core.ReadPage(c, a.check, &query, func(r Request) uuid.UUID { return r.ID },
		func(ctx context.Context, cursor core.Cursor) ([]Request, error) {
			found, err := a.reader.List(ctx, principal, query.Filter, cursor)
			stopped = found.Stopped
			return found.Requests, err
		})
	if err != nil {
		return err
	}
	cursor, err := query.Parse()
	if err != nil {
		return err
	}
	page = page.GoesOn(cursor, stopped, *c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, renderRequest))
}

// read is GET /api/requests/{id}/.
func (a *App) read(c echo.Context, principal core.Principal) error {
	id, err := core.PathID(c, "request")
	if err != nil {
		return err
	}
	found, err := a.reader.Find(c.Request().Context(), principal, id)
	if err != nil {
		return err
	}
	body := requestDetailBody{
		requestBody: renderRequest(found), Headers: found.Headers, BodySize: found.BodySize, Problem: found.Problem,
	}
	if found.BodyDigest != nil {
		body.BodySHA256 = core.Optional(hex.EncodeToString(found.BodyDigest[:]))
	}
	return c.JSON(http.StatusOK, body)
}
