package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
)

// v1End is what the existing client makes of a run.
type v1End struct {
	State, Result, Status, Category, Steps string
	Started, Ended                         bool
	Exit                                   int
}

func (r v1Run) end() v1End {
	steps := make([]string, len(r.Steps))
	for i, step := range r.Steps {
		steps[i] = step.Status
	}
	return v1End{
		r.State, r.Result, r.Status, r.ErrorCategory, strings.Join(steps, " "), r.StartedAt != nil, r.EndedAt != nil,
		r.exit(),
	}
}

func failedAs(steps ...string) v1End {
	return v1End{
		"COMPLETED", "FAIL", "FAILED", "VALIDATION_FAILED", strings.Join(steps, " "), true, true, 1,
	}
}

// v1Stage is a stage with the existing client at it.
type v1Stage struct {
	externalStage

	cli v1Client
}

// startedV1 starts a run, with nothing but the file.
func (s v1Stage) startedV1(tb testing.TB, workflow, filename, sample string) v1Run {
	tb.Helper()
	run := s.cli.validate(tb, v1Upload{workflow, filename, fixture.SampleText(tb, sample)})
	steps := strings.Join(slices.Repeat([]string{"PENDING"}, len(run.Steps)), " ")
	pending := v1End{State: "PENDING", Result: "UNKNOWN", Status: "PENDING", Steps: steps, Exit: 3}
	if diff := cmp.Diff(pending, run.end()); diff != "" {
		tb.Errorf("answer to the start (-want +got):\n%s", diff)
	}
	return run
}

// TestV1States shows the existing client a run in every state there is.
func TestV1States(t *testing.T) { //nolint:tparallel // its runs share a stage
	t.Parallel()
	// One stage for one run after the other: each is read before the next one is started.
	s := v1Stage{externalStage: setupExternal(t)}
	s.cli = s.v1(s.Harbour.Tokens.Executor)
	good := func(tb testing.TB, s v1Stage) string {
		tb.Helper()
		return s.startedV1(tb, "meter-readings", "m.csv", "good/meter-readings.csv").ID.String()
	}
	external := func(behavior outside.Behavior) func(testing.TB, v1Stage) string {
		return func(tb testing.TB, s v1Stage) string {
			tb.Helper()
			s.validator.Usually(behavior)
			run := s.startedV1(tb, "external", "m.csv", "good/meter-readings.csv")
			s.Work(tb)
			return run.ID.String()
		}
	}
	worked := func(workflow, filename, sample string) func(testing.TB, v1Stage) string {
		return func(tb testing.TB, s v1Stage) string {
			tb.Helper()
			run := s.startedV1(tb, workflow, filename, sample)
			s.Work(tb)
			return run.ID.String()
		}
	}
	changed := func(update string) func(testing.TB, v1Stage) string {
		return func(tb testing.TB, s v1Stage) string {
			tb.Helper()
			id := good(tb, s)
			s.Exec(tb, update, id)
			s.Work(tb)
			return id
		}
	}
	for name, tt := range map[string]struct { //nolint:paralleltest // as above
		make func(testing.TB, v1Stage) string
		want v1End
	}{
		"Pending": {good, v1End{"PENDING", "UNKNOWN", "PENDING", "", "PENDING", false, false, 3}},
		"Running": {
			changed(`WITH taken AS (DELETE FROM staged_jobs) UPDATE validation_runs SET state = 'RUNNING',
				started_at = now(), attempts = 1 WHERE id = $1`),
			v1End{"RUNNING", "UNKNOWN", "RUNNING", "", "RUNNING", true, false, 3},
		},
		"WaitingForAValidator": {
			external(outside.Promise),
			v1End{"RUNNING", "UNKNOWN", "RUNNING", "", "RUNNING", true, false, 3},
		},
		"Passed": {
			worked("meter-readings", "m.csv", "good/meter-readings.csv"),
			v1End{"COMPLETED", "PASS", "SUCCEEDED", "", "PASSED", true, true, 0},
		},
		"FailedByTable":      {worked("meter-readings", "m.csv", "bad/meter-readings.csv"), failedAs("FAILED")},
		"FailedByAValidator": {external(outside.Fail), failedAs("FAILED")},
		"FailedInTwoSteps": {
			worked("building", "b.json", "bad/building.json"),
			failedAs("FAILED", "FAILED"),
		},
		"NotExecuted": {
			external(outside.Refuse),
			v1End{"COMPLETED", "ERROR", "FAILED", "RUNTIME_ERROR", "FAILED", true, true, 2},
		},
		"DocumentGone": {
			changed(`UPDATE submissions SET content = NULL FROM validation_runs AS r WHERE r.id = $1
				AND submissions.id = r.submission_id`),
			v1End{"COMPLETED", "ERROR", "FAILED", "SYSTEM_ERROR", "FAILED", true, true, 2},
		},
		"TimedOut": {
			changed(`UPDATE validation_runs SET started_at = now() - interval '2 hours' WHERE id = $1`),
			v1End{"COMPLETED", "TIMED_OUT", "TIMED_OUT", "TIMEOUT", "FAILED", true, true, 2},
		},
		"Canceled": {
			func(tb testing.TB, s v1Stage) string {
				tb.Helper()
				run := s.startedV1(tb, "meter-readings", "m.csv", "good/meter-readings.csv")
				s.Must(tb, http.StatusOK, s.Cancel(run.ID.String()))
				return run.ID.String()
			},
			v1End{"COMPLETED", "CANCELED", "CANCELED", "", "SKIPPED", false, true, 2},
		},
		"Purged": {
			func(tb testing.TB, s v1Stage) string {
				tb.Helper()
				id := worked("meter-readings", "m.csv", "bad/meter-readings.csv")(tb, s)
				s.Exec(tb, `UPDATE validation_runs SET created_at = created_at - interval '1 year',
					started_at = started_at - interval '1 year', ended_at = ended_at - interval '1 year'
					WHERE id = $1`, id)
				if code, out, complaint := s.Console(tb).Run(tb, "admin", "purge"); code != 0 ||
					!strings.Contains(out, "documents of 1 run and the findings of 1 run") {
					tb.Fatalf("purge = %d %q %s", code, out, complaint)
				}
				return id
			},
			failedAs("FAILED"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := tt.make(t, s)
			run := s.cli.show(t, id)
			if diff := cmp.Diff(tt.want, run.end()); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
			if run.Org != "harbour-energy" || run.Source != "CLI" || run.ID.String() != id {
				t.Errorf("run = %+v, want %s of harbour-energy from the CLI", run, id)
			}
			good := slices.Contains([]string{"UNKNOWN", "PASS"}, run.Result)
			if good != (run.Error == "") || good != (run.UserFriendlyError == "") {
				t.Errorf("errors = %q and %q with result %s", run.Error, run.UserFriendlyError, run.Result)
			}
		})
	}
}

