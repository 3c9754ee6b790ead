package config_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	workflowsPage = harbourPages + "workflows/"
	metersPage    = workflowsPage + "meter-readings/"
)

func TestWorkflowsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	shows(t, s.visit(t, http.StatusOK, page(workflowsPage, viewer)), "Meter readings", "legacy-import", "Inactive",
		"No runs yet")
	s.started(t, s.start(t, "").withBody("text/csv", sampleText(t, "bad/meter-readings.csv")))
	s.started(t, s.start(t, ""))
	s.started(t, s.start(t, ""))
	s.work(t)
	html := s.visit(t, http.StatusOK, page(workflowsPage, viewer))
	shows(t, html, "66 % passed", "The last 3 runs, from old to new: 2 passed, 1 failed")
	hides(t, html, "launch/", "new-workflow/")
	shows(t, s.visit(t, http.StatusOK, page(workflowsPage, s.visitor(t, core.RoleExecutor))), `meter-readings/launch/"`)
	shows(t, s.visit(t, http.StatusOK, page(workflowsPage, s.visitor(t, core.RoleAuthor))), "new-workflow/")
}

func TestWorkflowsPageOfANewOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t)
	org, err := s.Users.EnsureOrganization(t.Context(), "blank", "Blank", nil)
	if err != nil {
		t.Fatal(err)
	}
	user, err := s.Users.EnsureUser(t.Context(), "author@blank.example", "Author")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Users.SetMembership(t.Context(), org.ID, user.ID, core.RoleAuthor); err != nil {
		t.Fatal(err)
	}
	html := s.visit(t, http.StatusOK, page("/app/orgs/blank/workflows/", s.session(t, user.ID)))
	shows(t, html, "There are no workflows yet.", "Write the first one",
		"simplevalidations workflows import workflow.yaml")
	hides(t, html, "Meter readings")
}

func TestWorkflowPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	html := s.visit(t, http.StatusOK, page(metersPage, viewer))
	shows(t, html, "No runs yet.", "number, never empty, at least 0, at most 5000", "estimated_share",
		"curl -i http://", "/api/workflows/meter-readings/start/", "simplevalidations run data.csv", "secrets.SV_TOKEN",
		"Version 1")
	hides(t, html, "Deactivate", "edit/")
	for range 2 {
		s.started(t, s.start(t, "").withBody("text/csv", sampleText(t, "bad/meter-readings.csv")))
	}
	s.started(t, s.start(t, ""))
	s.work(t)
	html = s.visit(t, http.StatusOK, page(metersPage, viewer))
	shows(t, html, "33 % passed", "In the newest 2 failed runs", "csv.enum", "1 passed, 2 failed, 0 other",
		"/app/orgs/harbour-energy/runs/?since=")
	hides(t, html, "No runs yet.")
	if again := s.visit(t, http.StatusOK, page(metersPage, viewer)); keyOf(t, again) == keyOf(t, html) {
		t.Error("two loads of the page have snippets with the same key")
	}
}

// keyOf is the key in the page's command for curl.
func keyOf(tb testing.TB, html string) string {
	tb.Helper()
	_, rest, found := strings.Cut(html, "Idempotency-Key: ")
	if !found {
		tb.Fatalf("the page has no key:\n%s", html)
	}
	return rest[:36]
}

func TestWorkflowPagesEscapeWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	s := setup(t)
	name := `<script>alert(1)</script>` + "\u202e" + strings.Repeat("n", 150)
	s.exec(t, `UPDATE workflows SET name = $1, description = $1 WHERE slug = 'meter-readings'`, name)
	author := s.visitor(t, core.RoleAuthor)
	for _, path := range []string{
		"", "meter-readings/", "meter-readings/launch/", "meter-readings/edit/", "meter-readings/versions/",
		"meter-readings/versions/1/",
	} {
		html := s.visit(t, http.StatusOK, page(workflowsPage+path, author))
		shows(t, html, "&lt;script&gt;alert(1)")
		hides(t, html, "<script>alert")
	}
}

func TestSwitchWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.visitor(t, core.RoleAuthor)
	for _, tt := range []struct {
		action string
		active bool
	}{{"deactivate", false}, {"deactivate", false}, {"activate", true}} {
		s.visit(t, http.StatusSeeOther, post(metersPage+tt.action+"/", author, nil))
		if got := one[bool](t, s, `SELECT is_active FROM workflows WHERE org_id = $1 AND slug = 'meter-readings'`,
			s.Harbour.ID); got != tt.active {
			t.Errorf("after %s: active = %t, want %t", tt.action, got, tt.active)
		}
	}
	if got := one[int](t, s, `SELECT count(*) FROM audit_records WHERE action LIKE 'workflow.%activate'`); got != 2 {
		t.Errorf("audit records = %d, want 2: what was so already is not audited", got)
	}
}

// edited is the editor's form of a page with another text.
func edited(tb testing.TB, html, text string) upload {
	tb.Helper()
	form := upload{}.with("key", hidden(tb, html, "key")).with("text", text)
	if strings.Contains(html, `name="base"`) {
		form = form.with("base", hidden(tb, html, "base"))
	}
	return form
}

// written is a workflow file with a step.
func written(slug, required string) string {
	return fmt.Sprintf("schema_version: 1\r\nslug: %s\r\nname: Written\r\ndescription: By hand.\r\n"+
		"accepts: [application/json]\r\nsteps:\r\n  - id: a\r\n    name: A\r\n    type: json_schema\r\n"+
		"    config: {schema: {required: [%s]}}\r\n", slug, required)
}

func TestNewWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.visitor(t, core.RoleAuthor)
	const address = harbourPages + "new-workflow/"
	html := s.visit(t, http.StatusOK, page(address, author))
	shows(t, html, "schema_version: 1")
	form := edited(t, html, written("by-hand", "id"))
	for range 2 {
		got := s.answerTo(t, form.to(t, address, author))
		if to := got.header.Get("Location"); got.status != http.StatusSeeOther || to != workflowsPage+"by-hand/" {
			t.Fatalf("status = %d to %q, want 303 to the workflow; body %s", got.status, to, got.body)
		}
	}
	if got := one[int](t, s, `SELECT latest_version FROM workflows WHERE slug = 'by-hand'`); got != 1 {
		t.Errorf("latest version = %d, want 1: the form was sent twice", got)
	}
	another := edited(t, html, written("by-hand-2", "id")).to(t, address, author)
	shows(t, s.visit(t, http.StatusUnprocessableEntity, another), "This form was saved before", "slug: by-hand-2")
	taken := edited(t, s.visit(t, http.StatusOK, page(address, author)), written("building", "id"))
	shows(t, s.visit(t, http.StatusBadRequest, taken.to(t, address, author)), "another workflow has this slug",
		`data-line="2"`, "slug: building")
}

func TestEditWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.visitor(t, core.RoleAuthor)
	const address = workflowsPage + "legacy-import/edit/"
	html := s.visit(t, http.StatusOK, page(address, author))
	shows(t, html, "slug: legacy-import", "Save as version 2")
	s.visit(t, http.StatusSeeOther, edited(t, html, written("legacy-import", "id")).to(t, address, author))
	stale := edited(t, html, written("legacy-import", "name"))
	stale.fields[0][1] = newFormKey(t)
	refused := s.visit(t, http.StatusBadRequest, stale.to(t, address, author))
	shows(t, refused, "Version 2 was saved meanwhile.", "required: [name]")
	s.visit(t, http.StatusSeeOther, edited(t, refused, written("legacy-import", "name")).to(t, address, author))
	same := s.visit(t, http.StatusOK, page(address, author))
	s.visit(t, http.StatusSeeOther, edited(t, same, written("legacy-import", "name")).to(t, address, author))
	if got := one[int](t, s, `SELECT latest_version FROM workflows WHERE org_id = $1 AND slug = 'legacy-import'`,
		s.Harbour.ID); got != 3 {
		t.Errorf("latest version = %d, want 3", got)
	}
	shows(t, s.visit(t, http.StatusOK, page(workflowsPage+"legacy-import/versions/2/", author)),
		"New runs use", "- id", "Export as YAML")
	shows(t, s.visit(t, http.StatusOK, page(workflowsPage+"legacy-import/versions/", author)), "Version 3", "Version 1")
	s.visit(t, http.StatusNotFound, page(workflowsPage+"legacy-import/versions/4/", author))
	s.visit(t, http.StatusBadRequest, page(workflowsPage+"legacy-import/versions/?below=x", author))
}

