package api

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// lookedAtRuns is how many runs are looked at for one page of a filter without an index.
const lookedAtRuns = 20_000

// TestRunsBehindManyOthers has one run that passes a filter behind more others than are looked at for a page.
func TestRunsBehindManyOthers(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "k"))
	s.Work(t)
	s.Exec(t, fixture.Multiplied("validation_runs", `one.id = $1::uuid`,
		`, 'idempotency_key_id', NULL, 'idempotency_key', '', 'created_at', `+fixture.MadeAt),
		run.ID, lookedAtRuns+5, s.Harbour.ID, time.Now())
	oldest := core.FirstIDAt(time.Now().AddDate(-1, 0, 0))
	oldest[6], oldest[8] = 0x70, 0x80 // The version and the variant that clients look for.
	s.Exec(t, `
		INSERT INTO validation_runs SELECT made.* FROM validation_runs AS one, jsonb_populate_record(one,
			jsonb_build_object('id', $2::uuid, 'result', 'FAIL', 'error_category', 'VALIDATION_FAILED',
				'error_count', 1, 'idempotency_key_id', NULL)) AS made
		WHERE one.id = $1`, run.ID, oldest)

	t.Run("AreOnTheNextPage", func(t *testing.T) {
		t.Parallel()
		first := s.page(t, "/api/runs/?result=FAIL&page_size=3")
		if len(first.Results) != 0 || first.Next == "" {
			t.Fatalf("first page = %d runs, next %q, want none and more", len(first.Results), first.Next)
		}
		second := s.page(t, string(first.Next))
		if got := idsOf(second); !slices.Equal(got, []string{oldest.String()}) || second.Next != "" {
			t.Errorf("second page = %v, next %q, want %s alone", got, second.Next, oldest)
		}
		html := s.Visit(t, http.StatusOK, fixture.Page(fixture.HarbourPages+"runs/?result=FAIL",
			s.Visitor(t, api.RoleViewer)))
		fixture.Shows(t, html, "None of the 20,000 runs that were searched matches these filters", `rel="next"`)
	})

	t.Run("AreOnTheFirstPageWhileTheirKeyIsKept", func(t *testing.T) {
		t.Parallel()
		s.Exec(t, `INSERT INTO idempotency_keys
			SELECT made.* FROM idempotency_keys AS one, LATERAL jsonb_populate_record(one, jsonb_build_object(
				'id', gen_random_uuid(), 'endpoint', 'workflow_rerun', 'validation_run_id', $1::uuid)) AS made
			WHERE one.key = 'k'`, oldest)
		found := s.page(t, "/api/runs/?idempotency_key=k")
		if got := idsOf(found); !slices.Equal(got, []string{run.ID, oldest.String()}) {
			t.Errorf("runs = %v, want %s and %s", got, run.ID, oldest)
		}
		if next := s.page(t, string(found.Next)); len(next.Results) != 0 || next.Next != "" {
			t.Errorf("next page = %d runs, next %q, want the end", len(next.Results), next.Next)
		}
		cut := s.page(t, "/api/runs/?idempotency_key=k&page_size=1")
		if got := idsOf(s.page(t, string(cut.Next))); !slices.Equal(got, []string{oldest.String()}) {
			t.Errorf("second page = %v, want %s alone", got, oldest)
		}
	})
}
