package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const (
	workflowsPage = fixture.HarbourPages + "workflows/"
	metersPage    = workflowsPage + "meter-readings/"
)

func TestWorkflowsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	s.shows(t, fixture.Page(workflowsPage, viewer), "Meter readings", "legacy-import", "Inactive", "No runs yet")
	s.Started(t, s.Start(t, "").WithBody("text/csv", fixture.SampleText(t, "bad/meter-readings.csv")))
	s.Started(t, s.Start(t, ""))
	s.Started(t, s.Start(t, ""))
	s.Work(t)
	html := s.see(t, fixture.Page(workflowsPage, viewer))
	fixture.Shows(t, html, "66 % passed", "The last 3 runs, from old to new: 2 passed, 1 failed")
	fixture.Hides(t, html, "launch/", "new-workflow/")
	s.shows(t, fixture.Page(workflowsPage, s.Visitor(t, api.RoleExecutor)), `meter-readings/launch/"`)
	s.shows(t, fixture.Page(workflowsPage, s.Visitor(t, api.RoleAuthor)), "new-workflow/")
}

func TestWorkflowsPageOfANewOrganization(t *testing.T) {
	t.Parallel()
	s := setup(t)
	org, err := s.Users.EnsureOrganization(t.Context(), "blank", "Blank", nil)
	if err != nil {
		t.Fatal(err)
	}
	user, err := s.Users.Accounts.EnsureUser(t.Context(), "author@blank.example", "Author")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Users.SetMembership(t.Context(), org.ID, user.ID, api.RoleAuthor); err != nil {
		t.Fatal(err)
	}
	html := s.see(t, fixture.Page("/app/orgs/blank/workflows/", s.Session(t, user.ID)))
	fixture.Shows(t, html, "There are no workflows yet.", "Write the first one",
		"simplevalidations workflows import workflow.yaml")
	fixture.Hides(t, html, "Meter readings")
}

func TestWorkflowPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	html := s.see(t, fixture.Page(metersPage, viewer))
	fixture.Shows(t, html, "No runs yet.", "number, never empty, at least 0, at most 5000", "estimated_share",
		"curl -i http://", "/api/workflows/meter-readings/start/", "simplevalidations run data.csv", "secrets.SV_TOKEN",
		"Version 1")
	fixture.Hides(t, html, "Deactivate", "edit/")
	for range 2 {
		s.Started(t, s.Start(t, "").WithBody("text/csv", fixture.SampleText(t, "bad/meter-readings.csv")))
	}
	s.Started(t, s.Start(t, ""))
	s.Work(t)
	html = s.see(t, fixture.Page(metersPage, viewer))
	fixture.Shows(t, html, "33 % passed", "In the newest 2 failed runs", "csv.enum", "1 passed, 2 failed, 0 other",
		"/app/orgs/harbour-energy/runs/?since=")
	fixture.Hides(t, html, "No runs yet.")
	if again := s.see(t, fixture.Page(metersPage, viewer)); keyOf(t, again) == keyOf(t, html) {
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

// edited is the editor's form of a page with another text.
func edited(tb testing.TB, html, text string) fixture.Upload {
	tb.Helper()
	form := fixture.Upload{}.With("key", fixture.Hidden(tb, html, "key")).With("text", text)
	if strings.Contains(html, `name="base"`) {
		form = form.With("base", fixture.Hidden(tb, html, "base"))
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
	author := s.Visitor(t, api.RoleAuthor)
	const address = fixture.HarbourPages + "new-workflow/"
	html := s.see(t, fixture.Page(address, author))
	fixture.Shows(t, html, "schema_version: 1")
	form := edited(t, html, written("by-hand", "id"))
	for range 2 {
		got := s.AnswerTo(t, form.To(t, address, author))
		if to := got.Header.Get("Location"); got.Status != http.StatusSeeOther || to != workflowsPage+"by-hand/" {
			t.Fatalf("status = %d to %q, want 303 to the workflow; body %s", got.Status, to, got.Body)
		}
	}
	if got := coretest.One[int](t, s.DB, `SELECT latest_version FROM workflows WHERE slug = 'by-hand'`); got != 1 {
		t.Errorf("latest version = %d, want 1: the form was sent twice", got)
	}
	another := edited(t, html, written("by-hand-2", "id")).To(t, address, author)
	fixture.Shows(t, s.Visit(t, http.StatusUnprocessableEntity, another), "This form was saved before",
		"slug: by-hand-2")
	taken := edited(t, s.see(t, fixture.Page(address, author)), written("building", "id"))
	fixture.Shows(t, s.Visit(t, http.StatusBadRequest, taken.To(t, address, author)), "another workflow has this slug",
		`data-line="2"`, "slug: building")
}

func TestEditWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.Visitor(t, api.RoleAuthor)
	const address = workflowsPage + "legacy-import/edit/"
	html := s.see(t, fixture.Page(address, author))
	fixture.Shows(t, html, "slug: legacy-import", "Save as version 2")
	s.Visit(t, http.StatusSeeOther, edited(t, html, written("legacy-import", "id")).To(t, address, author))
	stale := edited(t, html, written("legacy-import", "name"))
	stale.Fields[0][1] = idempotency.NewFormKey()
	refused := s.Visit(t, http.StatusBadRequest, stale.To(t, address, author))
	fixture.Shows(t, refused, "Version 2 was saved in the meantime.", "required: [name]")
	s.Visit(t, http.StatusSeeOther, edited(t, refused, written("legacy-import", "name")).To(t, address, author))
	same := s.see(t, fixture.Page(address, author))
	s.Visit(t, http.StatusSeeOther, edited(t, same, written("legacy-import", "name")).To(t, address, author))
	if got := coretest.One[int](t, s.DB,
		`SELECT latest_version FROM workflows WHERE org_id = $1 AND slug = 'legacy-import'`,
		s.Harbour.ID); got != 3 {
		t.Errorf("latest version = %d, want 3", got)
	}
	s.shows(t, fixture.Page(workflowsPage+"legacy-import/versions/2/", author), "New runs use", "- id",
		"Export as YAML")
	s.shows(t, fixture.Page(workflowsPage+"legacy-import/versions/", author), "Version 3", "Version 1")
	s.Visit(t, http.StatusNotFound, fixture.Page(workflowsPage+"legacy-import/versions/4/", author))
	s.Visit(t, http.StatusBadRequest, fixture.Page(workflowsPage+"legacy-import/versions/?below=x", author))
}

func TestEditorKeepsADescriptionThatWasSavedMeanwhile(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.Visitor(t, api.RoleAuthor)
	const address = workflowsPage + "legacy-import/edit/"
	html := s.see(t, fixture.Page(address, author))
	renamed := func(name string) string {
		return strings.Replace(written("legacy-import", "id"), "name: ", "name: "+name+" ", 1)
	}
	s.Visit(t, http.StatusSeeOther, edited(t, html, written("legacy-import", "id")).To(t, address, author))
	html = s.see(t, fixture.Page(address, author))
	s.Visit(t, http.StatusSeeOther, edited(t, html, renamed("First")).To(t, address, author))
	stale := edited(t, html, renamed("Second"))
	stale.Fields[0][1] = idempotency.NewFormKey()
	refused := s.Visit(t, http.StatusBadRequest, stale.To(t, address, author))
	fixture.Shows(t, refused, "The name or the description was saved in the meantime.", "name: Second")
	s.Visit(t, http.StatusSeeOther, edited(t, refused, renamed("Second")).To(t, address, author))
}

func TestEditorShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.Visitor(t, api.RoleAuthor)
	const address = workflowsPage + "building/edit/"
	html := s.see(t, fixture.Page(address, author))
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
			shown := s.Visit(t, http.StatusBadRequest, edited(t, html, tt.text).To(t, address, author))
			fixture.Shows(t, shown, tt.shown)
			fixture.Hides(t, shown, "<script>alert")
		})
	}
	t.Run("TooLarge", func(t *testing.T) {
		t.Parallel()
		form := edited(t, html, strings.Repeat("# padding\n", 250_000))
		fixture.Shows(t, s.Visit(t, http.StatusRequestEntityTooLarge, form.To(t, address, author)), "larger than 2 MiB")
	})
	t.Run("NotAForm", func(t *testing.T) {
		t.Parallel()
		s.Visit(t, http.StatusBadRequest, fixture.Post(address, author, url.Values{"text": {"a"}}))
	})
}

func TestImportWorkflowForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author := s.Visitor(t, api.RoleAuthor)
	const address = fixture.HarbourPages + "import-workflow/"
	for _, want := range []int{1, 1, 2} {
		html := s.see(t, fixture.Page(address, author))
		required := "id"
		if want == 2 {
			required = "name"
		}
		form := edited(t, html, "").File("flow.yaml", "application/yaml", written("brought-in", required))
		s.Visit(t, http.StatusSeeOther, form.To(t, address, author))
		if got := coretest.One[int](t, s.DB,
			`SELECT latest_version FROM workflows WHERE slug = 'brought-in'`); got != want {
			t.Errorf("latest version = %d, want %d", got, want)
		}
	}
	export := s.AnswerTo(t, fixture.Page(workflowsPage+"brought-in/export/", author))
	if got := export.Header.Get("Content-Disposition"); export.Status != http.StatusOK ||
		got != `attachment; filename="brought-in.yaml"` {
		t.Errorf("export: status = %d, Content-Disposition = %q", export.Status, got)
	}
}
