package pages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestCancelForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.Visitor(t, api.RoleExecutor)
	waiting := s.Started(t, s.Start(t, "")).ID
	cancel := fixture.Post(pageOfRun(waiting)+"cancel/", executor, nil)
	for range 2 {
		got := s.AnswerTo(t, cancel)
		if got.Status != http.StatusSeeOther || got.Header.Get("Location") != pageOfRun(waiting) {
			t.Fatalf("answer = %d to %s, want 303 to the run", got.Status, got.Header.Get("Location"))
		}
	}
	if n := coretest.One[int](t, s.DB, `SELECT count(*)::int FROM audit_records WHERE action = 'run.cancel'`); n != 1 {
		t.Errorf("audit records = %d, want 1", n)
	}
	s.shows(t, fixture.Page(pageOfRun(waiting), executor), "Canceled before document was checked",
		"Start a new run if you still need the result")
	finished := s.Started(t, s.Start(t, "")).ID
	s.Work(t)
	fixture.Shows(t, s.Visit(t, http.StatusUnprocessableEntity,
		fixture.Post(pageOfRun(finished)+"cancel/", executor, nil)),
		"The run has already ended with PASS", "run_completed", "Rerun…")
}

func TestRerunForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.Visitor(t, api.RoleExecutor)
	earlier := s.Started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	s.Work(t)
	key := fixture.Hidden(t, s.see(t, fixture.Page(pageOfRun(earlier), executor)), "key")
	form := fixture.Post(pageOfRun(earlier)+"rerun/", executor, url.Values{"key": {key}})
	before := s.RowCounts(t)
	first := s.AnswerTo(t, form).Header.Get("Location")
	again := s.AnswerTo(t, form)
	if to := again.Header.Get("Location"); again.Status != http.StatusSeeOther || to != first {
		t.Errorf("the same form again = %d to %s, want 303 to %s", again.Status, to, first)
	}
	after := s.RowCounts(t)
	if after.Runs != before.Runs+1 || after.Used != before.Used+1 || after.Submissions != before.Submissions {
		t.Errorf("rows before = %+v, after = %+v, want one run more, charged once", before, after)
	}
	if n := coretest.One[int](t, s.DB,
		`SELECT count(*)::int FROM validation_runs WHERE rerun_of = $1 AND source = 'DASHBOARD'`,
		earlier); n != 1 {
		t.Errorf("reruns = %d, want 1 by the dashboard", n)
	}
	notice := fixture.Page(first, executor).With("Cookie", "sv_session="+executor+"; "+noticeOf(again))
	s.shows(t, notice, "Nothing was started again.", "Rerun of", earlier)

	for _, stale := range []string{"", "made-up", uuid.NewString()} {
		got := s.AnswerTo(t, fixture.Post(pageOfRun(earlier)+"rerun/", executor, url.Values{"key": {stale}}))
		if got.Status != http.StatusSeeOther || got.Header.Get("Location") != pageOfRun(earlier) {
			t.Errorf("with key %q: %d to %s, want 303 to the run's page", stale, got.Status, got.Header.Get("Location"))
		}
	}
	keyless := fixture.Post(pageOfRun(earlier)+"rerun/", s.Visitor(t, api.RoleViewer), nil)
	s.Visit(t, http.StatusForbidden, keyless)
	if got := s.RowCounts(t).Runs; got != after.Runs {
		t.Errorf("runs = %d, want still %d", got, after.Runs)
	}
	s.Exec(t, `UPDATE usage_counters SET quota = used WHERE metric = $1`, quota.MetricRuns)
	form = fixture.Post(pageOfRun(earlier)+"rerun/", executor, url.Values{"key": {idempotency.NewFormKey()}})
	fixture.Shows(t, s.Visit(t, http.StatusTooManyRequests, form), "quota_exceeded", "Rerun…", "Findings of step 1",
		`<a href="`+fixture.HarbourPages+`usage/">What the quota was used for`)
}

// noticeOf is the cookie with the notice of a form's answer.
func noticeOf(got answer) string {
	for _, cookie := range got.Header.Values("Set-Cookie") {
		if strings.HasPrefix(cookie, "sv_notice=") {
			value, _, _ := strings.Cut(cookie, ";")
			return value
		}
	}
	return ""
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	s := setup(t)
	viewer := s.Visitor(t, api.RoleViewer)
	id := s.Started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	s.Work(t)
	html := s.see(t, fixture.Page(pageOfRun(id), viewer))
	for format, want := range map[string]string{
		"json": "application/json", "sarif": "application/sarif+json", "junit": "application/xml",
		"csv": "text/csv; charset=utf-8", "github": "text/plain; charset=utf-8", "text": "text/plain; charset=utf-8",
	} {
		fixture.Shows(t, html, `href="`+pageOfRun(id)+"findings/"+format+`/"`)
		got := s.AnswerTo(t, fixture.Page(pageOfRun(id)+"findings/"+format+"/", viewer))
		if got.Status != http.StatusOK || got.Header.Get("Content-Type") != want ||
			!strings.HasPrefix(got.Header.Get("Content-Disposition"), `attachment; filename="run-`) {
			t.Errorf("%s: %d %v, want a file of %s", format, got.Status, got.Header, want)
		}
		if format == "json" {
			continue
		}
		report := s.Must(t, http.StatusOK, call{
			Path: validations.RunAddress(id) + "findings/?format=" + format, Token: s.Harbour.Tokens.Viewer,
		})
		if !bytes.Equal(report.Body, got.Body) {
			t.Errorf("%s differs from what the API answers", format)
		}
	}
	if got := s.AnswerTo(t, fixture.Page(pageOfRun(id)+"findings/json/", viewer)); !json.Valid(got.Body) {
		t.Errorf("the report is no JSON: %s", got.Body)
	}
	s.Visit(t, http.StatusNotFound, fixture.Page(pageOfRun(id)+"findings/doc/", viewer))
}
