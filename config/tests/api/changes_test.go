package api

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// change is a request of harbour's owner that changes the workflow at the address.
func (s *stage) change(method, address, body string) call {
	c := call{Method: method, Path: address, Token: s.Harbour.Tokens.Owner}
	if body == "" {
		return c
	}
	return c.WithBody("application/json", body)
}

// audited counts the audit records of an action.
func (s *stage) audited(tb testing.TB, action string) int64 {
	tb.Helper()
	return coretest.One[int64](tb, s.DB,
		`SELECT count(*) FROM audit_records WHERE action = $1 AND target_type = 'workflow'
		AND actor_id IS NOT NULL AND token_id IS NOT NULL AND request_id <> ''`, action)
}

func TestActivation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	created := fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusCreated, s.creation("", "switched")))
	start := s.Start(t, "").To("/api/workflows/switched/start/").WithBody("application/json", `{"site":1}`)
	// Each is done twice: a repetition is a success that changes nothing.
	for range 2 {
		got := s.Must(t, http.StatusOK, s.change(http.MethodPost, "/api/workflows/switched/deactivate/", ""))
		if workflow := fixture.Decoded[api.Workflow](t, got); workflow.IsActive || workflow.Version != 1 {
			t.Errorf("workflow = %+v, want it inactive in version 1", workflow)
		}
		s.Refused(t, api.CodeWorkflowInactive, start)
	}
	address := "/api/workflows/" + created.ID + "/activate/"
	first := s.Must(t, http.StatusOK, s.change(http.MethodPost, address, ""))
	second := s.Must(t, http.StatusOK, s.change(http.MethodPost, address, ""))
	if diff := cmp.Diff(string(first.Body), string(second.Body)); diff != "" {
		t.Errorf("repetition (-first +second):\n%s", diff)
	}
	s.Started(t, start)
	for _, action := range []string{"workflow.activate", "workflow.deactivate"} {
		if n := s.audited(t, action); n != 1 {
			t.Errorf("audit records of %s = %d, want 1", action, n)
		}
	}
}

func TestUpdateWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	created := fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusCreated, s.creation("", "renamed")))
	const address = "/api/workflows/renamed/"

	got := fixture.Decoded[api.Workflow](t,
		s.Must(t, http.StatusOK, s.change(http.MethodPatch, address, `{"name":"Other","description":""}`)))
	want := created
	want.Name, want.Description, want.UpdatedAt = "Other", "", got.UpdatedAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("workflow (-want +got):\n%s", diff)
	}
	for _, body := range []string{`{}`, `{"name":"Other"}`} {
		same := fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusOK, s.change(http.MethodPatch, address, body)))
		if diff := cmp.Diff(got, same); diff != "" {
			t.Errorf("after %s (-before +after):\n%s", body, diff)
		}
	}
	merged := s.change(http.MethodPatch, address, "").WithBody("application/merge-patch+json", `{"name":"Other"}`)
	s.Must(t, http.StatusOK, merged)
	if n := s.audited(t, "workflow.update"); n != 1 {
		t.Errorf("audit records = %d, want 1", n)
	}
	for _, body := range []string{`{"name":""}`, `{"slug":"x"}`, `{"is_active":false}`, `{"name":"a\u0000"}`, `[]`} {
		s.Refused(t, api.CodeInvalidPayload, s.change(http.MethodPatch, address, body))
	}
	s.Refused(t, api.CodeUnsupportedMediaType, s.change(http.MethodPatch, address, ""))
}

func TestVersionsAreImmutable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	started := s.Started(t, s.Start(t, ""))
	for _, query := range []string{
		`UPDATE workflow_versions SET definition_digest = (SELECT min(digest::text)::bytea FROM definitions)`,
		`UPDATE workflow_versions SET created_at = now()`,
		`DELETE FROM workflow_versions WHERE workflow_id = '` + started.Workflow + `'`,
		`DELETE FROM workflows WHERE id = '` + started.Workflow + `'`,
	} {
		if _, err := s.DB.Pool.Exec(t.Context(), query); err == nil {
			t.Errorf("%s: no error, want a refusal", query)
		}
	}
}
