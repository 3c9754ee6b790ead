package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/validations"
)

// exercise is a request with the status that answers it.
type exercise struct {
	status int
	call   call
}

// TestOpenAPIExercises holds that the exercises have a success and a refusal of every operation of the document, and
// that the service answers each as the document says.
func TestOpenAPIExercises(t *testing.T) {
	t.Parallel()
	s := setupExternal(t)
	agreed, err := fixture.LoadContract()
	if err != nil {
		t.Fatal(err)
	}
	var want, succeeded, refused []string
	for _, o := range operations(agreed.Document) {
		want = append(want, o.OperationID)
	}
	for _, e := range s.exercises(t) {
		got := s.Do(t, e.call)
		if got.Status != e.status {
			t.Errorf("%s %s: status = %d, want %d; body %s", e.call.Method, e.call.Path, got.Status, e.status, got.Body)
			continue
		}
		o := s.operationOf(t, agreed, e.call)
		if e.status < http.StatusBadRequest {
			succeeded = append(succeeded, o.OperationID)
			s.wantDocumented(t, agreed, e.call)
			continue
		}
		refused = append(refused, o.OperationID)
		if code := fixture.Decoded[api.Problem](t, got).Code; !namesCode(o, e.status, code) {
			t.Errorf("%s %s: the document does not name %s for %d", e.call.Method, e.call.Path, code, e.status)
		}
	}
	slices.Sort(want)
	for name, got := range map[string][]string{"successes": succeeded, "refusals": refused} {
		slices.Sort(got)
		if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
			t.Errorf("operations with %s (-want +got):\n%s", name, diff)
		}
	}
}

// wantDocumented wants a request that succeeds to be one that the document describes.
func (s *stage) wantDocumented(tb testing.TB, agreed fixture.Contract, sent call) {
	tb.Helper()
	request, err := sent.Request(tb.Context(), s.Address)
	if err != nil {
		tb.Fatal(err)
	}
	route, parameters, err := agreed.Find(request)
	if err != nil {
		tb.Fatal(err)
	}
	if err := openapi3filter.ValidateRequest(tb.Context(), &openapi3filter.RequestValidationInput{
		Request: request, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}); err != nil {
		tb.Errorf("%s %s succeeds against the document: %v", request.Method, sent.Path, err)
	}
}

// namesCode reports whether the operation's response of the status names the error code.
func namesCode(o *openapi3.Operation, status int, code api.Code) bool {
	response := o.Responses.Status(status)
	if response == nil {
		return false
	}
	codes, ok := response.Value.Extensions["x-retryable"].(map[string]any)
	return ok && codes[string(code)] != nil
}

// operationOf finds the operation of the document that a call is for.
func (s *stage) operationOf(tb testing.TB, agreed fixture.Contract, sent call) *openapi3.Operation {
	tb.Helper()
	request, err := sent.Request(tb.Context(), s.Address)
	if err != nil {
		tb.Fatal(err)
	}
	route, _, err := agreed.Find(request)
	if err != nil {
		tb.Fatalf("%s %s: %v", request.Method, sent.Path, err)
	}
	return route.Operation
}

// exercises has requests for every operation, good and bad ones, in an order in which each is answered with its status.
// JSON is written without blanks, so that a proxy that reads and writes it anew changes no byte.
func (s externalStage) exercises(tb testing.TB) []exercise {
	tb.Helper()
	// Both execute what is pending, so they come before the runs that have to stay so.
	callbacks, findings := s.exercisesOfCallbacks(tb), s.failed(tb)
	return s.withRefusals(tb, slices.Concat(
		callbacks, s.exercisesOfStarts(tb), s.exercisesOfRuns(tb, findings), s.exercisesOfWorkflows(tb),
		s.exercisesOfKeys(tb), s.exercisesOfMembers(tb), s.exercisesOfInvitations(tb),
		s.exercisesOfTokens(tb), s.exercisesOfWebhooks(tb), s.exercisesOfAccount(),
		s.exercisesOfExistingClient(tb, findings), exercisesOfService(),
	))
}

