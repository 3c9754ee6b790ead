package config_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestCancelForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.visitor(t, core.RoleExecutor)
	waiting := s.started(t, s.start(t, "")).ID
	cancel := post(pageOfRun(waiting)+"cancel/", executor, nil)
	for range 2 {
		got := s.answerTo(t, cancel)
		if got.status != http.StatusSeeOther || got.header.Get("Location") != pageOfRun(waiting) {
			t.Fatalf("answer = %d to %s, want 303 to the run", got.status, got.header.Get("Location"))
		}
	}
	if n := one[int](t, s, `SELECT count(*)::int FROM audit_records WHERE action = 'run.cancel'`); n != 1 {
		t.Errorf("audit records = %d, want 1", n)
	}
	shows(t, s.visit(t, http.StatusOK, page(pageOfRun(waiting), executor)), "Canceled before document was checked",
		"Start a new run if you still need the result")
	finished := s.started(t, s.start(t, "")).ID
	s.work(t)
	shows(t, s.visit(t, http.StatusUnprocessableEntity, post(pageOfRun(finished)+"cancel/", executor, nil)),
		"The run has already ended with PASS", "run_completed", "Rerun…")
}

func TestRerunForm(t *testing.T) {
	t.Parallel()
	s := setup(t)
	executor := s.visitor(t, core.RoleExecutor)
	earlier := s.started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	s.work(t)
	key := hidden(t, s.visit(t, http.StatusOK, page(pageOfRun(earlier), executor)), "key")
	form := post(pageOfRun(earlier)+"rerun/", executor, url.Values{"key": {key}})
	before := s.rowCounts(t)
	first := s.answerTo(t, form).header.Get("Location")
	again := s.answerTo(t, form)
	if to := again.header.Get("Location"); again.status != http.StatusSeeOther || to != first {
		t.Errorf("the same form again = %d to %s, want 303 to %s", again.status, to, first)
	}
	after := s.rowCounts(t)
	if after.Runs != before.Runs+1 || after.Used != before.Used+1 || after.Submissions != before.Submissions {
		t.Errorf("rows before = %+v, after = %+v, want one run more, charged once", before, after)
	}
	if n := one[int](t, s, `SELECT count(*)::int FROM validation_runs WHERE rerun_of = $1 AND source = 'DASHBOARD'`,
		earlier); n != 1 {
		t.Errorf("reruns = %d, want 1 by the dashboard", n)
	}
	notice := page(first, executor).with("Cookie", "sv_session="+executor+"; "+noticeOf(again))
	shows(t, s.visit(t, http.StatusOK, notice), "Nothing was started again.", "Rerun of", earlier.String())

	for _, stale := range []string{"", "made-up", uuid.NewString()} {
		got := s.answerTo(t, post(pageOfRun(earlier)+"rerun/", executor, url.Values{"key": {stale}}))
		if got.status != http.StatusSeeOther || got.header.Get("Location") != pageOfRun(earlier) {
			t.Errorf("with key %q: %d to %s, want 303 to the run's page", stale, got.status, got.header.Get("Location"))
		}
	}
	keyless := post(pageOfRun(earlier)+"rerun/", s.visitor(t, core.RoleViewer), nil)
	s.visit(t, http.StatusForbidden, keyless)
	if got := s.rowCounts(t).Runs; got != after.Runs {
		t.Errorf("runs = %d, want still %d", got, after.Runs)
	}
	s.exec(t, `UPDATE usage_counters SET quota = used WHERE metric = $1`, users.MetricRuns)
	form = post(pageOfRun(earlier)+"rerun/", executor, url.Values{"key": {newFormKey(t)}})
	shows(t, s.visit(t, http.StatusTooManyRequests, form), "quota_exceeded", "Rerun…", "Findings of step 1",
		`<a href="`+harbourPages+`usage/">What the quota was used for`)
}

// noticeOf is the cookie with the notice of a form's answer.
func noticeOf(got answer) string {
	for _, cookie := range got.header.Values("Set-Cookie") {
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
	viewer := s.visitor(t, core.RoleViewer)
	id := s.started(t, s.named(t, "", "a.csv", "bad/meter-readings.csv")).ID
	s.work(t)
	html := s.visit(t, http.StatusOK, page(pageOfRun(id), viewer))
	for format, want := range map[string]string{
		"json": "application/json", "sarif": "application/sarif+json", "junit": "application/xml",
		"csv": "text/csv; charset=utf-8", "github": "text/plain; charset=utf-8", "text": "text/plain; charset=utf-8",
	} {
		shows(t, html, `href="`+pageOfRun(id)+"findings/"+format+`/"`)
		got := s.answerTo(t, page(pageOfRun(id)+"findings/"+format+"/", viewer))
		if got.status != http.StatusOK || got.header.Get("Content-Type") != want ||
			!strings.HasPrefix(got.header.Get("Content-Disposition"), `attachment; filename="run-`) {
			t.Errorf("%s: %d %v, want a file of %s", format, got.status, got.header, want)
		}
		if format == "json" {
			continue
		}
		report := s.must(t, http.StatusOK, call{
			path: validations.RunAddress(id) + "findings/?format=" + format, token: s.Harbour.Tokens.Viewer,
		})
		if !bytes.Equal(report.body, got.body) {
			t.Errorf("%s differs from what the API answers", format)
		}
	}
	if got := s.answerTo(t, page(pageOfRun(id)+"findings/json/", viewer)); !json.Valid(got.body) {
		t.Errorf("the report is no JSON: %s", got.body)
	}
	s.visit(t, http.StatusNotFound, page(pageOfRun(id)+"findings/doc/", viewer))
}
