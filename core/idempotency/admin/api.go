package admin

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
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

// entryBody is a key in the API, without bodies and digests.
type entryBody struct {
	ID            uuid.UUID            `json:"id"`
	Key           string               `json:"key"`
	Endpoint      idempotency.Endpoint `json:"endpoint"`
	State         State                `json:"state"`
	RequestMethod string               `json:"request_method"`
	RequestPath   string               `json:"request_path"`
	RequestID     string               `json:"request_id"`
	Run           core.Optional        `json:"run"`
	// ResponseStatus is 0 while the request is unfinished.
	ResponseStatus int               `json:"response_status"`
	RecoveryPoint  idempotency.Point `json:"recovery_point"`
	CreatedAt      string            `json:"created_at"`
	FinishedAt     core.Optional     `json:"finished_at"`
	ExpiresAt      string            `json:"expires_at"`
	LockedUntil    core.Optional     `json:"locked_until"`
	Replays        int64             `json:"replays"`
	Mismatches     int64             `json:"mismatches"`
	Conflicts      int64             `json:"conflicts"`
	// Takeovers counts the holders after the first one, retries and completers.
	Takeovers int    `json:"takeovers"`
	Attempts  int    `json:"attempts"`
	LastError string `json:"last_error"`
	// Timeline is empty in lists.
	Timeline []EventBody `json:"timeline"`
}

// activityBody is what requests got from their keys, day by day.
type activityBody struct {
	Days []dayBody `json:"days"`
}

// dayBody is one day in UTC.
type dayBody struct {
	Day        string `json:"day"`
	Replayed   int64  `json:"replayed"`
	InProgress int64  `json:"in_progress"`
	Reused     int64  `json:"reused"`
	Misnamed   int64  `json:"misnamed"`
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
func pageOf(entries Entries, cursor core.Cursor, address url.URL) core.Page[Entry] {
	return core.NewPage(cursor, entries.Found, func(e Entry) uuid.UUID { return e.ID }, address).
		GoesOn(cursor, entries.Stopped, address)
}

// activity is GET /api/idempotency-keys/activity/.
func (a *App) activity(c echo.Context, principal core.Principal) error {
	days, err := a.inspector.Days(c.Request().Context(), principal.OrgID)
	if err != nil {
		return err
	}
	body := activityBody{Days: make([]dayBody, len(days))}
	for i, day := range days {
		body.Days[i] = dayBody{
			Day: day.Day.Format(time.DateOnly), Replayed: day.Replayed, InProgress: day.InProgress, Reused: day.Reused,
			Misnamed: day.Misnamed,
		}
	}
	return c.JSON(http.StatusOK, body)
}

// read is GET /api/idempotency-keys/{id}/.
func (a *App) read(c echo.Context, principal core.Principal) error {
	id, err := entryID(c)
	if err != nil {
		return err
	}
	entry, err := a.inspector.Find(c.Request().Context(), principal.OrgID, id)
	if err != nil {
		return err
	}
	body := renderEntry(entry)
	body.Timeline = entry.Timeline()
	return c.JSON(http.StatusOK, body)
}

// release is POST /api/idempotency-keys/{id}/release/.
func (a *App) release(c echo.Context, principal core.Principal) error {
	id, err := entryID(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	// A key of another organization is not found, whatever the caller's role.
	if _, err := a.inspector.Find(ctx, principal.OrgID, id); err != nil {
		return err
	}
	if err := principal.Require(core.RoleAdmin, "release idempotency keys"); err != nil {
		return err
	}
	var body releaseBody
	if _, err := core.ReadJSON(c, a.check, maxReleaseBody, &body); err != nil {
		return err
	}
	if err := a.releaseFor(ctx, principal, id, body.Reason); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// releaseFor releases a key and audits it as the principal's action.
func (a *App) releaseFor(ctx context.Context, principal core.Principal, id uuid.UUID, reason string) error {
	auditID, err := core.NewID()
	if err != nil {
		return err
	}
	return a.inspector.Release(ctx, principal.OrgID, id, core.AuditRecord{
		ID: auditID, OrgID: principal.OrgID, ActorID: principal.UserID, TokenID: principal.TokenID,
		Action: "idempotency_key.release", TargetType: "idempotency_key", TargetID: id.String(),
		RequestID: core.RequestID(ctx), Detail: reason,
	})
}

func entryID(c echo.Context) (uuid.UUID, error) { return core.PathID(c, "idempotency key") }

func renderEntry(e Entry) entryBody {
	body := entryBody{
		ID: e.ID, Key: e.Key, Endpoint: e.Endpoint, State: e.State, RequestMethod: e.RequestMethod,
		RequestPath: e.RequestPath, RequestID: e.RequestID, Run: core.OptionalID(e.RunID), RecoveryPoint: e.Point,
		CreatedAt: core.FormatTime(e.CreatedAt), FinishedAt: core.OptionalTime(e.FinishedAt),
		ExpiresAt:   core.FormatTime(e.ExpiresAt),
		LockedUntil: core.OptionalTime(e.LockedUntil), Replays: e.Replays, Mismatches: e.Mismatches,
		Conflicts: e.Conflicts,
		Takeovers: e.takeovers(), Attempts: e.Attempts, LastError: e.LastError, Timeline: []EventBody{},
	}
	if e.Status != nil {
		body.ResponseStatus = *e.Status
	}
	return body
}