// withRefusals adds to the first exercise of each operation what is refused everywhere: a parameter that cannot be
// read, large headers, no token, and an address at which nothing is.
func (s externalStage) withRefusals(tb testing.TB, exercises []exercise) []exercise {
	tb.Helper()
	agreed, err := fixture.LoadContract()
	if err != nil {
		tb.Fatal(err)
	}
	all := slices.Clone(exercises)
	done := make(map[string]bool)
	for _, e := range exercises {
		o := s.operationOf(tb, agreed, e.call)
		if done[o.OperationID] {
			continue
		}
		done[o.OperationID] = true
		path, _, _ := strings.Cut(e.call.Path, "?")
		all = append(all,
			exercise{http.StatusBadRequest, e.call.To(path + "?page_size=%00")},
			exercise{http.StatusRequestHeaderFieldsTooLarge, e.call.With("X-Large", strings.Repeat("x", 40_000))})
		if o.Security == nil {
			all = append(all, exercise{http.StatusUnauthorized, e.call.By("")})
		}
		if o.Responses.Status(http.StatusNotFound) != nil {
			all = append(all, exercise{http.StatusNotFound, e.call.To(elsewhere(path))})
		}
	}
	return all
}

// elsewhere is an address of the same operation at which nothing is.
func elsewhere(path string) string {
	parts := strings.Split(path, "/")
	at := 3
	if parts[3] == "invitations" {
		at++
	}
	if parts[2] == "v1" {
		at = len(parts) - 2
		if parts[at] == "runs" || parts[at] == "workflows" {
			at--
		}
	}
	parts[at] = "nothing"
	return strings.Join(parts, "/")
}

func (s externalStage) exercisesOfStarts(tb testing.TB) []exercise {
	tb.Helper()
	start := s.Start(tb, "")
	building := start.To("/api/workflows/building/start/")
	mediaType, body := form("B", `name="file"; filename="meter-readings.csv"`, "text/csv", start.Body,
		`name="metadata"`, "text/plain", `{"site":"harbour"}`)
	return []exercise{
		{201, start.With("Idempotency-Key", "exercised").With("X-Filename", "meter-readings.csv")},
		{201, start.With("Idempotency-Key", "exercised").With("X-Filename", "meter-readings.csv")},
		{422, start.With("Idempotency-Key", "exercised").WithBody("text/csv", "a\n1\n")},
		{201, start.With("Idempotency-Key", "in-a-form").WithBody(mediaType, body)},
		{201, building.WithBody("application/json", `{"content":{"building":{"id":"BLD-001"}},"filename":"b.json"}`)},
		{201, building.WithBody("application/json", `{"building":{"id":"BLD-001"}}`)},
		{201, start.To("/api/workflows/meter-readings/start/?version=1")},
		{400, start.To("/api/workflows/meter-readings/start/?version=x")},
		{404, start.To("/api/workflows/meter-readings/start/?version=99")},
		{400, start.With("Idempotency-Key", strings.Repeat("k", 256))},
		{400, start.With("Idempotency-Key", "a\tb")},
		{400, building.WithBody("application/json", `{"content":{},"metadata":12}`)},
		{403, start.By(s.Harbour.Tokens.Viewer)},
		{415, start.WithBody("image/png", "no")},
	}
}

