package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

type runPage = api.Page[api.Run]

// page reads one page of runs as harbour's viewer; the path is relative, as next and previous are.
func (s *stage) page(tb testing.TB, path string) runPage {
	tb.Helper()
	return read[runPage](tb, s, path)
}

func idsOf(page runPage) []string {
	ids := make([]string, len(page.Results))
	for i, run := range page.Results {
		ids[i] = run.ID
	}
	return ids
}

func TestRunPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := s.Must(t, http.StatusOK, s.reading("/api/runs/"))
	if body := strings.TrimSpace(string(got.Body)); body != `{"next":null,"previous":null,"results":[]}` {
		t.Errorf("empty page = %s", body)
	}
	var newestFirst []string
	for range 7 {
		newestFirst = slices.Insert(newestFirst, 0, s.Started(t, s.Start(t, "")).ID)
	}
	list := thereAndBack[api.Run](t, s, s.reading("/api/runs/?page_size=3&state=PENDING"), 3)
	if diff := cmp.Diff(newestFirst, idsOf(runPage{Results: list})); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestRunListRefusesBadQueries(t *testing.T) {
	t.Parallel()
	s := setup(t)
	foreign := base64.RawURLEncoding.EncodeToString(append([]byte{'x'}, make([]byte, 16)...))
	for _, query := range []string{
		"page_size=201", "page_size=-1", "page_size=ten", "page_size=0", "page_size=99999999999999999999",
		"cursor=nonsense", "cursor=%25", "cursor=" + strings.Repeat("A", 101), "cursor=" + foreign,
		"state=pending", "state=DONE", "result=OK", "source=WEB", "workflow=" + strings.Repeat("w", 101),
		"idempotency_key=" + strings.Repeat("k", 256),
		"since=yesterday", "since=2026-01-01", "until=1700000000", "since=2026-02-30T00:00:00Z",
	} {
		t.Run(query[:min(len(query), 40)], func(t *testing.T) {
			t.Parallel()
			got := s.Do(t, s.reading("/api/runs/?"+query))
			problem := fixture.WantProblem(t, got, api.CodeInvalidParameter)
			name, _, _ := strings.Cut(query, "=")
			if len(problem.Errors) != 1 || problem.Errors[0].Parameter != name {
				t.Errorf("errors = %+v, want one for %s", problem.Errors, name)
			}
		})
	}
}

