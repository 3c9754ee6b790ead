package config_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// startHours is what is written about the starts of an organization, over all hours.
type startHours struct {
	Replays, Starts int64
}

func (s *stage) startHours(tb testing.TB) startHours {
	tb.Helper()
	s.flush(tb)
	return one[startHours](tb, s, `
		SELECT ROW(coalesce(sum(replays), 0)::bigint,
			coalesce(sum((SELECT sum(n) FROM unnest(took) AS n)), 0)::bigint)
		FROM start_hours WHERE org_id = $1`, s.Harbour.ID)
}

func (s *stage) wantStartHours(tb testing.TB, want startHours) {
	tb.Helper()
	if diff := cmp.Diff(want, s.startHours(tb)); diff != "" {
		tb.Errorf("hours (-want +got):\n%s", diff)
	}
}

// TestReplaysCountWhenTheyHappen is about a key that was first used before the hours that are shown.
func TestReplaysCountWhenTheyHappen(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	s.started(t, s.start(t, "old"))
	s.work(t)
	s.flush(t)
	s.exec(t, `UPDATE validation_runs SET created_at = created_at - interval '30 hours'`)
	s.exec(t, `UPDATE idempotency_keys SET created_at = created_at - interval '30 hours'`)
	s.exec(t, `UPDATE start_hours SET hour = hour - interval '30 hours'`)
	html := s.visit(t, http.StatusOK, page(harbourPages, viewer))
	shows(t, html, "No run was started or replayed in the last 24 hours")

	for range 2 {
		s.started(t, s.start(t, "old"))
	}
	s.flush(t)
	hour := one[time.Time](t, s, `SELECT max(hour) FROM start_hours`).UTC()
	if since := time.Since(hour); since < -time.Minute || since > time.Hour+time.Minute {
		t.Errorf("hour = %s, want the present one", hour)
	}
	html = s.visit(t, http.StatusOK, page(harbourPages, viewer))
	shows(t, html, `<b>2</b><span class="lab">duplicate runs avoided`,
		"0 passed, 0 failed, 0 platform errors, 2 replayed",
		hour.Format("2006-01-02 15:04")+": 2 replayed", "No new start was measured in the last 24 hours")
	html = s.visit(t, http.StatusOK, page("/app/orgs/tiny-quota/", s.stranger(t)))
	hides(t, html, "2 replayed", "<b>2</b>", "Start latency")
}

func TestStartLatency(t *testing.T) {
	t.Parallel()

	t.Run("CountsEachNewStartOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.waits(t)
		s.started(t, s.start(t, "k"))
		s.started(t, s.start(t, ""))
		s.started(t, s.start(t, "k"))
		s.must(t, http.StatusCreated, s.start(t, "waits").with("Prefer", "wait=20"))
		session := s.visitor(t, core.RoleExecutor)
		form := filledIn(t, s.visit(t, http.StatusOK, page(launchMeters, session))).to(t, launchMeters, session)
		s.launched(t, form)
		s.launched(t, form)
		s.refused(t, core.CodeKeyReused, s.start(t, "k").withBody("text/csv", "a\n1\n"))
		s.refused(t, core.CodeInvalidPayload, s.start(t, "empty").withBody("text/csv", ""))
		s.refused(t, core.CodePermissionDenied, s.start(t, "viewer").by(s.Harbour.Tokens.Viewer))
		s.started(t, s.start(t, "foreign").by(s.Tiny.Tokens.Executor))
		s.wantStartHours(t, startHours{Replays: 2, Starts: 4})
	})

	t.Run("CountsTheOneThatWinsARace", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.together(t, slices.Repeat([]call{s.start(t, "race")}, 40))
		if got := s.startHours(t); got.Starts != 1 || got.Replays > 39 {
			t.Errorf("hours = %+v, want 1 new start and 39 replays at most", got)
		}
	})

	t.Run("CountsNoRunThatWasNotPaidFor", func(t *testing.T) {
		t.Parallel()
		s, charging := setupBilled(t)
		s.started(t, s.start(t, "paid"))
		charging.Script(billing.Decline)
		s.refused(t, core.CodePaymentRequired, s.start(t, "declined"))
		s.wantStartHours(t, startHours{Starts: 1})
	})

	t.Run("LeavesOutTheWaitForTheRun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		// Nobody executes runs here, so the client waits in vain.
		s.must(t, http.StatusCreated, s.start(t, "k").with("Prefer", "wait=3"))
		if got := s.startHours(t); got.Starts != 1 {
			t.Errorf("hours = %+v, want 1 new start", got)
		}
		bounds := metrics.StartBounds()
		slow := one[int64](t, s, `SELECT coalesce(sum(n), 0)::bigint FROM start_hours, unnest(took[$1:]) AS n`,
			slices.Index(bounds, 2500*time.Millisecond)+2)
		if slow != 0 {
			t.Error("the start took more than 2.5 seconds, want it counted without the wait")
		}
	})
}

// TestOverviewInterpolates is about the figures below the histogram.
func TestOverviewInterpolates(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.visitor(t, core.RoleViewer)
	s.started(t, s.start(t, ""))
	for name, row := range map[string]struct {
		took []int64
		want string
	}{
		"Even":   {[]int64{0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0}, "p50 175 ms · p95 242 ms, interpolated"},
		"Apart":  {[]int64{0, 0, 0, 50, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0}, "p50 10 ms · p95 950 ms, interpolated"},
		"Longer": {[]int64{90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10}, "p50 &lt;1 ms · p95 more than 10 s"},
	} {
		s.exec(t, `INSERT INTO start_hours (org_id, hour, took) VALUES ($1, date_trunc('hour', now(), 'UTC'), $2)
			ON CONFLICT ON CONSTRAINT start_hours_pkey DO UPDATE SET took = excluded.took`, s.Harbour.ID, row.took)
		html := s.visit(t, http.StatusOK, page(harbourPages, viewer))
		if !strings.Contains(html, row.want) {
			t.Errorf("%s: the page has no %q:\n%s", name, row.want, mainOf(html))
		}
		shows(t, html, `<th scope="row">2.5 ms</th>`, `<th scope="row">longer</th>`, ": 100 new starts, p50 ")
	}
}
