package pages

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// accessToWorkflowPages are the pages of workflows and of launching runs.
func (s *stage) accessToWorkflowPages(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	const workflow = "workflows/meter-readings/"
	// The rows are tried at once, and a launch needs its workflow active and with steps.
	const (
		changed  = fixture.HarbourPages + "workflows/legacy-import/"
		switched = "workflows/building/"
	)
	launch := fixture.Upload{Filename: "readings.csv", ContentType: "text/csv", Content: "a,b\n"}.
		With("key", fixture.FormKey).To(tb, fixture.LaunchMeters, "")
	by := func(least api.Role, c call, ok int) fixture.Access {
		return fixture.Access{Call: c, Least: least, OK: ok, Foreign: http.StatusNotFound}
	}
	base := fixture.Hidden(tb, s.see(tb, fixture.Page(changed+"edit/", s.Visitor(tb, api.RoleAuthor))), "base")
	editor := func(path, slug string) call {
		text := "schema_version: 1\nslug: " + slug + "\nname: Made\naccepts: [text/csv]\nsteps: []\n"
		return fixture.Upload{}.With("key", fixture.FormKey).With("base", base).With("text", text).To(tb, path, "")
	}
	saved := func(path, slug string) fixture.Access {
		return by(api.RoleAuthor, editor(path, slug), http.StatusSeeOther)
	}
	pressed := func(path string) fixture.Access { return orgForm(path, nil, api.RoleAuthor, http.StatusSeeOther) }
	launches := orgPage("launch/", api.RoleViewer)
	launches.OK = http.StatusSeeOther
	return map[string]fixture.Access{
		"GET /app/orgs/:org/launch/":                 launches,
		"GET /app/orgs/:org/workflows/":              orgPage("workflows/", api.RoleViewer),
		"GET /app/orgs/:org/workflows/:id/":          orgPage(workflow, api.RoleViewer),
		"GET /app/orgs/:org/workflows/:id/export/":   orgPage(workflow+"export/", api.RoleViewer),
		"GET /app/orgs/:org/workflows/:id/versions/": orgPage(workflow+"versions/", api.RoleViewer),
		"GET /app/orgs/:org/workflows/:id/launch/":   orgPage(workflow+"launch/", api.RoleExecutor),
		"POST /app/orgs/:org/workflows/:id/launch/":  by(api.RoleExecutor, launch, 303),
		"GET /app/orgs/:org/new-workflow/":           orgPage("new-workflow/", api.RoleAuthor),
		"GET /app/orgs/:org/import-workflow/":        orgPage("import-workflow/", api.RoleAuthor),
		"GET /app/orgs/:org/workflows/:id/edit/":     orgPage(workflow+"edit/", api.RoleAuthor),
		"POST /app/orgs/:org/new-workflow/":          saved(fixture.HarbourPages+"new-workflow/", "new-ROLE"),
		"POST /app/orgs/:org/import-workflow/":       saved(fixture.HarbourPages+"import-workflow/", "import-ROLE"),
		"POST /app/orgs/:org/workflows/:id/edit/": {
			Call: editor(changed+"edit/", "legacy-import"), Least: api.RoleAuthor, OK: 303, Foreign: 404,
			// Others have saved a version meanwhile.
			But: map[api.Role]int{api.RoleAdmin: 400, api.RoleOwner: 400},
		},
		"POST /app/orgs/:org/workflows/:id/activate/":        pressed(switched + "activate/"),
		"POST /app/orgs/:org/workflows/:id/deactivate/":      pressed(switched + "deactivate/"),
		"GET /app/orgs/:org/workflows/:id/versions/:number/": orgPage(workflow+"versions/1/", api.RoleViewer),
		"GET /app/orgs/:org/workflows/:id/versions/:number/diff/": orgPage(workflow+"versions/1/diff/?with=1",
			api.RoleViewer),
		"GET /app/orgs/:org/workflows/:id/launch/:key/": orgPage(workflow+"launch/"+idempotency.NewFormKey()+"/",
			api.RoleExecutor),
	}
}
