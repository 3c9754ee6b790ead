package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

// workflowAnswer is a workflow as clients see it.
type workflowAnswer struct {
	ID          uuid.UUID    `json:"id"`
	Slug        string       `json:"slug"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Version     int          `json:"version"`
	OrgSlug     string       `json:"org_slug"`
	IsActive    bool         `json:"is_active"`
	Accepts     []string     `json:"accepts"`
	Steps       []stepAnswer `json:"steps"`
	Constants   []string     `json:"constants"`
	CreatedAt   string       `json:"created_at"`
	UpdatedAt   string       `json:"updated_at"`
}

type stepAnswer struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	ValidatorType string `json:"validator_type"`
	Order         int    `json:"order"`
}

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
	author, _ := s.AddToken(t, s.Harbour, core.RoleOwner, core.RoleAuthor)
	got := s.Must(t, http.StatusCreated, s.creation("new", "site-report").By(author).With("Request-Id", "req-new"))
	workflow := fixture.Decoded[workflowAnswer](t, got)
	address := "/api/workflows/" + workflow.ID.String() + "/"

	t.Run("AnswersWithTheWorkflow", func(t *testing.T) {
		t.Parallel()
		want := workflowAnswer{
			ID: workflow.ID, Slug: "site-report", Name: "Site report", Description: "Names its site.", Version: 1,
			OrgSlug: "harbour-energy", IsActive: true, Accepts: []string{"application/json"},
			Steps:     []stepAnswer{{ID: "shape", Name: "Shape", ValidatorType: "json_schema", Order: 1}},
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
			shown := s.Must(t, http.StatusOK, call{Path: path, Token: s.Harbour.Tokens.Viewer})
			if diff := cmp.Diff(workflow, fixture.Decoded[workflowAnswer](t, shown)); diff != "" {
				t.Errorf("%s (-created +shown):\n%s", path, diff)
			}
		}
	})

	t.Run("RemembersWhoDidIt", func(t *testing.T) {
		t.Parallel()
		s.WantAudit(t, "workflow.create", "workflow", workflow.ID, "req-new", "version 1")
		coretest.WantRow(t, s.DB, coretest.Row{
			"org_id": s.Harbour.ID.String(), "endpoint": "workflow_create", "recovery_point": "finished",
			"validation_run_id": "NULL", "locked_until": "NULL", "response_status": "201", "body": string(got.Body),
			"request_id": "req-new", "request_path": "/api/workflows/",
		}, `SELECT org_id, endpoint, recovery_point, validation_run_id, locked_until, response_status,
				convert_from(response_body, 'UTF8') AS body, request_id, request_path
			FROM idempotency_keys WHERE key = 'new'`)
	})

	t.Run("StartsRuns", func(t *testing.T) {
		t.Parallel()
		start := s.Start(t, "").To("/api/workflows/site-report/start/").WithBody("application/json", `{"building":1}`)
		run := s.Started(t, start)
		s.Work(t)
		if run = s.shown(t, run.ID); run.Result != validations.ResultFail {
			t.Errorf("result = %s, want FAIL of a document without the member", run.Result)
		}
	})
}

// shown reads a run.
func (s *stage) shown(tb testing.TB, id uuid.UUID) validations.RunBody {
	tb.Helper()
	address := call{Path: validations.RunAddress(id), Token: s.Harbour.Tokens.Viewer}
	return fixture.Decoded[validations.RunBody](tb, s.Must(tb, http.StatusOK, address))
}

// reordered is drafted with its members in another order, and other white space and escapes.
func reordered(slug string) string {
	return "{ \"definition\": {\"steps\": [{\"config\": {\"schema\": {\"required\": [\"sit\\u0065\"], \"type\": " +
		"\"object\"}}, \"type\": \"json_schema\", \"name\": \"Shape\", \"id\": \"shape\"}],\n\"accepts\": " +
		"[\"application\\/json\"]}, \"is_active\": true, \"description\": \"Names its site.\", \"name\": " +
		"\"Site report\", \"slug\": \"" + slug + "\" }\n"
}

func TestCreateReplay(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.Must(t, http.StatusCreated, s.creation("r", "repeated"))
	workflow := fixture.Decoded[workflowAnswer](t, first)
	s.Must(t, http.StatusCreated, s.versionOf("", first.Header.Get("Location")))
	before := s.tally(t)

	for name, again := range map[string]call{
		"TheSameRequest":  s.creation("r", "repeated"),
		"TheQuotedKey":    s.creation(`"r"`, "repeated"),
		"WithoutSlash":    s.creation("r", "repeated").To("/api/workflows"),
		"OtherOrder":      s.creation("r", "").WithBody("application/json", reordered("repeated")),
		"OtherSpelling":   s.creation("r", "").WithBody("Application/JSON; charset=utf-8", reordered("repeated")),
		"OtherClientSide": s.creation("r", "repeated").With("User-Agent", "other").With("Traceparent", "00-1"),
	} {
		got := s.Do(t, again)
		fixture.WantReplay(t, first, got)
		if t.Failed() {
			t.Fatalf("%s: the answer above is not a replay", name)
		}
	}
	explicit := strings.Replace(drafted("repeated", requiring("site")), `"id":"shape"`,
		`"id":"shape","continue_on_failure":false`, 1)
	for name, c := range map[string]call{
		"AnotherSlug":      s.creation("r", "another"),
		"AnotherMember":    s.creation("r", "").WithBody("application/json", drafted("repeated", requiring("floor"))),
		"DefaultWrittenIn": s.creation("r", "").WithBody("application/json", explicit),
	} {
		problem := fixture.WantProblem(t, s.Do(t, c), core.CodeKeyReused)
		if diff := cmp.Diff([]string{"content"}, problem.Differs); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", name, diff)
		}
		if id := first.Header.Get("Request-Id"); problem.OriginalRequestID != id {
			t.Errorf("%s: original_request_id = %q, want %q", name, problem.OriginalRequestID, id)
		}
	}
	s.Refused(t, core.CodePermissionDenied, s.creation("r", "repeated").By(s.Harbour.Tokens.Executor))
	s.Refused(t, core.CodeInvalidPayload, s.creation("r", "").WithBody("application/json", "{}"))
	if after := s.tally(t); after != before {
		t.Errorf("rows = %s, want %s", after, before)
	}
	if shown := fixture.Decoded[workflowAnswer](t, s.Must(t, http.StatusOK, s.creation("", "").To(
		first.Header.Get("Location")).Get())); workflow.Version != 1 || shown.Version != 2 {
		t.Errorf("versions = %d replayed and %d shown, want 1 and 2", workflow.Version, shown.Version)
	}
}

func TestConcurrentCreates(t *testing.T) {
	t.Parallel()
	const rivals = 16

	t.Run("OfOneSlugAreOneWorkflow", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		calls := make([]call, rivals)
		for i := range calls {
			calls[i] = s.creation("slug-"+strconv.Itoa(i), "contested")
		}
		won := 0
		for _, answer := range s.Together(t, calls) {
			if answer.Status == http.StatusCreated {
				won++
				continue
			}
			problem := fixture.WantProblem(t, answer, core.CodeInvalidPayload)
			if len(problem.Errors) != 1 || problem.Errors[0].Pointer != "/slug" || problem.Errors[0].Code != "taken" {
				t.Errorf("errors = %v, want that the slug is taken", problem.Errors)
			}
		}
		keys := coretest.One[int64](t, s.DB, `SELECT count(*) FROM idempotency_keys`)
		if won != 1 || keys != 1 {
			t.Errorf("%d workflows and %d keys, want 1 and 1", won, keys)
		}
	})
}
