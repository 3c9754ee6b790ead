package admin

import (
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// maxReleaseBody bounds the body of a release in bytes. A reason has at most 500 characters.
const maxReleaseBody = 16 << 10

// entriesQuery is the query of the list in the API and on the page.
type entriesQuery struct {
	core.PageQuery
	EntryFilter
}

// releaseBody is a release in the API and as a form. The reason is required, because the audit log is the only trace
// that a deleted key leaves.
type releaseBody struct {
	Reason string `json:"reason" form:"reason" validate:"required,max=500,excludesrune=\x00"`
}

// list is GET /api/idempotency-keys/.
func (a *App) list(c echo.Context, principal core.Principal) error {
	var query entriesQuery
	cursor, err := core.BindList(c, a.check, &query)
	if err != nil {
		return err
	}
	entries, err := a.inspector.List(c.Request().Context(), principal.OrgID, query.EntryFilter, cursor)
	if err != nil {
		return err
	}
	page := pageOf(entries, cursor, *c.Request().URL)
	return c.JSON(http.StatusOK, core.MapPage(page, renderEntry))
}

// pageOf makes the page of a list, which goes on where a search has stopped.
func pageOf(entries core.Scanned[Entry], cursor core.Cursor, address url.URL) api.Page[Entry] {
	return core.NewPage(cursor, entries.Found, entries.Stopped, func(e Entry) uuid.UUID { return e.ID }, address)
}

// activity is GET /api/idempotency-keys/activity/.
func (a *App) activity(c echo.Context, principal core.Principal) error {
	days, err := a.inspector.Days(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	body := api.KeyActivity{Days: make([]api.KeyActivityDay, len(days))}
	for i, day := range days {
		body.Days[i] = api.KeyActivityDay{
			Day: day.Day.Format(time.DateOnly), Replayed: int(day.Replayed), InProgress: int(day.InProgress),
			Reused: int(day.Reused), Misnamed: int(day.Misnamed),
		}
	}
	return c.JSON(http.StatusOK, body)
}

// read is GET /api/idempotency-keys/{id}/.
func (a *App) read(c echo.Context, principal core.Principal, id uuid.UUID) error {
	entry, err := a.inspector.Find(c.Request().Context(), principal.OrgID, id)
	if err != nil {
		return err
	}
	body := renderEntry(entry)
	body.Timeline = entry.Timeline()
	return c.JSON(http.StatusOK, body)
}

// release is POST /api/idempotency-keys/{id}/release/.
func (a *App) release(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	// A key of another organization is not found, whatever the caller's role.
	if _, err := a.inspector.Find(ctx, principal.OrgID, id); err != nil {
		return err
	}
	if err := principal.Require(api.RoleAdmin, "release idempotency keys"); err != nil {
		return err
	}
	var body releaseBody
	if _, err := core.ReadJSON(c, a.check, maxReleaseBody, &body); err != nil {
		return err
	}
	if err := a.inspector.Release(ctx, principal, id, body.Reason); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func renderEntry(e Entry) api.Key {
	body := api.Key{
		ID: e.ID.String(), Key: e.Key, Endpoint: string(e.Endpoint), State: e.State, RequestMethod: e.RequestMethod,
		RequestPath: e.RequestPath, RequestID: e.RequestID, Run: api.MaybeID(e.RunID), RecoveryPoint: string(e.Point),
		CreatedAt: api.At(e.CreatedAt), FinishedAt: api.MaybeAt(e.FinishedAt),
		ExpiresAt: api.At(e.ExpiresAt), LockedUntil: api.MaybeAt(e.LockedUntil),
		Replays: int(e.Replays), Mismatches: int(e.Mismatches), Conflicts: int(e.Conflicts),
		Takeovers: e.takeovers(), Attempts: e.Attempts, LastError: e.LastError, Timeline: []api.KeyEvent{},
	}
	if e.Status != nil {
		body.ResponseStatus = *e.Status
	}
	return body
}
