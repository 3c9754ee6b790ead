package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// selectionPage asks whether to release the keys that were selected in the list.
type selectionPage struct {
	Chosen []Entry
	// Left is how many of the selected keys cannot be released.
	Left    int
	Reason  string
	Problem *core.Error
}

// selectKeys is POST /app/orgs/{org}/select-keys/. The first sending asks for the reason, the second one acts. Keys
// that were released in the meantime are left alone.
func (a *App) selectKeys(c echo.Context, principal core.Principal) error {
	form, err := c.FormParams()
	if err != nil {
		return core.InvalidPayload("the form cannot be read").Because(err)
	}
	list := pages.Base(principal.OrgSlug) + "keys/"
	ids := core.ParseIDs(form["id"])
	if len(ids) == 0 {
		return pages.Redirect(c, list, "Select at least one key first.")
	}
	if len(ids) > core.DefaultPageSize {
		return pages.Redirect(c, list, "Select fewer keys: one page of the list at a time.")
	}
	view, err := a.selection(c.Request().Context(), principal.OrgID, ids)
	if err != nil {
		return err
	}
	if form.Get("confirmed") == "" || len(view.Chosen) == 0 {
		return a.renderSelection(c, http.StatusOK, view)
	}
	body := releaseBody{Reason: strings.TrimSpace(form.Get("reason"))}
	view.Reason = body.Reason
	if refusal := pages.Refusal(a.check.Form(&body)); refusal != nil {
		view.Problem = refusal
		return a.renderSelection(c, pages.RefusalStatus(c, refusal), view)
	}
	notice, err := a.releaseEach(c, principal, view, body.Reason)
	if err != nil {
		return err
	}
	return pages.Redirect(c, list, notice)
}

// selection reads which of the keys can be released.
func (a *App) selection(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (selectionPage, error) {
	var view selectionPage
	for _, id := range ids {
		entry, err := a.inspector.Find(ctx, orgID, id)
		if err != nil && !errors.Is(err, api.CodeNotFound) {
			return selectionPage{}, err
		}
		if err == nil && entry.isStuck() {
			view.Chosen = append(view.Chosen, entry)
		}
	}
	view.Left = len(ids) - len(view.Chosen)
	return view, nil
}

// releaseEach releases the keys. One that its request has continued with in the meantime stays as it is.
func (a *App) releaseEach(
	c echo.Context, principal core.Principal, view selectionPage, reason string,
) (string, error) {
	released := 0
	for _, entry := range view.Chosen {
		err := a.releaseFor(c.Request().Context(), principal, entry.ID, reason)
		switch {
		case err == nil:
			released++
		case pages.Refusal(err) != nil:
			view.Left++
		default:
			return "", err
		}
	}
	text := "Released " + core.Plural(released, "key") + "."
	if view.Left > 0 {
		text += " " + core.Plural(view.Left, "key") + " had no abandoned request any more."
	}
	return text, nil
}

func (a *App) renderSelection(c echo.Context, status int, view selectionPage) error {
	return a.pages.Render(c, status, "release", pages.Page{
		Title: "Selected keys", Section: pages.SectionKeys, Data: view,
	})
}
