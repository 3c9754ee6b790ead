package pages

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// loggedStart returns the id of the newest request in the log with a key of harbour.
func (s *stage) loggedStart(tb testing.TB, key string) string {
	tb.Helper()
	s.FlushRequests(tb)
	return coretest.One[uuid.UUID](tb, s.DB, `SELECT id FROM request_log WHERE org_id = $1 AND key = $2
		ORDER BY id DESC LIMIT 1`, s.Harbour.ID, key).String()
}

func TestRequestsPage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Visitor(t, api.RoleOwner)
	list := fixture.HarbourPages + "requests/"
	s.shows(t, fixture.Page(list, owner), "No request has been logged yet")

	start := s.Start(t, "with <b> & a quote")
	s.Started(t, start)
	s.Started(t, start)
	s.Do(t, start.By(s.Harbour.Tokens.Viewer))
	s.Do(t, s.Start(t, "other").WithBody("application/pdf", "other"))
	detail := list + s.loggedStart(t, "other") + "/"
	page := s.see(t, fixture.Page(list, owner))
	fixture.Shows(t, page, "with &lt;b&gt; &amp; a quote", "201 replayed", "permission_denied",
		"unsupported_media_type", "Refused today")
	s.shows(t, fixture.Page(list+"?code=permission_denied", owner), "403")
	s.shows(t, fixture.Page(list+"?key=none", owner), "No request matches")
	refused := s.Visit(t, http.StatusBadRequest, fixture.Page(list+"?status=9xx&key=kept", owner))
	fixture.Shows(t, refused, `value="kept"`)
	s.shows(t, fixture.Page(detail, owner), "Problem document", "Authorization", "not kept", "application/pdf")
}

// A form of the dashboard is a start as well, with the key that it brought.
func TestRequestsPageHasForms(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Visitor(t, api.RoleOwner)
	form := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, owner)))
	key := form.Fields[0][1]
	for range 2 {
		s.Launched(t, form.To(t, fixture.LaunchMeters, owner))
	}
	changed := form.File("readings.csv", "text/csv", "other\n")
	s.Visit(t, http.StatusUnprocessableEntity, changed.To(t, fixture.LaunchMeters, owner))
	s.FlushRequests(t)
	type line struct {
		Status   int
		Code     string
		Replayed bool
		HasRun   bool
	}
	rows, err := s.DB.Pool.Query(t.Context(), `SELECT status, code, replayed, run_id IS NOT NULL FROM request_log
		WHERE org_id = $1 AND key = $2 AND endpoint = 'workflow_start' AND token_id IS NULL ORDER BY id`,
		s.Harbour.ID, key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[line])
	if err != nil {
		t.Fatal(err)
	}
	want := []line{{303, "", false, true}, {303, "", true, true}, {422, "idempotency_key_reused", false, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// Starts that nobody can make are what the overview is there for: it says how many were refused, and why.
func TestRefusedStartsNeedAttention(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := s.Visitor(t, api.RoleOwner)
	s.Must(t, http.StatusOK, call{
		Method: http.MethodPost, Path: "/api/workflows/meter-readings/deactivate/", Token: s.Harbour.Tokens.Owner,
	})
	for range 3 {
		s.Refused(t, api.CodeWorkflowInactive, s.Start(t, ""))
	}
	s.FlushRequests(t)
	s.shows(t, harbour("", owner), "Needs attention</span><b>3</b>", "3 starts refused today: workflow is inactive",
		`requests/?code=workflow_inactive"`)
	s.shows(t, harbour("usage/", owner), "Refused starts", "Workflow is inactive", `<td class="n">3</td>`)
}
