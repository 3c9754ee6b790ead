package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// siteReport is a workflow file; its definition is that of requiring("site").
const siteReport = `schema_version: 1
slug: from-file
name: Site report
description: Names its site.
accepts: [application/json]
steps:
  - id: shape
    name: Shape
    type: json_schema
    config:
      schema: {type: object, required: [site]}
`

// importing is an import of the file by harbour's owner, without a key if key is "".
func (s *stage) importing(key, file string) call {
	c := s.creation(key, "").To("/api/workflows/import/")
	return c.WithBody("application/yaml", file)
}

func (s *stage) imported(tb testing.TB, status int, file string) api.WorkflowImport {
	tb.Helper()
	return fixture.Decoded[api.WorkflowImport](tb, s.Must(tb, status, s.importing("", file)))
}

func TestImportWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	created := s.imported(t, http.StatusCreated, siteReport)
	workflow := created.Workflow
	if created.Outcome != "created" || !workflow.IsActive || workflow.Version != 1 || workflow.Slug != "from-file" {
		t.Fatalf("import = %+v, want an active workflow in version 1", created)
	}
	before := s.tally(t)
	reordered := strings.Replace(siteReport, "{type: object, required: [site]}", "{required: [site], type: object}", 1)
	for _, file := range []string{siteReport, reordered + "# a comment\n"} {
		want := api.WorkflowImport{Outcome: "unchanged", Workflow: workflow}
		if diff := cmp.Diff(want, s.imported(t, http.StatusOK, file)); diff != "" {
			t.Errorf("import of what is there (-want +got):\n%s", diff)
		}
	}
	if after := s.tally(t); after != before {
		t.Errorf("rows = %s, want %s", after, before)
	}

	s.Must(t, http.StatusOK, s.change(http.MethodPost, "/api/workflows/from-file/deactivate/", ""))
	renamed := s.imported(t, http.StatusOK, strings.Replace(siteReport, "Site report", "Other", 1))
	if renamed.Outcome != "renamed" || renamed.Workflow.Name != "Other" || renamed.Workflow.Version != 1 {
		t.Errorf("import of another name = %+v, want only the name changed", renamed)
	}
	changed := s.imported(t, http.StatusCreated, strings.Replace(siteReport, "[site]", "[floor]", 1))
	if changed.Outcome != "version_added" || changed.Workflow.Name != "Site report" || changed.Workflow.Version != 2 ||
		changed.Workflow.ID != workflow.ID || changed.Workflow.IsActive {
		t.Errorf("import of another definition = %+v, want version 2, still inactive", changed)
	}
	if n := s.audited(t, "workflow.import"); n != 3 {
		t.Errorf("audit records = %d, want 3", n)
	}
}

func TestConcurrentImports(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var calls []call
	for i := range 16 {
		file := strings.Replace(siteReport, "[site]", fmt.Sprintf("[m%d]", i%4), 1)
		calls = append(calls, s.importing(strconv.Itoa(i), file))
	}
	outcomes := map[string]int{}
	for _, answer := range s.Together(t, calls) {
		if answer.Status >= http.StatusBadRequest {
			t.Errorf("answer = %d %s, want an import", answer.Status, answer.Body)
			continue
		}
		outcomes[fixture.Decoded[api.WorkflowImport](t, answer).Outcome]++
	}
	latest := coretest.One[int](t, s.DB, `SELECT latest_version FROM workflows WHERE slug = 'from-file'`)
	if outcomes["created"] != 1 || outcomes["version_added"] != latest-1 {
		t.Errorf("outcomes = %v with %d versions, want one creation and an import a version", outcomes, latest)
	}
	repeated := coretest.One[int](t, s.DB, `SELECT count(*) FROM workflow_versions AS a JOIN workflow_versions AS b
		ON a.workflow_id = b.workflow_id AND a.number = b.number + 1 AND a.definition_digest = b.definition_digest`)
	if repeated != 0 {
		t.Errorf("%d versions say the same as the one before, want none", repeated)
	}
}

func TestExportWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, slug := range []string{"building", "meter-readings"} {
		got := s.Must(t, http.StatusOK,
			s.reading("/api/workflows/"+slug+"/export/"))
		fixture.WantHeader(t, got, map[string]string{
			"Content-Type": "application/yaml", "Content-Disposition": `attachment; filename="` + slug + `.yaml"`,
		})
		modeline := "# yaml-language-server: $schema=" + s.Settings.Address() + "/docs/workflow-file.schema.json\n"
		if !strings.HasPrefix(string(got.Body), modeline) {
			t.Errorf("file begins with %.100s, want %s", got.Body, modeline)
		}
		if again := s.imported(t, http.StatusOK, string(got.Body)); again.Outcome != "unchanged" {
			t.Errorf("import of the export = %s, want unchanged", again.Outcome)
		}
		elsewhere := s.Must(t, http.StatusCreated,
			s.importing("", strings.Replace(string(got.Body), "slug: "+slug, "slug: moved-"+slug, 1)))
		digests := coretest.One[int](t, s.DB, `SELECT count(DISTINCT definition_digest) FROM workflow_versions AS v
			JOIN workflows AS w ON w.id = v.workflow_id WHERE w.org_id = $1 AND w.slug IN ($2, $3)`,
			s.Harbour.ID, slug, "moved-"+slug)
		if digests != 1 {
			t.Errorf("digests of %s and %s = %d, want the same", slug, elsewhere.Header.Get("Location"), digests)
		}
	}
	s.imported(t, http.StatusCreated, siteReport)
	s.imported(t, http.StatusCreated, strings.Replace(siteReport, "[site]", "[floor]", 1))
	for query, want := range map[string]string{"": "- floor", "?version=1": "- site"} {
		path := "/api/workflows/from-file/export/" + query
		got := s.Must(t, http.StatusOK, s.reading(path))
		if !strings.Contains(string(got.Body), want) {
			t.Errorf("%s = %s, want %q in it", path, got.Body, want)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	s := setup(t)
	before := s.tally(t)
	problem := fixture.WantProblem(t, s.Do(t, s.importing("k", strings.Replace(siteReport, "object", "thing", 1))),
		api.CodeInvalidPayload)
	want := []api.FieldError{{
		Pointer: "/steps/0/config/schema/type", Line: 11, Column: 22, Code: "schema.invalid",
		Detail: problem.Errors[0].Detail,
	}}
	if diff := cmp.Diff(want, problem.Errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	for name, c := range map[string]call{
		"NotYAML":   s.importing("k", "a: [b"),
		"NoFile":    s.importing("k", ""),
		"Injection": s.importing("k", "slug: !!python/object/apply:os.system [ls]"),
	} {
		if got := s.Do(t, c); got.Status != http.StatusBadRequest {
			t.Errorf("%s = %d %s, want 400", name, got.Status, got.Body)
		}
	}
	s.Refused(t, api.CodePayloadTooLarge, s.importing("k", strings.Repeat("#", 2<<20+1)))
	large := drafted("large", requiring(strings.Repeat("a", 2<<20)))
	s.Refused(t, api.CodePayloadTooLarge, s.creation("k", "").WithBody("application/json", large))
	s.Refused(t, api.CodeUnsupportedMediaType, s.importing("k", siteReport).With("Content-Type", "text/csv"))
	s.Refused(t, api.CodePermissionDenied, s.importing("k", siteReport).By(s.Harbour.Tokens.Executor))
	if after := s.tally(t); after != before {
		t.Errorf("rows = %s, want %s", after, before)
	}
}