func TestRunFilters(t *testing.T) {
	t.Parallel()
	s := setup(t)
	building := s.Start(t, "b").To("/api/workflows/building/start/")
	runs := map[string]string{
		"good": s.Started(t, s.Start(t, "good")).ID,
		"bad": s.Started(t, s.Start(t, "bad").WithBody("text/csv",
			fixture.SampleText(t, "bad/meter-readings.csv"))).ID,
		"building": s.Started(t, building.WithBody("application/json", fixture.SampleText(t, "good/building.json"))).ID,
	}
	s.Work(t)
	runs["pending"] = s.Started(t, s.Start(t, "pending")).ID
	// It is before all of the runs, and no longer ago than their ids may differ from it.
	begin := time.Now().Add(-50 * time.Second).UTC().Truncate(time.Second)
	after := func(passed time.Duration) string { return begin.Add(passed).Format(time.RFC3339Nano) }
	s.Exec(t, `UPDATE validation_runs SET created_at = $2 WHERE id = $1`, runs["good"], begin)
	s.Exec(t, `UPDATE validation_runs SET created_at = $2 WHERE id = $1`, runs["bad"], begin.Add(time.Second))
	s.Exec(t, `UPDATE validation_runs SET source = 'CLI' WHERE id = $1`, runs["building"])
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", []string{"good", "bad", "building", "pending"}},
		{"state=COMPLETED", []string{"good", "bad", "building"}},
		{"state=PENDING", []string{"pending"}},
		{"result=PASS", []string{"good", "building"}},
		{"result=FAIL", []string{"bad"}},
		{"result=UNKNOWN", []string{"pending"}},
		{"source=CLI", []string{"building"}},
		{"workflow=building", []string{"building"}},
		{"workflow=" + s.Harbour.Workflows[1].ID.String(), []string{"good", "bad", "pending"}},
		{"workflow=meter-readings&result=PASS", []string{"good"}},
		{"workflow=nothing", nil},
		{"idempotency_key=bad", []string{"bad"}},
		{"idempotency_key=BAD", nil},
		{"until=" + after(time.Second), []string{"good"}},
		{"since=" + after(0) + "&until=" + after(2*time.Second), []string{"good", "bad"}},
		{"since=" + after(500*time.Millisecond) + "&until=" + after(3*time.Second), []string{"bad"}},
		{
			"until=" + url.QueryEscape(begin.Add(time.Second).In(time.FixedZone("", 3600)).Format(time.RFC3339)),
			[]string{"good"},
		},
		{"since=" + after(2*time.Second), []string{"building", "pending"}},
		{"until=2026-03-01T12:00:00Z", nil},
	} {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			want := make([]string, len(tt.want))
			for i, name := range tt.want {
				want[i] = runs[name]
			}
			got := idsOf(s.page(t, "/api/runs/?"+tt.query))
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunDetail(t *testing.T) {
	t.Parallel()
	s := setup(t)
	samples := []struct {
		sample, workflow, contentType string
		result                        api.RunResult
		status                        api.RunStatus
		stepStatus                    api.StepStatus
		counts                        api.Counts
		issues                        []string
	}{
		{
			"good/building.json", "building", "application/json", "PASS", "SUCCEEDED", "PASSED",
			api.Counts{},
			[]string{},
		},
		{
			"warn/meter-readings.csv", "meter-readings", "text/csv", "PASS", "SUCCEEDED", "PASSED",
			api.Counts{Warnings: 1},
			[]string{"WARNING rule.estimated_share 0:0"},
		},
		{
			"bad/meter-readings.csv", "meter-readings", "text/csv", "FAIL", "FAILED", "FAILED",
			api.Counts{Errors: 8},
			[]string{
				"ERROR csv.type.number 5:31", "ERROR csv.minimum 9:31", "ERROR csv.pattern 12:1",
				"ERROR csv.enum 14:37",
				"ERROR csv.primary_key 17:1", "ERROR csv.type.datetime 20:10", "ERROR csv.row.field_count 22:1",
				"ERROR rule.missing_is_zero 24:31",
			},
		},
		{
			"bad/building.json", "building", "application/json", "FAIL", "FAILED", "FAILED",
			api.Counts{Errors: 8},
			[]string{
				"ERROR schema.required 2:15", "ERROR schema.additionalProperties 6:5", "ERROR schema.maximum 5:19",
				"ERROR schema.type 9:50", "ERROR schema.required 10:7", "ERROR schema.maximum 12:69",
				"ERROR rule.heating_below_cooling 8:71", "ERROR rule.zone_areas 2:15",
			},
		},
	}
	runs := make(map[string]string)
	for _, tt := range samples {
		runs[tt.sample] = s.Started(t, s.Start(t, "").To("/api/workflows/"+tt.workflow+"/start/").
			WithBody(tt.contentType, fixture.SampleText(t, tt.sample))).ID
	}
	s.Work(t)
	for _, tt := range samples {
		t.Run(strings.ReplaceAll(tt.sample, "/", "-"), func(t *testing.T) {
			t.Parallel()
			got := s.Must(t, http.StatusOK, s.reading("/api/runs/"+runs[tt.sample]))
			run := fixture.Decoded[api.Run](t, got)
			if run.State != "COMPLETED" || run.Result != tt.result || run.Status != tt.status ||
				run.Counts != tt.counts {
				t.Errorf("run = %s %s %s %+v, want COMPLETED %s %s %+v",
					run.State, run.Result, run.Status, run.Counts, tt.result, tt.status, tt.counts)
			}
			issues := []string{}
			for _, step := range run.Steps {
				if step.Status != tt.stepStatus || step.IssuesTruncated {
					t.Errorf("step %s = %s, truncated %t, want %s", step.Name, step.Status, step.IssuesTruncated,
						tt.stepStatus)
				}
				for _, issue := range step.Issues {
					brief := fmt.Sprintf("%s %s %d:%d", issue.Severity, issue.Code, issue.Line, issue.Column)
					issues = append(issues, brief)
				}
			}
			if diff := cmp.Diff(tt.issues, issues); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
			absent := "idempotency_key rerun_of content_purged_at findings_purged_at"
			if got := nullMembers(got.Body); strings.TrimSuffix(got, " assertion_id") != absent {
				t.Errorf("null members = %s, want %s", got, absent)
			}
			wantTimes(t, run)
		})
	}

	t.Run("ShowsPendingStepsBefore", func(t *testing.T) {
		t.Parallel()
		start := s.Start(t, "")
		first := s.Must(t, http.StatusCreated, start)
		got := s.Must(t, http.StatusOK, start.To(first.Header.Get("Location")).Get())
		if diff := cmp.Diff(fixture.Decoded[api.Run](t, first),
			fixture.Decoded[api.Run](t, got)); diff != "" {
			t.Errorf("run (-answered +read):\n%s", diff)
		}
	})
}

// nullMembers names the members of an answer that are null, each once, in the order of their first null.
func nullMembers(body []byte) string {
	var names []string
	for _, found := range regexp.MustCompile(`"(\w+)":null`).FindAllSubmatch(body, -1) {
		if name := string(found[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// wantTimes checks that a completed run's times are in order and its texts belong together.
func wantTimes(tb testing.TB, run api.Run) {
	tb.Helper()
	if run.StartedAt.Before(run.CreatedAt.Time) || run.EndedAt.Before(run.StartedAt.Time) || run.DurationMS < 0 {
		tb.Errorf("times = %s, %s, %s, %d ms, want them in order", run.CreatedAt, run.StartedAt, run.EndedAt,
			run.DurationMS)
	}
	if failed := run.Result == api.RunResultFail; failed != (run.Error != "") ||
		failed != (run.UserFriendlyError != "") ||
		failed != (run.ErrorCategory == api.ErrorCategoryValidationFailed) {
		tb.Errorf("error = %q, %q, %q with result %s", run.Error, run.UserFriendlyError, run.ErrorCategory, run.Result)
	}
}

func TestRunShowsTheFirstHundredIssues(t *testing.T) {
	t.Parallel()
	s := setup(t)
	table := func(rows int) string {
		var text strings.Builder
		text.WriteString("meter_id,read_at,kwh,quality,tariff\n")
		for i := range rows {
			fmt.Fprintf(&text, "MTR-%04d,2026-01-01T00:00:00Z,1.0,X%d,day\n", i, i)
		}
		return text.String()
	}
	for rows, truncated := range map[int]bool{100: false, 101: true} {
		id := s.Started(t, s.Start(t, "").WithBody("text/csv", table(rows))).ID
		s.Work(t)
		run := s.shown(t, id)
		step := run.Steps[0]
		if run.Counts.Errors != rows || len(step.Issues) != 100 || step.IssuesTruncated != truncated {
			t.Errorf("errors = %d, issues = %d, truncated = %t, want %d, 100, %t",
				run.Counts.Errors, len(step.Issues), step.IssuesTruncated, rows, truncated)
		}
		for i, issue := range step.Issues {
			if issue.Row != i+1 {
				t.Fatalf("issue %d is of row %d, want the first hundred in order", i, issue.Row)
			}
		}
	}
}