func TestEditorKeepsADescriptionThatWasSavedMeanwhile(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.visitor(t, core.RoleAuthor)
	const address = workflowsPage + "legacy-import/edit/"
	html := s.visit(t, http.StatusOK, page(address, author))
	renamed := func(name string) string {
		return strings.Replace(written("legacy-import", "id"), "name: ", "name: "+name+" ", 1)
	}
	s.visit(t, http.StatusSeeOther, edited(t, html, written("legacy-import", "id")).to(t, address, author))
	html = s.visit(t, http.StatusOK, page(address, author))
	s.visit(t, http.StatusSeeOther, edited(t, html, renamed("First")).to(t, address, author))
	stale := edited(t, html, renamed("Second"))
	stale.fields[0][1] = newFormKey(t)
	refused := s.visit(t, http.StatusBadRequest, stale.to(t, address, author))
	shows(t, refused, "The name or the description was saved meanwhile.", "name: Second")
	s.visit(t, http.StatusSeeOther, edited(t, refused, renamed("Second")).to(t, address, author))
}

func TestEditorShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.visitor(t, core.RoleAuthor)
	const address = workflowsPage + "building/edit/"
	html := s.visit(t, http.StatusOK, page(address, author))
	for name, tt := range map[string]struct{ text, shown string }{
		"NoYAML":        {"a: [", "The workflow was not saved."},
		"NoText":        {"", "The workflow was not saved."},
		"WrongForm":     {"schema_version: 2\nslug: building\n", `data-line="1"`},
		"WrongStep":     {strings.Replace(written("building", "id"), "json_schema", "horoscope", 1), `data-line="9"`},
		"AnotherSlug":   {written("other", "id"), "must stay building"},
		"HostileText":   {"</textarea><script>alert(1)</script>", "&lt;/textarea&gt;&lt;script&gt;"},
		"TextWithANull": {"name: \x00", "The workflow was not saved."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := s.visit(t, http.StatusBadRequest, edited(t, html, tt.text).to(t, address, author))
			shows(t, shown, tt.shown)
			hides(t, shown, "<script>alert")
		})
	}
	t.Run("TooLarge", func(t *testing.T) {
		t.Parallel()
		form := edited(t, html, strings.Repeat("# padding\n", 250_000))
		shows(t, s.visit(t, http.StatusRequestEntityTooLarge, form.to(t, address, author)), "larger than 2 MiB")
	})
	t.Run("NotAForm", func(t *testing.T) {
		t.Parallel()
		s.visit(t, http.StatusBadRequest, post(address, author, url.Values{"text": {"a"}}))
	})
}

func TestImportWorkflowForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.visitor(t, core.RoleAuthor)
	const address = harbourPages + "import-workflow/"
	for _, want := range []int{1, 1, 2} {
		html := s.visit(t, http.StatusOK, page(address, author))
		required := "id"
		if want == 2 {
			required = "name"
		}
		form := edited(t, html, "").file("flow.yaml", "application/yaml", written("brought-in", required))
		s.visit(t, http.StatusSeeOther, form.to(t, address, author))
		if got := one[int](t, s, `SELECT latest_version FROM workflows WHERE slug = 'brought-in'`); got != want {
			t.Errorf("latest version = %d, want %d", got, want)
		}
	}
	export := s.answerTo(t, page(workflowsPage+"brought-in/export/", author))
	if got := export.header.Get("Content-Disposition"); export.status != http.StatusOK ||
		got != `attachment; filename="brought-in.yaml"` {
		t.Errorf("export: status = %d, Content-Disposition = %q", export.status, got)
	}
}
