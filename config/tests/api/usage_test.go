package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations/insights"
)

func (s *stage) usage(tb testing.TB, token string) api.Usage {
	tb.Helper()
	return fixture.Decoded[api.Usage](tb, s.Must(tb, http.StatusOK, call{Path: "/api/usage/", Token: token}))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	today := coretest.One[time.Time](t, s.DB, `SELECT (now() AT TIME ZONE 'UTC')::date`)
	month := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
	quota := int64(3)
	for used := range quota + 1 {
		remaining := quota - used
		want := api.Usage{
			Metric: "runs", Used: int(used), Quota: &quota, Remaining: &remaining, Period: month.Format("2006-01"),
			ResetsAt: api.At(month.AddDate(0, 1, 0)), Workflows: []api.WorkflowUsage{},
		}
		for day := month; !day.After(today); day = day.AddDate(0, 0, 1) {
			want.Days = append(want.Days, api.DayUsage{Day: day.Format(time.DateOnly)})
		}
		want.Days[len(want.Days)-1].Runs = int(used)
		if used > 0 {
			want.Workflows = []api.WorkflowUsage{
				{Workflow: s.Tiny.Workflows[1].ID.String(), Slug: "meter-readings", Runs: int(used)},
			}
		}
		if diff := cmp.Diff(want, s.usage(t, s.Tiny.Tokens.Viewer)); diff != "" {
			t.Errorf("usage after %d runs (-want +got):\n%s", used, diff)
		}
		s.Do(t, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	}
	s.Exec(t, `UPDATE organizations SET run_quota = NULL`)
	s.Exec(t, `UPDATE usage_counters SET quota = NULL`)
	if got := s.usage(t, s.Tiny.Tokens.Viewer); got.Quota != nil || got.Remaining != nil || got.Used != int(quota) {
		t.Errorf("usage without a limit = %+v, want no quota and nothing remaining", got)
	}
}

func TestUsageByDayAndWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	token := s.Harbour.Tokens.Executor
	for range 3 {
		s.Started(t, s.Start(t, ""))
	}
	building := s.Start(t, "").To("/api/workflows/building/start/").WithBody("application/json", `{}`)
	s.Started(t, building)
	// One is of the last month, one was reserved and never charged, and one was charged beyond the quota.
	run := s.Started(t, building)
	s.Exec(t, `UPDATE validation_runs SET usage_period = usage_period - interval '1 month' WHERE id = $1`, run.ID)
	run = s.Started(t, building)
	s.Exec(t, `UPDATE validation_runs SET usage_metric = '', sweep_after = 'infinity' WHERE id = $1`, run.ID)
	run = s.Started(t, building)
	s.Exec(t, `UPDATE validation_runs SET usage_metric = 'runs_overage' WHERE id = $1`, run.ID)
	s.Exec(t, `INSERT INTO usage_counters (org_id, metric, period_start, used)
		SELECT org_id, 'runs_overage', period_start, 1 FROM usage_counters`)
	s.Started(t, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	// Its clock was behind when the month began.
	s.Exec(t, `UPDATE validation_runs SET created_at = usage_period - interval '1 minute' WHERE id = $1`, run.ID)

	got := s.usage(t, token)
	if want := []api.WorkflowUsage{
		{Workflow: s.Harbour.Workflows[1].ID.String(), Slug: "meter-readings", Runs: 3},
		{Workflow: s.Harbour.Workflows[0].ID.String(), Slug: "building", Runs: 2},
	}; !cmp.Equal(want, got.Workflows) {
		t.Errorf("workflows = %+v, want %+v", got.Workflows, want)
	}
	sum := 0
	for _, day := range got.Days {
		if !strings.HasPrefix(day.Day, got.Period) {
			t.Errorf("day = %s, want one of %s", day.Day, got.Period)
		}
		sum += day.Runs
	}
	if sum != 5 || got.Overage != 1 || got.Days[0].Runs == 0 || !got.CountedSince.IsZero() {
		t.Errorf("usage = %+v, want 5 runs, one of them beyond the quota and on the first day", got)
	}
}

// TestUsageIsBounded fills a month with more runs than are counted by day and by workflow.
func TestUsageIsBounded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, ""))
	const more = insights.MaxCountedRuns
	s.Prepare(t, fmt.Sprintf(`
		INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
			submission_id, source, sweep_after, usage_metric, usage_period, request_id, created_at)
		SELECT org_id, overlay(id::text PLACING lpad(to_hex(n), 12, '0') FROM 25)::uuid, workflow_id, workflow_version,
			workflow_slug, definition_digest, submission_id, source, sweep_after, usage_metric, usage_period,
			request_id, created_at
		FROM validation_runs CROSS JOIN generate_series(1, %d) AS n`, more))
	got := s.usage(t, s.Harbour.Tokens.Viewer)
	if got.CountedSince != run.CreatedAt || got.Workflows[0].Runs != more || got.Days[len(got.Days)-1].Runs != more {
		t.Errorf("usage = %+v, want %d runs counted since %s", got, more, run.CreatedAt)
	}
}
