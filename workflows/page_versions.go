package workflows

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// versionsPage is the list of a workflow's versions.
type versionsPage struct {
	Workflow       Version
	Versions       []versionEntry
	Next, Previous string
}

// versionPage is one version as it was published.
type versionPage struct {
	Version

	Steps []stepView
	// Text is the version as a file, cut where it is too long for a page.
	Text   string
	Size   int64
	Cut    bool
	MayRun bool
}

// shownText bounds how much of a file a page shows.
const shownText = 24 << 10

// versionsPage is GET /app/orgs/{org}/workflows/{id}/versions/.
func (a *App) versionsPage(c echo.Context, principal core.Principal) error {
	below := math.MaxInt32
	if text := c.QueryParam("below"); text != "" {
		var err error
		if below, err = strconv.Atoi(text); err != nil || below < 1 || below > math.MaxInt32 {
			return core.InvalidParameter("below", "must be the number of a version")
		}
	}
	ctx := c.Request().Context()
	version, err := a.Service.Find(ctx, principal.OrgID, c.Param("id"), 0)
	if err != nil {
		return err
	}
	entries, err := a.Service.versions(ctx, principal.OrgID, version.ID, below, versionsAtOnce)
	if err != nil {
		return err
	}
	page := versionsPage{Workflow: version, Versions: entries}
	if len(entries) > versionsAtOnce {
		page.Versions = entries[:versionsAtOnce]
		next := url.Values{"below": {strconv.Itoa(page.Versions[versionsAtOnce-1].Number)}}
		page.Next = c.Request().URL.EscapedPath() + "?" + next.Encode()
	}
	return a.pages.Render(c, http.StatusOK, "versions", pages.Page{
		Title: "Versions of " + version.Name, Section: pages.SectionWorkflows, Data: page,
	})
}

// versionPage is GET /app/orgs/{org}/workflows/{id}/versions/{number}/.
func (a *App) versionPage(c echo.Context, principal core.Principal) error {
	number, err := strconv.ParseInt(c.Param("number"), 10, 32)
	if err != nil || number < 1 {
		return core.NotFound("version")
	}
	version, err := a.Service.Find(c.Request().Context(), principal.OrgID, c.Param("id"), int(number))
	if err != nil {
		return err
	}
	text, err := version.YAML(a.Address)
	if err != nil {
		return err
	}
	shown := versionPage{
		Version: version, Steps: viewSteps(version.Definition), Text: string(text), Size: int64(len(text)),
		MayRun: principal.Role.Allows(api.RoleExecutor),
	}
	if len(text) > shownText {
		shown.Text, shown.Cut = strings.ToValidUTF8(shown.Text[:shownText], ""), true
	}
	return a.pages.Render(c, http.StatusOK, "version", pages.Page{
		Title: version.Name + ", version " + strconv.Itoa(version.Number), Section: pages.SectionWorkflows, Data: shown,
	})
}
