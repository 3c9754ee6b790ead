package api

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

// requiring is a definition that takes JSON objects with the member.
func requiring(member string) string {
	return `{"accepts":["application/json"],"steps":[{"id":"shape","name":"Shape","type":"json_schema",` +
		`"config":{"schema":{"type":"object","required":["` + member + `"]}}}]}`
}

// drafted is the body of a workflow.
func drafted(slug, definition string) string {
	return `{"slug":"` + slug + `","name":"Site report","description":"Names its site.","is_active":true,` +
		`"definition":` + definition + `}`
}

// creation is a creation of a workflow by harbour's owner, without a key if key is "".
func (s *stage) creation(key, slug string) call {
	c := call{Method: http.MethodPost, Path: "/api/workflows/", Token: s.Harbour.Tokens.Owner}
	c = c.WithBody("application/json", drafted(slug, requiring("site")))
	if key != "" {
		return c.With("Idempotency-Key", key)
	}
	return c
}

// versionOf is a new version of the workflow at the address, without a key if key is "".
func (s *stage) versionOf(key, address string) call {
	return s.creation(key, "").To(address+"versions/").WithBody("application/json", versionBody("other"))
}

func versionBody(member string) string {
	return `{"definition":` + requiring(member) + `}`
}

// tally counts what creations leave behind.
func (s *stage) tally(tb testing.TB) string {
	tb.Helper()
	return coretest.One[string](tb, s.DB,
		`SELECT format('%s workflows, %s versions, %s definitions, %s keys, %s audited',
		(SELECT count(*) FROM workflows), (SELECT count(*) FROM workflow_versions),
		(SELECT count(*) FROM definitions), (SELECT count(*) FROM idempotency_keys),
		(SELECT count(*) FROM audit_records WHERE action LIKE 'workflow.%'))`)
}

func TestCreateWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	author, _ := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleAuthor)
	got := s.Must(t, http.StatusCreated, s.creation("new", "site-report").By(author).With("Request-Id", "req-new"))
	workflow := fixture.Decoded[api.Workflow](t, got)
	address := "/api/workflows/" + workflow.ID + "/"

	t.Run("AnswersWithTheWorkflow", func(t *testing.T) {
		t.Parallel()
		want := api.Workflow{
			ID: workflow.ID, Slug: "site-report", Name: "Site report", Description: "Names its site.", Version: 1,
			OrgSlug: "harbour-energy", IsActive: true, Accepts: []string{"application/json"},
			Steps:     []api.WorkflowStep{{ID: "shape", Name: "Shape", ValidatorType: "json_schema", Order: 1}},
			Constants: []string{}, CreatedAt: workflow.CreatedAt, UpdatedAt: workflow.CreatedAt,
		}
		if diff := cmp.Diff(want, workflow); diff != "" {
			t.Errorf("workflow (-want +got):\n%s", diff)
		}
		fixture.WantHeader(t, got, map[string]string{
			"Location": address, "Content-Type": "application/json", "Idempotency-Key": "new",
			"Request-Id": "req-new", "Cache-Control": "no-store", "Idempotent-Replayed": "", "Original-Request-Id": "",
		})
		if _, err := http.ParseTime(got.Header.Get("Idempotency-Expires")); err != nil {
			t.Errorf("Idempotency-Expires: %v", err)
		}
		for _, path := range []string{address, "/api/workflows/site-report/"} {
			shown := s.Must(t, http.StatusOK, s.reading(path))
			if diff := cmp.Diff(workflow, fixture.Decoded[api.Workflow](t, shown)); diff != "" {
				t.Errorf("%s (-created +shown):\n%s", path, diff)
			}
		}
	})

	t.Run("RemembersWhoDidIt", func(t *testing.T) {
		t.Parallel()
		s.WantAudit(t, "workflow.create", "workflow", workflow.ID, "req-new", "version 1")
	})
}

// shown reads a run.
func (s *stage) shown(tb testing.TB, id string) api.Run {
	tb.Helper()
	address := s.reading(validations.RunAddress(id))
	return fixture.Decoded[api.Run](tb, s.Must(tb, http.StatusOK, address))
}

// TestSavesAreComparedByMeaning repeats saves in other words: what a key stands for is the structure of the body.
func TestSavesAreComparedByMeaning(t *testing.T) {
	t.Parallel()
	s := setup(t)
	json := func(c call, body string) call { return c.WithBody("Application/JSON; charset=utf-8", body) }
	const building = "/api/workflows/building/"
	create, version := s.creation("c", "repeated"), s.versionOf("v", building)
	imported := s.importing("i", siteReport)
	invited := fixture.Adding(s.Harbour.Tokens.Owner, `{"email":"a@b.example","role":"viewer"}`).
		With("Idempotency-Key", "m")
	reordered := `{ "definition": ` + strings.Replace(requiring("s\u0069te"), `"type":"object",`, "", 1)
	reordered = strings.Replace(reordered, `"]}`, `"], "type": "object"}`, 1) +
		`, "is_active": true, "description": "Names its site.", "name": "Site report", "slug": "repeated"}` + "\n"
	for _, tt := range []struct {
		first, same, other call
		differs            string
	}{
		{create, json(create, reordered), s.creation("c", "another"), "content"},
		{
			create, json(create, reordered), json(create, strings.Replace(create.Body, `"id":"shape"`,
				`"id":"shape","continue_on_failure":false`, 1)), "content",
		},
		{
			version, json(version, ` { "definition" : `+requiring("other")+` }`), json(version, versionBody("x")),
			"content",
		},
		{
			version, version.To("/api/workflows/" + s.Harbour.Workflows[0].ID.String() + "/versions/"),
			s.versionOf("v", "/api/workflows/meter-readings/"), "workflow",
		},
		{
			imported, s.importing("i", "# again\n"+siteReport),
			s.importing("i", strings.Replace(siteReport, "Shape", "Form", 1)), "content",
		},
		{
			invited, json(invited, `{"role":"viewer", "email":"a@b.example"}`),
			json(invited, `{"email":"b@b.example","role":"viewer"}`), "content",
		},
	} {
		first := s.Must(t, http.StatusCreated, tt.first)
		again := s.Do(t, tt.same)
		if again.Status != http.StatusCreated || !bytes.Equal(again.Body, first.Body) {
			t.Errorf("the same in other words = %d %s, want a replay of %s", again.Status, again.Body, first.Body)
		}
		problem := fixture.WantProblem(t, s.Do(t, tt.other), api.CodeKeyReused)
		if diff := cmp.Diff([]string{tt.differs}, problem.Differs); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", tt.other.Path, diff)
		}
	}
}

func TestConcurrentCreatesOfOneSlug(t *testing.T) {
	t.Parallel()
	s := setup(t)
	calls := make([]call, 16)
	for i := range calls {
		calls[i] = s.creation("slug-"+strconv.Itoa(i), "contested")
	}
	won := 0
	for _, answer := range s.Together(t, calls) {
		if answer.Status == http.StatusCreated {
			won++
			continue
		}
		problem := fixture.WantProblem(t, answer, api.CodeInvalidPayload)
		if len(problem.Errors) != 1 || problem.Errors[0].Pointer != "/slug" || problem.Errors[0].Code != "taken" {
			t.Errorf("errors = %v, want that the slug is taken", problem.Errors)
		}
	}
	keys := coretest.One[int64](t, s.DB, `SELECT count(*) FROM idempotency_keys`)
	if won != 1 || keys != 1 {
		t.Errorf("%d workflows and %d keys, want 1 and 1", won, keys)
	}
}
