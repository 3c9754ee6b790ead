package requestlog

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// requestPage is GET /app/orgs/{org}/requests/{id}/.
func (a *App) requestPage(c echo.Context, principal core.Principal, id uuid.UUID) error {
	ctx := c.Request().Context()
	found, err := a.reader.Find(ctx, principal, id)
	if err != nil {
		return err
	}
	labels, err := a.labels(ctx, principal.OrgID, []Request{found})
	if err != nil {
		return err
	}
	view := requestView{requestRow: newRequestRow(found, labels)}
	if found.Endpoint != "" {
		view.Operation = a.operations.Title(found.Endpoint)
	}
	if found.BodyDigest != nil {
		view.Digest = hex.EncodeToString(found.BodyDigest[:])
	}
	if found.Problem != nil {
		text, err := json.MarshalIndent(found.Problem, "", "  ")
		if err != nil {
			return err
		}
		view.Document = string(text)
	}
	return a.pages.Render(c, http.StatusOK, "request", pages.Page{
		Title: strconv.Itoa(found.Status) + " " + found.Method + " " + found.Path, Section: pages.SectionRequests,
		Data: view,
	})
}

// requestView is one request.
type requestView struct {
	requestRow
	// Operation is what people call the endpoint; "" where the request takes no key.
	Operation string
	// Digest is the SHA-256 of the body; "" where it is not known.
	Digest string
	// Document is the problem document; "" for a request that was not refused.
	Document string
}

// StatusPill shows what became of a request.
func StatusPill(r Request) pages.Pill {
	status := strconv.Itoa(r.Status)
	switch {
	case r.Status >= http.StatusInternalServerError:
		return pages.NewPill("error", status)
	case r.Code != "":
		return pages.NewPill("fail", status)
	case r.Replayed:
		return pages.NewPill("replay", status+" replayed")
	case r.OriginalRequestID != "":
		return pages.NewPill("run", status+" continued")
	default:
		return pages.NewPill("ok", status)
	}
}