// TestV1ShowsTheRowsOfTables makes sure that people see which row is meant: the client prints path and message alone.
func TestV1ShowsTheRowsOfTables(t *testing.T) {
	t.Parallel()
	s := setup(t)
	cli := s.v1(s.Harbour.Tokens.Executor)
	table := fixture.SampleText(t, "bad/meter-readings.csv")
	started := cli.validate(t, v1Upload{"meter-readings", "m.csv", table})
	run := cli.wait(t, started.ID.String(), func() { s.Work(t) })
	lines := strings.Split(strings.TrimSpace(run.print()), "\n")
	for _, want := range []string{"ERROR  row 4, kwh  ", "ERROR  row 21  row has 4 fields, header has 5"} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("findings =\n%s\nwant a line %q", strings.Join(lines, "\n"), want)
		}
	}
	other := s.Do(t, s.Start(t, "").Get().To("/api/runs/"+started.ID.String()+"/"))
	if !strings.Contains(string(other.Body), `"path":"kwh"`) || strings.Contains(string(other.Body), `"path":"row`) {
		t.Errorf("run at /api/ = %s, want paths that are columns", other.Body)
	}

	waited := call{Method: http.MethodPost, Path: cli.workflowsAddress() + "meter-readings/runs/", Token: cli.token}
	s.ExecutesLocally(t)
	got := s.Must(t, http.StatusCreated, waited.WithBody("text/csv", table).With("Prefer", "wait=20"))
	if run := readV1[v1Run](t, "POST with Prefer", got.Body); !strings.Contains(run.print(), "ERROR  row 4, kwh  ") {
		t.Errorf("findings of the run that was waited for =\n%s\nwant their rows", run.print())
	}
}
