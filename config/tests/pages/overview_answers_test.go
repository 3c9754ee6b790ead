package pages

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestOverviewComparesWithTheDayBefore(t *testing.T) {
	t.Parallel()
	s := setup(t)
	page := harbour("", s.Visitor(t, api.RoleViewer))
	for range 3 {
		s.Started(t, s.Start(t, ""))
	}
	s.Started(t, s.named(t, "", "bad.csv", "bad/meter-readings.csv"))
	s.Work(t)
	html := s.see(t, page)
	fixture.Shows(t, html, "75 % passed</span>", `runs/?result=FAIL&amp;since=`, `>1<span class="only-narrow"> failed`,
		`<td class="n">25 %</td>`)
	fixture.Hides(t, html, "the day before")
	// The day before, one of two has passed.
	for _, sample := range []string{"good/meter-readings.csv", "bad/meter-readings.csv"} {
		id := s.Started(t, s.named(t, "", "old.csv", sample)).ID
		s.Work(t)
		for _, table := range []string{"findings", "step_runs"} {
			s.Exec(t, `DELETE FROM `+table+` WHERE run_id = $1`, id)
		}
		// The id begins with the time in milliseconds, in hexadecimal digits.
		s.Exec(t, `UPDATE validation_runs SET created_at = now() - interval '30 hours', id = (SELECT
				substr(ms, 1, 8) || '-' || substr(ms, 9) || substr(validation_runs.id::text, 14) FROM (SELECT
					lpad(to_hex((extract(epoch FROM now() - interval '30 hours') * 1000)::bigint), 12, '0') AS ms) AS t
			)::uuid WHERE id = $1`, id)
	}
	s.shows(t, page, "75 % passed, 25 points more than the day before")
}

func TestOverviewWarnsOfTheQuota(t *testing.T) {
	t.Parallel()
	s := setup(t)
	page := harbour("", s.Visitor(t, api.RoleViewer))
	s.Started(t, s.Start(t, ""))
	for used, want := range map[int][]string{
		100:    {"no key is stuck"},
		85_000: {"no key is stuck", "85 % of this month’s quota is used"},
	} {
		s.Exec(t, `UPDATE usage_counters SET used = $2, quota = 100000 WHERE org_id = $1`, s.Harbour.ID, used)
		s.shows(t, page, want...)
	}
	s.Exec(t, `UPDATE usage_counters SET used = 100000, quota = 100000 WHERE org_id = $1`, s.Harbour.ID)
	s.shows(t, page, "Needs attention</span><b>1</b>", "quota used up", "new starts are refused")
}

func TestOverviewShowsFirstSteps(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tiny := fixture.Page("/app/orgs/tiny-quota/", s.Stranger(t))
	html := s.see(t, tiny)
	fixture.Shows(t, html, "First steps", `<a href="/app/orgs/tiny-quota/launch/">Start a run</a>`)
	s.Started(t, s.Start(t, "first").By(s.Tiny.Tokens.Executor))
	s.Started(t, s.Start(t, "first").By(s.Tiny.Tokens.Executor))
	s.Flush(t)
	html = s.see(t, tiny)
	fixture.Hides(t, html, `<a href="/app/orgs/tiny-quota/launch/">Start a run</a></li>`)
}

// The rules that fail most lead to the newest runs that have failed them, and refused requests to the log.
func TestOverviewNamesWhatFails(t *testing.T) {
	t.Parallel()
	s := setup(t)
	page := harbour("", s.Visitor(t, api.RoleViewer))
	s.Started(t, s.Start(t, "k"))
	s.Work(t)
	s.hides(t, page, "Rules that fail most", "Requests refused today")
	var failed []string
	for range 4 {
		failed = append(failed, pageOfRun(s.Started(t, s.named(t, "", "bad.csv", "bad/meter-readings.csv")).ID))
	}
	s.Work(t)
	s.Refused(t, api.CodeKeyReused, s.Start(t, "k").WithBody("text/csv", "other"))
	s.FlushRequests(t)
	html := s.see(t, page)
	fixture.Shows(t, html, "Rules that fail most", `<span class="mono">csv.enum</span>`, "is not one of A, E, M",
		`<td class="n">4<span class="only-narrow"> failed runs`, `workflows/meter-readings/#failures`,
		"Requests refused today", `requests/?code=idempotency_key_reused">Idempotency key already used</a>`)
	rules, _, _ := strings.Cut(html, "Latest runs")
	fixture.Shows(t, rules, `href="`+failed[1]+`"`, `href="`+failed[2]+`"`, `href="`+failed[3]+`"`)
	fixture.Hides(t, rules, `href="`+failed[0]+`"`)
}