func (s externalStage) exercisesOfRuns(tb testing.TB, findings string) []exercise {
	tb.Helper()
	ended := strings.TrimSuffix(findings, "findings/")
	pending := s.Started(tb, s.Start(tb, "")).ID
	viewer := call{Token: s.Harbour.Tokens.Viewer}
	tag := s.Must(tb, http.StatusOK, viewer.To(ended)).Header.Get("ETag")
	rerun := call{Method: http.MethodPost, Path: ended + "rerun/", Token: s.Harbour.Tokens.Executor}
	exercises := []exercise{
		{200, viewer.To("/api/runs/")},
		{200, viewer.To("/api/runs/?page_size=1&state=COMPLETED&result=FAIL&workflow=meter-readings")},
		{400, viewer.To("/api/runs/?page_size=0")},
		{400, viewer.To("/api/runs/?state=SLEEPING")},
		{400, viewer.To("/api/runs/?cursor=nonsense")},
		{200, viewer.To(ended)},
		{200, viewer.To(validations.RunAddress(pending))},
		{304, viewer.To(ended).With("If-None-Match", tag)},
		{404, viewer.To(ended).By(s.Tiny.Tokens.Owner)},
		{404, viewer.To("/api/runs/nonsense/")},
		{200, viewer.To(findings + "?page_size=2")},
		{400, viewer.To(findings + "?format=pdf")},
		{200, viewer.To(ended + "comparison/")},
		{404, viewer.To(ended + "comparison/").By(s.Tiny.Tokens.Owner)},
		{200, viewer.To(ended + "document/?from=2&lines=3")},
		{400, viewer.To(ended + "document/?from=0")},
		{200, viewer.To(ended + "document/content/")},
		{404, viewer.To(ended + "document/content/").By(s.Tiny.Tokens.Owner)},
		{200, viewer.To(ended + "events/")},
		{201, rerun.With("Idempotency-Key", "exercised-again")},
		{201, rerun.With("Idempotency-Key", "exercised-again")},
		{400, rerun.With("Idempotency-Key", "")},
		{403, rerun.By(s.Harbour.Tokens.Viewer)},
		{200, s.Cancel(pending)},
		{200, s.Cancel(pending)},
		{422, s.Cancel(pending).To(ended + "cancel/")},
	}
	for _, format := range []string{"json", "text", "sarif", "junit", "github", "csv"} {
		exercises = append(exercises, exercise{200, viewer.To(findings + "?format=" + format)})
	}
	return exercises
}

func (s externalStage) exercisesOfWorkflows(tb testing.TB) []exercise {
	tb.Helper()
	viewer := call{Token: s.Harbour.Tokens.Viewer}
	create := s.creation("exercised", "exercised")
	workflow := "/api/workflows/exercised/"
	imported := s.importing("", strings.ReplaceAll(siteReport, "from-file", "exercised-file"))
	deactivate := s.change(http.MethodPost, workflow+"deactivate/", "")
	return []exercise{
		{201, create},
		{201, create},
		{422, s.creation("exercised", "exercised-otherwise")},
		{400, s.creation("", "exercised")},
		{400, create.WithBody("application/json", `{"slug":"no definition"}`)},
		{415, create.WithBody("text/plain", "no")},
		{403, create.By(s.Harbour.Tokens.Executor)},
		{200, viewer.To("/api/workflows/?page_size=2")},
		{400, viewer.To("/api/workflows/?page_size=x")},
		{200, viewer.To(workflow)},
		{200, viewer.To(workflow + "?version=1")},
		{404, viewer.To(workflow + "?version=2")},
		{201, s.versionOf("", workflow)},
		{400, s.versionOf("", workflow).WithBody("application/json", `{"definition":{}}`)},
		{200, s.change(http.MethodPatch, workflow, `{"name":"Exchanged"}`)},
		{400, s.change(http.MethodPatch, workflow, `{"slug":"other"}`)},
		{200, s.change(http.MethodPost, workflow+"activate/", "")},
		{200, viewer.To(workflow + "export/")},
		{201, imported},
		{200, imported},
		{400, imported.WithBody("application/yaml", "schema_version: 1\n")},
		{415, imported.WithBody("text/plain", "no")},
		{200, deactivate},
		{403, deactivate.By(s.Harbour.Tokens.Viewer)},
		{422, s.Start(tb, "").To(workflow+"start/").WithBody("application/json", `{"site":1}`)},
		{422, s.Start(tb, "").To("/api/workflows/exercised/start/").WithBody("application/json", `{"other":1}`)},
	}
}

