package workflows

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const maxUserAgent = 500

// start is POST /api/workflows/{id}/start/. The order of the checks is part of the contract: key
// syntax, workflow, role, body, replay, and only then what concerns new runs.
func (a *App) start(c echo.Context) error {
	ctx := c.Request().Context()
	principal, err := core.Caller(c)
	if err != nil {
		return err
	}
	key, keyGiven, err := idempotency.ParseKey(c.Request().Header)
	if err != nil {
		return err
	}
	pinned, err := pinnedVersion(c)
	if err != nil {
		return err
	}
	workflow, err := a.service.Find(ctx, principal.OrgID, c.Param("id"), pinned)
	if err != nil {
		return err
	}
	if err := principal.Require(core.RoleExecutor, "start runs"); err != nil {
		return err
	}
	body, err := ReadStartBody(c.Request(), a.limits)
	if err != nil {
		return err
	}
	answer, err := a.starts.Start(ctx, StartRequest{
		Principal: principal, Workflow: workflow, Body: body,
		Version: c.QueryParam("version"), VersionGiven: c.QueryParams().Has("version"),
		Key: key, KeyGiven: keyGiven, Caller: caller(c),
	})
	if err != nil {
		return err
	}
	setStartHeaders(c, answer)
	if wait := preferredWait(c.Request().Header); wait > 0 {
		return a.answerLater(c, principal, answer, wait)
	}
	return c.Blob(answer.Response.Status, answer.Response.Headers.ContentType, answer.Response.Body)
}

// answerLater answers with the run as it is when it is completed or the time is over. What is stored
// under the key is the ordinary answer all the same.
func (a *App) answerLater(
	c echo.Context, principal core.Principal, answer StartAnswer, wait time.Duration,
) error {
	ctx := c.Request().Context()
	if answer.Replayed {
		if err := a.inband.Wait(ctx, principal.OrgID, answer.RunID, wait); err != nil {
			return err
		}
	} else {
		a.inband.WaitNew(ctx, principal.OrgID, answer.RunID, wait)
	}
	body, err := a.inband.Show(ctx, principal.OrgID, principal.OrgSlug, answer.RunID)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Preference-Applied", fmt.Sprintf("wait=%d", int(wait.Seconds())))
	return c.JSON(answer.Response.Status, body)
}

func setStartHeaders(c echo.Context, answer StartAnswer) {
	header := c.Response().Header()
	header.Set(echo.HeaderLocation, answer.Response.Headers.Location)
	header.Set(echo.HeaderCacheControl, "no-store")
	if !answer.ExpiresAt.IsZero() {
		header.Set("Idempotency-Expires", answer.ExpiresAt.UTC().Format(http.TimeFormat))
	}
	if answer.Replayed {
		header.Set("Idempotent-Replayed", "true")
		header.Set("Original-Request-Id", answer.OriginalRequestID)
	}
}

func caller(c echo.Context) idempotency.Caller {
	// An address that cannot be parsed is not known.
	ip, _ := netip.ParseAddr(c.RealIP())
	return idempotency.Caller{
		Method: c.Request().Method, Path: c.Request().URL.EscapedPath(),
		RequestID: core.RequestID(c.Request().Context()), IP: ip.WithZone(""),
		UserAgent: storable(c.Request().UserAgent(), maxUserAgent),
	}
}

// storable makes any header value fit for a text column: valid UTF-8 without NUL, bounded in characters.
func storable(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}
