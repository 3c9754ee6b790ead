package pages

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// startHours is what is written about the starts of an organization, over all hours.
type startHours struct {
	Replays, Starts int64
}

func (s *stage) startHours(tb testing.TB) startHours {
	tb.Helper()
	s.Flush(tb)
	return coretest.One[startHours](tb, s.DB, `
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
	viewer := s.Visitor(t, api.RoleViewer)
	s.Started(t, s.Start(t, "old"))
	s.Work(t)
	s.Flush(t)
	s.Exec(t, `UPDATE validation_runs SET created_at = created_at - interval '30 hours'`)
	s.Exec(t, `UPDATE idempotency_keys SET created_at = created_at - interval '30 hours'`)
	s.Exec(t, `UPDATE start_hours SET hour = hour - interval '30 hours'`)
	html := s.see(t, harbour("", viewer))
	fixture.Shows(t, html, "No run was started or replayed in the last 24 hours", "Latest runs")

	for range 2 {
		s.Started(t, s.Start(t, "old"))
	}
	s.Flush(t)
	hour := coretest.One[time.Time](t, s.DB, `SELECT max(hour) FROM start_hours`).UTC()
	if since := time.Since(hour); since < -time.Minute || since > time.Hour+time.Minute {
		t.Errorf("hour = %s, want the present one", hour)
	}
	html = s.see(t, harbour("", viewer))
	fixture.Shows(t, html, `<b>2</b><span class="lab">duplicate runs avoided`,
		"0 passed, 0 failed, 0 platform errors, 2 replayed",
		hour.Format("2006-01-02 15:04")+": 2 replayed", "No new start was measured in the last 24 hours")
	html = s.see(t, fixture.Page("/app/orgs/tiny-quota/", s.Stranger(t)))
	fixture.Hides(t, html, "2 replayed", "<b>2</b>", "Start latency")
}

func TestStartLatency(t *testing.T) {
	t.Parallel()

	t.Run("CountsEachNewStartOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.ExecutesLocally(t)
		s.Started(t, s.Start(t, "k"))
		s.Started(t, s.Start(t, ""))
		s.Started(t, s.Start(t, "k"))
		s.Must(t, http.StatusCreated, s.Start(t, "waits").With("Prefer", "wait=20"))
		session := s.Visitor(t, api.RoleExecutor)
		form := fixture.FilledIn(t, s.see(t, fixture.Page(fixture.LaunchMeters, session))).To(t, fixture.LaunchMeters,
			session)
		s.Launched(t, form)
		s.Launched(t, form)
		s.Refused(t, api.CodeKeyReused, s.Start(t, "k").WithBody("text/csv", "a\n1\n"))
		s.Refused(t, api.CodeInvalidPayload, s.Start(t, "empty").WithBody("text/csv", ""))
		s.Refused(t, api.CodePermissionDenied, s.Start(t, "viewer").By(s.Harbour.Tokens.Viewer))
		s.Started(t, s.Start(t, "foreign").By(s.Tiny.Tokens.Executor))
		s.wantStartHours(t, startHours{Replays: 2, Starts: 4})
	})

	t.Run("CountsTheOneThatWinsARace", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Together(t, slices.Repeat([]call{s.Start(t, "race")}, 40))
		if got := s.startHours(t); got.Starts != 1 || got.Replays > 39 {
			t.Errorf("hours = %+v, want 1 new start and 39 replays at most", got)
		}
	})

	t.Run("CountsNoRunThatWasNotPaidFor", func(t *testing.T) {
		t.Parallel()
		billed, charging := fixture.SetupBilled(t)
		s := &stage{Stage: billed}
		s.Started(t, s.Start(t, "paid"))
		charging.Script(outside.Decline)
		s.Refused(t, api.CodePaymentRequired, s.Start(t, "declined"))
		s.wantStartHours(t, startHours{Starts: 1})
	})

	t.Run("LeavesOutTheWaitForTheRun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		// Nobody executes runs here, so the client waits in vain.
		begun := time.Now()
		s.Must(t, http.StatusCreated, s.Start(t, "k").With("Prefer", "wait=3"))
		most := time.Since(begun) - 3*time.Second
		if got := s.startHours(t); got.Starts != 1 {
			t.Errorf("hours = %+v, want 1 new start", got)
		}
		bound, _ := slices.BinarySearch(metrics.StartBounds(), most)
		slow := coretest.One[int64](t, s.DB,
			`SELECT coalesce(sum(n), 0)::bigint FROM start_hours, unnest(took[$1:]) AS n`,
			bound+2)
		if slow != 0 {
			t.Errorf("the start is counted as slower than the %s that it took, want it without the wait", most)
		}
	})
}

// TestOverviewInterpolates is about the figures below the histogram.
func TestOverviewInterpolates(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	s.Started(t, s.Start(t, ""))
	for name, row := range map[string]struct {
		took []int64
		want string
	}{
		"Even":   {[]int64{0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0}, "p50 175 ms · p95 242 ms</dd>"},
		"Apart":  {[]int64{0, 0, 0, 50, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0}, "p50 10 ms · p95 950 ms</dd>"},
		"Longer": {[]int64{90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10}, "p50 &lt;1 ms · p95 over 10 s"},
	} {
		s.Exec(t, `INSERT INTO start_hours (org_id, hour, took) VALUES ($1, date_trunc('hour', now(), 'UTC'), $2)
			ON CONFLICT ON CONSTRAINT start_hours_pkey DO UPDATE SET took = excluded.took`, s.Harbour.ID, row.took)
		html := s.see(t, harbour("", viewer))
		if !strings.Contains(html, row.want) {
			t.Errorf("%s: the page has no %q:\n%s", name, row.want, fixture.MainOf(html))
		}
		fixture.Shows(t, html, `<th scope="row">2.5 ms</th>`, `<th scope="row">longer</th>`, ": 100 new starts, p50 ")
	}
}
