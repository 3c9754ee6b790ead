package config_test

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

// accessToWorkflowPages are the pages of workflows and of launching runs.
func (s *stage) accessToWorkflowPages(tb testing.TB) map[string]access {
	tb.Helper()
	const workflow = harbourPages + "workflows/meter-readings/"
	// The rows are tried at once, and a launch needs its workflow active and with steps.
	const changed, switched = harbourPages + "workflows/legacy-import/", harbourPages + "workflows/building/"
	launch := upload{filename: "readings.csv", contentType: "text/csv", content: "a,b\n"}.
		with("key", formKey).to(tb, workflow+"launch/", "")
	by := func(least core.Role, c call, ok int) access {
		return access{call: c, least: least, ok: ok, foreign: http.StatusNotFound}
	}
	base := hidden(tb, s.visit(tb, http.StatusOK, page(changed+"edit/", s.visitor(tb, core.RoleAuthor))), "base")
	editor := func(path, slug string) call {
		text := "schema_version: 1\nslug: " + slug + "\nname: Made\naccepts: [text/csv]\nsteps: []\n"
		return upload{}.with("key", formKey).with("base", base).with("text", text).to(tb, path, "")
	}
	saved := func(path, slug string) access { return by(core.RoleAuthor, editor(path, slug), http.StatusSeeOther) }
	pressed := func(path string) access { return by(core.RoleAuthor, post(path, "", nil), http.StatusSeeOther) }
	shown := func(least core.Role, path string) access { return by(least, page(path, ""), http.StatusOK) }
	return map[string]access{
		"GET /app/orgs/:org/launch/":                 by(core.RoleViewer, page(harbourPages+"launch/", ""), 303),
		"GET /app/orgs/:org/workflows/":              shown(core.RoleViewer, harbourPages+"workflows/"),
		"GET /app/orgs/:org/workflows/:id/":          shown(core.RoleViewer, workflow),
		"GET /app/orgs/:org/workflows/:id/export/":   shown(core.RoleViewer, workflow+"export/"),
		"GET /app/orgs/:org/workflows/:id/versions/": shown(core.RoleViewer, workflow+"versions/"),
		"GET /app/orgs/:org/workflows/:id/launch/":   shown(core.RoleExecutor, workflow+"launch/"),
		"POST /app/orgs/:org/workflows/:id/launch/":  by(core.RoleExecutor, launch, 303),
		"GET /app/orgs/:org/new-workflow/":           shown(core.RoleAuthor, harbourPages+"new-workflow/"),
		"GET /app/orgs/:org/import-workflow/":        shown(core.RoleAuthor, harbourPages+"import-workflow/"),
		"GET /app/orgs/:org/workflows/:id/edit/":     shown(core.RoleAuthor, workflow+"edit/"),
		"POST /app/orgs/:org/new-workflow/":          saved(harbourPages+"new-workflow/", "new-ROLE"),
		"POST /app/orgs/:org/import-workflow/":       saved(harbourPages+"import-workflow/", "import-ROLE"),
		"POST /app/orgs/:org/workflows/:id/edit/": {
			call: editor(changed+"edit/", "legacy-import"), least: core.RoleAuthor, ok: 303, foreign: 404,
			// Others have saved a version meanwhile.
			but: map[core.Role]int{core.RoleAdmin: 400, core.RoleOwner: 400},
		},
		"POST /app/orgs/:org/workflows/:id/activate/":        pressed(switched + "activate/"),
		"POST /app/orgs/:org/workflows/:id/deactivate/":      pressed(switched + "deactivate/"),
		"GET /app/orgs/:org/workflows/:id/versions/:number/": shown(core.RoleViewer, workflow+"versions/1/"),
		"GET /app/orgs/:org/workflows/:id/launch/:key/": shown(core.RoleExecutor,
			workflow+"launch/"+newFormKey(tb)+"/"),
	}
}
