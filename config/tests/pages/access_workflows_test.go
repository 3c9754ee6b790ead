package pages

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// accessToWorkflowPages are the pages of workflows and of launching runs.
func (s *stage) accessToWorkflowPages(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	const workflow = fixture.HarbourPages + "workflows/meter-readings/"
	// The rows are tried at once, and a launch needs its workflow active and with steps.
	const (
		changed  = fixture.HarbourPages + "workflows/legacy-import/"
		switched = fixture.HarbourPages + "workflows/building/"
	)
	launch := fixture.Upload{Filename: "readings.csv", ContentType: "text/csv", Content: "a,b\n"}.
		With("key", fixture.FormKey).To(tb, workflow+"launch/", "")
	by := func(least api.Role, c call, ok int) fixture.Access {
		return fixture.Access{Call: c, Least: least, OK: ok, Foreign: http.StatusNotFound}
	}
	base := fixture.Hidden(tb, s.Visit(tb, http.StatusOK,
		fixture.Page(changed+"edit/", s.Visitor(tb, api.RoleAuthor))), "base")
	editor := func(path, slug string) call {
		text := "schema_version: 1\nslug: " + slug + "\nname: Made\naccepts: [text/csv]\nsteps: []\n"
		return fixture.Upload{}.With("key", fixture.FormKey).With("base", base).With("text", text).To(tb, path, "")
	}
	saved := func(path, slug string) fixture.Access {
		return by(api.RoleAuthor, editor(path, slug), http.StatusSeeOther)
	}
	pressed := func(path string) fixture.Access {
		return by(api.RoleAuthor, fixture.Post(path, "", nil), http.StatusSeeOther)
	}
	shown := func(least api.Role, path string) fixture.Access {
		return by(least, fixture.Page(path, ""), http.StatusOK)
	}
	return map[string]fixture.Access{
		"GET /app/orgs/:org/launch/": by(api.RoleViewer,
			fixture.Page(fixture.HarbourPages+"launch/", ""), 303),
		"GET /app/orgs/:org/workflows/":              shown(api.RoleViewer, fixture.HarbourPages+"workflows/"),
		"GET /app/orgs/:org/workflows/:id/":          shown(api.RoleViewer, workflow),
		"GET /app/orgs/:org/workflows/:id/export/":   shown(api.RoleViewer, workflow+"export/"),
		"GET /app/orgs/:org/workflows/:id/versions/": shown(api.RoleViewer, workflow+"versions/"),
		"GET /app/orgs/:org/workflows/:id/launch/":   shown(api.RoleExecutor, workflow+"launch/"),
		"POST /app/orgs/:org/workflows/:id/launch/":  by(api.RoleExecutor, launch, 303),
		"GET /app/orgs/:org/new-workflow/":           shown(api.RoleAuthor, fixture.HarbourPages+"new-workflow/"),
		"GET /app/orgs/:org/import-workflow/":        shown(api.RoleAuthor, fixture.HarbourPages+"import-workflow/"),
		"GET /app/orgs/:org/workflows/:id/edit/":     shown(api.RoleAuthor, workflow+"edit/"),
		"POST /app/orgs/:org/new-workflow/":          saved(fixture.HarbourPages+"new-workflow/", "new-ROLE"),
		"POST /app/orgs/:org/import-workflow/":       saved(fixture.HarbourPages+"import-workflow/", "import-ROLE"),
		"POST /app/orgs/:org/workflows/:id/edit/": {
			Call: editor(changed+"edit/", "legacy-import"), Least: api.RoleAuthor, OK: 303, Foreign: 404,
			// Others have saved a version meanwhile.
			But: map[api.Role]int{api.RoleAdmin: 400, api.RoleOwner: 400},
		},
		"POST /app/orgs/:org/workflows/:id/activate/":        pressed(switched + "activate/"),
		"POST /app/orgs/:org/workflows/:id/deactivate/":      pressed(switched + "deactivate/"),
		"GET /app/orgs/:org/workflows/:id/versions/:number/": shown(api.RoleViewer, workflow+"versions/1/"),
		"GET /app/orgs/:org/workflows/:id/versions/:number/diff/": shown(api.RoleViewer,
			workflow+"versions/1/diff/?with=1"),
		"GET /app/orgs/:org/workflows/:id/launch/:key/": shown(api.RoleExecutor,
			workflow+"launch/"+newFormKey(tb)+"/"),
	}
}
