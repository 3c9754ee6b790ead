package config_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/validator"
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
	agreed, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	var want, succeeded, refused []string
	for _, o := range operations(agreed.document) {
		want = append(want, o.OperationID)
	}
	for _, e := range s.exercises(t) {
		got := s.do(t, e.call)
		if got.status != e.status {
			t.Errorf("%s %s: status = %d, want %d; body %s", e.call.method, e.call.path, got.status, e.status, got.body)
			continue
		}
		o := agreed.operation(t, s.stage, e.call)
		if e.status < http.StatusBadRequest {
			succeeded = append(succeeded, o.OperationID)
			continue
		}
		refused = append(refused, o.OperationID)
		if code := decoded[core.Problem](t, got).Code; !namesCode(o, e.status, code) {
			t.Errorf("%s %s: the document does not name %s for %d", e.call.method, e.call.path, code, e.status)
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

// namesCode says whether the operation's response of the status names the error code.
func namesCode(o *openapi3.Operation, status int, code core.Code) bool {
	response := o.Responses.Status(status)
	if response == nil {
		return false
	}
	codes, ok := response.Value.Extensions["x-retryable"].(map[string]any)
	return ok && codes[string(code)] != nil
}

// operation finds the operation of the document that a call is for.
func (c contract) operation(tb testing.TB, s *stage, sent call) *openapi3.Operation {
	tb.Helper()
	request, err := sent.request(tb.Context(), s.address)
	if err != nil {
		tb.Fatal(err)
	}
	route, _, err := c.find(request)
	if err != nil {
		tb.Fatalf("%s %s: %v", request.Method, sent.path, err)
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
		s.exercisesOfTokens(tb), s.exercisesOfAccount(),
		s.exercisesOfExistingClient(tb, findings), exercisesOfService(),
	))
}

// withRefusals adds to the first exercise of each operation what is refused everywhere: a parameter that cannot be
// read, large headers, no token, and an address at which nothing is.
func (s externalStage) withRefusals(tb testing.TB, exercises []exercise) []exercise {
	tb.Helper()
	agreed, err := loadContract()
	if err != nil {
		tb.Fatal(err)
	}
	all := slices.Clone(exercises)
	done := make(map[string]bool)
	for _, e := range exercises {
		o := agreed.operation(tb, s.stage, e.call)
		if done[o.OperationID] {
			continue
		}
		done[o.OperationID] = true
		path, _, _ := strings.Cut(e.call.path, "?")
		all = append(all,
			exercise{http.StatusBadRequest, e.call.to(path + "?page_size=%00")},
			exercise{http.StatusRequestHeaderFieldsTooLarge, e.call.with("X-Large", strings.Repeat("x", 40_000))})
		if o.Security == nil {
			all = append(all, exercise{http.StatusUnauthorized, e.call.by("")})
		}
		if o.Responses.Status(http.StatusNotFound) != nil {
			all = append(all, exercise{http.StatusNotFound, e.call.to(elsewhere(path))})
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
	start := s.start(tb, "")
	building := start.to("/api/workflows/building/start/")
	mediaType, body := form("B", `name="file"; filename="meter-readings.csv"`, "text/csv", start.body,
		`name="metadata"`, "text/plain", `{"site":"harbour"}`)
	return []exercise{
		{201, start.with("Idempotency-Key", "exercised").with("X-Filename", "meter-readings.csv")},
		{201, start.with("Idempotency-Key", "exercised").with("X-Filename", "meter-readings.csv")},
		{422, start.with("Idempotency-Key", "exercised").withBody("text/csv", "a\n1\n")},
		{201, start.with("Idempotency-Key", "in-a-form").withBody(mediaType, body)},
		{201, building.withBody("application/json", `{"content":{"building":{"id":"BLD-001"}},"filename":"b.json"}`)},
		{201, building.withBody("application/json", `{"building":{"id":"BLD-001"}}`)},
		{201, start.to("/api/workflows/meter-readings/start/?version=1")},
		{400, start.to("/api/workflows/meter-readings/start/?version=x")},
		{404, start.to("/api/workflows/meter-readings/start/?version=99")},
		{400, start.with("Idempotency-Key", strings.Repeat("k", 256))},
		{400, start.with("Idempotency-Key", "a\tb")},
		{400, building.withBody("application/json", `{"content":{},"metadata":12}`)},
		{403, start.by(s.Harbour.Tokens.Viewer)},
		{415, start.withBody("image/png", "no")},
	}
}

func (s externalStage) exercisesOfRuns(tb testing.TB, findings string) []exercise {
	tb.Helper()
	ended := strings.TrimSuffix(findings, "findings/")
	pending := s.started(tb, s.start(tb, "")).ID
	viewer := call{token: s.Harbour.Tokens.Viewer}
	tag := s.must(tb, http.StatusOK, viewer.to(ended)).header.Get("ETag")
	rerun := call{method: http.MethodPost, path: ended + "rerun/", token: s.Harbour.Tokens.Executor}
	exercises := []exercise{
		{200, viewer.to("/api/runs/")},
		{200, viewer.to("/api/runs/?page_size=1&state=COMPLETED&result=FAIL&workflow=meter-readings")},
		{400, viewer.to("/api/runs/?page_size=0")},
		{400, viewer.to("/api/runs/?state=SLEEPING")},
		{400, viewer.to("/api/runs/?cursor=nonsense")},
		{200, viewer.to(ended)},
		{200, viewer.to(validations.RunAddress(pending))},
		{304, viewer.to(ended).with("If-None-Match", tag)},
		{404, viewer.to(ended).by(s.Tiny.Tokens.Owner)},
		{404, viewer.to("/api/runs/nonsense/")},
		{200, viewer.to(findings + "?page_size=2")},
		{400, viewer.to(findings + "?format=pdf")},
		{200, viewer.to(ended + "events/")},
		{201, rerun.with("Idempotency-Key", "exercised-again")},
		{201, rerun.with("Idempotency-Key", "exercised-again")},
		{400, rerun.with("Idempotency-Key", "")},
		{403, rerun.by(s.Harbour.Tokens.Viewer)},
		{200, s.cancel(pending)},
		{200, s.cancel(pending)},
		{422, s.cancel(pending).to(ended + "cancel/")},
	}
	for _, format := range []string{"json", "text", "sarif", "junit", "github", "csv"} {
		exercises = append(exercises, exercise{200, viewer.to(findings + "?format=" + format)})
	}
	return exercises
}

func (s externalStage) exercisesOfWorkflows(tb testing.TB) []exercise {
	tb.Helper()
	viewer := call{token: s.Harbour.Tokens.Viewer}
	create := s.creation("exercised", "exercised")
	workflow := "/api/workflows/exercised/"
	imported := s.importing("", strings.ReplaceAll(siteReport, "from-file", "exercised-file"))
	deactivate := s.change(http.MethodPost, workflow+"deactivate/", "")
	return []exercise{
		{201, create},
		{201, create},
		{422, s.creation("exercised", "exercised-otherwise")},
		{400, s.creation("", "exercised")},
		{400, create.withBody("application/json", `{"slug":"no definition"}`)},
		{415, create.withBody("text/plain", "no")},
		{403, create.by(s.Harbour.Tokens.Executor)},
		{200, viewer.to("/api/workflows/?page_size=2")},
		{400, viewer.to("/api/workflows/?page_size=x")},
		{200, viewer.to(workflow)},
		{200, viewer.to(workflow + "?version=1")},
		{404, viewer.to(workflow + "?version=2")},
		{201, s.versionOf("", workflow)},
		{400, s.versionOf("", workflow).withBody("application/json", `{"definition":{}}`)},
		{200, s.change(http.MethodPatch, workflow, `{"name":"Exchanged"}`)},
		{400, s.change(http.MethodPatch, workflow, `{"slug":"other"}`)},
		{200, s.change(http.MethodPost, workflow+"activate/", "")},
		{200, viewer.to(workflow + "export/")},
		{201, imported},
		{200, imported},
		{400, imported.withBody("application/yaml", "schema_version: 1\n")},
		{415, imported.withBody("text/plain", "no")},
		{200, deactivate},
		{403, deactivate.by(s.Harbour.Tokens.Viewer)},
		{422, s.start(tb, "").to(workflow+"start/").withBody("application/json", `{"site":1}`)},
		{422, s.start(tb, "").to("/api/workflows/exercised/start/").withBody("application/json", `{"other":1}`)},
	}
}

func (s externalStage) exercisesOfKeys(tb testing.TB) []exercise {
	tb.Helper()
	viewer := call{token: s.Harbour.Tokens.Viewer}
	stuck := s.release(s.abandoned(tb, "exercised-and-stuck").ID)
	key := strings.TrimSuffix(stuck.path, "release/")
	finished := s.started(tb, s.start(tb, "exercised-and-finished"))
	return []exercise{
		{200, viewer.to("/api/idempotency-keys/?page_size=2")},
		{200, viewer.to("/api/idempotency-keys/?state=abandoned")},
		{400, viewer.to("/api/idempotency-keys/?state=lost")},
		{200, viewer.to("/api/idempotency-keys/activity/")},
		{200, viewer.to(key)},
		{204, stuck},
		{403, stuck.by(s.Harbour.Tokens.Viewer)},
		{400, stuck.withBody("application/json", `{"force":true}`)},
		{415, stuck.withBody("text/plain", "why")},
		{422, s.release(s.entry(tb, string(finished.IdempotencyKey)).ID)},
	}
}

func (s externalStage) exercisesOfCallbacks(tb testing.TB) []exercise {
	tb.Helper()
	s.validator.Usually(validator.Promise)
	s.run(tb)
	now := time.Now()
	signed := s.callback(tb, validator.AnswerOf(true), s.secret, now)
	return []exercise{
		{401, s.callback(tb, validator.AnswerOf(true), "forged", now)},
		{400, s.callback(tb, `{"result":"MAYBE"}`, s.secret, now)},
		{415, signed.with("Content-Type", "text/plain")},
		{200, signed},
		{200, signed},
		{404, signed.to(elsewhere(signed.path))},
	}
}

func (s externalStage) exercisesOfMembers(tb testing.TB) []exercise {
	tb.Helper()
	owner := s.Harbour.Tokens.Owner
	id := s.addMember(tb, "exercised", core.RoleExecutor)
	last, err := s.Users.User(tb.Context(), "owner@harbour-energy.example")
	if err != nil {
		tb.Fatal(err)
	}
	leaving := s.tokenOf(tb, s.addMember(tb, "exercised-leaving", core.RoleViewer), core.RoleViewer)
	add := adding(owner, `{"email":"exercised-too@b.example","role":"viewer"}`)
	return []exercise{
		{200, call{path: "/api/members/?page_size=1", token: owner}},
		{400, call{path: "/api/members/?page_size=x", token: owner}},
		{201, add},
		{400, add},
		{400, adding(owner, `{"email":"nobody","role":"king"}`)},
		{415, add.withBody("text/plain", "no")},
		{403, add.by(s.Harbour.Tokens.Viewer)},
		{200, setRole(id, owner, core.RoleViewer)},
		{400, setRole(id, owner, "king")},
		{422, setRole(last.ID, owner, core.RoleViewer)},
		{422, remove(last.ID, owner)},
		{204, remove(id, owner)},
		{204, remove(id, owner)},
		{204, leave(leaving)},
		{403, leave(leaving)},
		{422, leave(owner)},
	}
}

func (s externalStage) exercisesOfInvitations(tb testing.TB) []exercise {
	tb.Helper()
	owner, viewer := s.Harbour.Tokens.Owner, s.Harbour.Tokens.Viewer
	open := "/api/members/invitations/" + s.invited(tb, "exercised-open@b.example").String() + "/"
	// The members of harbour are invited to the other organization.
	byTiny := func(email string) call {
		body := `{"email":"` + email + `","role":"viewer"}`
		made := s.must(tb, 201, adding(s.Tiny.Tokens.Owner, body))
		id := decoded[invitationAnswer](tb, made).ID.String()
		return call{method: http.MethodPost, path: "/api/invitations/" + id + "/", token: owner}
	}
	accepted, declined := byTiny("owner@harbour-energy.example"), byTiny("viewer@harbour-energy.example").by(viewer)
	linked := call{method: http.MethodPost, path: open + "link/", token: owner}
	revoked := call{method: http.MethodDelete, path: open, token: owner}
	own := call{path: "/api/invitations/", token: owner}
	return []exercise{
		{200, call{path: "/api/members/invitations/?page_size=1", token: owner}},
		{403, call{path: "/api/members/invitations/", token: viewer}},
		{201, linked},
		{403, linked.by(viewer)},
		{404, linked.by(s.Tiny.Tokens.Owner)},
		{204, revoked},
		{204, revoked},
		{403, revoked.by(viewer)},
		{200, own},
		{200, accepted.to(accepted.path + "accept/")},
		{200, accepted.to(accepted.path + "accept/")},
		{404, accepted.to(accepted.path + "accept/").by(viewer)},
		{204, declined.to(declined.path + "decline/")},
		{404, declined.to(declined.path + "decline/")},
	}
}

func (s externalStage) exercisesOfTokens(tb testing.TB) []exercise {
	tb.Helper()
	owner := s.Harbour.Tokens.Owner
	_, id := s.addToken(tb, s.Harbour, core.RoleOwner, core.RoleViewer)
	return []exercise{
		{200, call{path: "/api/tokens/?page_size=2", token: owner}},
		{400, call{path: "/api/tokens/?page_size=x", token: owner}},
		{201, tokenCall(owner, `{"label":"exercised","role":"viewer"}`)},
		{201, tokenCall(owner, `{"label":"short","role":"viewer","valid_for_ms":60000}`)},
		{400, tokenCall(owner, `{"label":"","role":"viewer"}`)},
		{403, tokenCall(s.Harbour.Tokens.Viewer, `{"label":"more","role":"owner"}`)},
		{201, rotate(id, owner, `{"overlap_ms":1000}`)},
		{422, rotate(id, owner, "")},
		{400, rotate(id, owner, `{"overlap_ms":-1}`)},
		{204, revoke(id, owner)},
		{404, revoke(id, s.Tiny.Tokens.Owner)},
	}
}

func (s externalStage) exercisesOfAccount() []exercise {
	viewer, owner := call{token: s.Harbour.Tokens.Viewer}, call{token: s.Harbour.Tokens.Owner}
	return []exercise{
		{200, viewer.to("/api/me/")},
		{200, viewer.to("/api/orgs/")},
		{200, viewer.to("/api/usage/")},
		{200, viewer.by(s.Tiny.Tokens.Viewer).to("/api/usage/")},
		{200, owner.to("/api/audit/?page_size=3")},
		{403, viewer.to("/api/audit/")},
		{200, owner.to("/api/signing-secrets/")},
		{403, viewer.to("/api/signing-secrets/")},
	}
}

func (s externalStage) exercisesOfExistingClient(tb testing.TB, findings string) []exercise {
	tb.Helper()
	const org = "/api/v1/orgs/harbour-energy/"
	viewer := call{token: s.Harbour.Tokens.Viewer}
	run := org + "runs/" + s.started(tb, s.start(tb, "")).ID.String() + "/"
	ended := org + "runs/" + strings.Split(findings, "/")[3] + "/"
	start := s.start(tb, "").to(org + "workflows/meter-readings/runs/")
	return []exercise{
		{200, viewer.to("/api/v1/auth/me/")},
		{200, viewer.to("/api/v1/orgs/")},
		{200, viewer.to(org + "workflows/?page_size=1")},
		{400, viewer.to(org + "workflows/?page_size=x")},
		{404, viewer.to("/api/v1/orgs/tiny-quota/workflows/")},
		{200, viewer.to(org + "workflows/meter-readings/")},
		{201, start},
		{415, start.withBody("image/png", "no")},
		{403, start.by(s.Harbour.Tokens.Viewer)},
		{200, viewer.to(run)},
		{200, viewer.to(ended)},
	}
}

func exercisesOfService() []exercise {
	return []exercise{
		{200, call{path: "/api/schema/"}.with("Accept", "application/yaml")},
		{200, call{path: "/api/schema/"}.with("Accept", "application/json")},
		{200, call{path: "/api/docs/"}},
		{200, call{path: "/livez"}},
		{200, call{path: "/readyz"}},
	}
}