func (s externalStage) exercisesOfKeys(tb testing.TB) []exercise {
	tb.Helper()
	viewer := call{Token: s.Harbour.Tokens.Viewer}
	stuck := s.release(s.Abandoned(tb, "exercised-and-stuck").ID)
	key := strings.TrimSuffix(stuck.Path, "release/")
	finished := s.Started(tb, s.Start(tb, "exercised-and-finished"))
	refused := s.refusedRequest(tb)
	return []exercise{
		{200, viewer.To("/api/requests/?page_size=2")},
		{200, viewer.To("/api/requests/?status=4xx&code=permission_denied")},
		{400, viewer.To("/api/requests/?status=lost")},
		{200, viewer.To("/api/requests/" + refused.String() + "/")},
		{404, viewer.To("/api/requests/" + unknownID + "/")},
		{200, viewer.To("/api/idempotency-keys/?page_size=2")},
		{200, viewer.To("/api/idempotency-keys/?state=abandoned")},
		{400, viewer.To("/api/idempotency-keys/?state=lost")},
		{200, viewer.To("/api/idempotency-keys/activity/")},
		{200, viewer.To(key)},
		{204, stuck},
		{403, stuck.By(s.Harbour.Tokens.Viewer)},
		{400, stuck.WithBody("application/json", `{"force":true}`)},
		{415, stuck.WithBody("text/plain", "why")},
		{422, s.release(s.Entry(tb, string(finished.IdempotencyKey)).ID)},
	}
}

func (s externalStage) exercisesOfCallbacks(tb testing.TB) []exercise {
	tb.Helper()
	s.validator.Usually(outside.Promise)
	s.run(tb)
	now := time.Now()
	signed := s.callback(tb, outside.AnswerOf(true), s.secret, now)
	return []exercise{
		{401, s.callback(tb, outside.AnswerOf(true), "forged", now)},
		{400, s.callback(tb, `{"result":"MAYBE"}`, s.secret, now)},
		{415, signed.With("Content-Type", "text/plain")},
		{200, signed},
		{200, signed},
		{404, signed.To(elsewhere(signed.Path))},
	}
}

func (s externalStage) exercisesOfExistingClient(tb testing.TB, findings string) []exercise {
	tb.Helper()
	const org = "/api/v1/orgs/harbour-energy/"
	viewer := call{Token: s.Harbour.Tokens.Viewer}
	run := org + "runs/" + s.Started(tb, s.Start(tb, "")).ID + "/"
	ended := org + "runs/" + strings.Split(findings, "/")[3] + "/"
	start := s.Start(tb, "").To(org + "workflows/meter-readings/runs/")
	return []exercise{
		{200, viewer.To("/api/v1/auth/me/")},
		{200, viewer.To("/api/v1/orgs/")},
		{200, viewer.To(org + "workflows/?page_size=1")},
		{400, viewer.To(org + "workflows/?page_size=x")},
		{404, viewer.To("/api/v1/orgs/tiny-quota/workflows/")},
		{200, viewer.To(org + "workflows/meter-readings/")},
		{201, start},
		{415, start.WithBody("image/png", "no")},
		{403, start.By(s.Harbour.Tokens.Viewer)},
		{200, viewer.To(run)},
		{200, viewer.To(ended)},
	}
}

func exercisesOfService() []exercise {
	return []exercise{
		{200, call{Path: "/api/schema/"}.With("Accept", "application/yaml")},
		{200, call{Path: "/api/schema/"}.With("Accept", "application/json")},
		{200, call{Path: "/api/docs/"}},
		{200, call{Path: "/livez"}},
		{200, call{Path: "/readyz"}},
	}
}

// refusedRequest makes a request in the log that was refused.
func (s *stage) refusedRequest(tb testing.TB) uuid.UUID {
	tb.Helper()
	s.Do(tb, s.Start(tb, "").By(s.Harbour.Tokens.Viewer))
	s.FlushRequests(tb)
	return coretest.One[uuid.UUID](tb, s.DB, `SELECT id FROM request_log WHERE org_id = $1 AND code <> '' LIMIT 1`,
		s.Harbour.ID)
}
