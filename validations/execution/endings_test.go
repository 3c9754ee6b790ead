package execution

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

// end is what clients read of how a run has ended.
type end struct {
	Result   api.RunResult
	Status   api.RunStatus
	Category api.ErrorCategory
	Error    string
	// Friendly is the beginning of the sentence for people.
	Friendly string
	Steps    string
}

// end reads it as the API shows it.
func (b *testBundle) end(tb testing.TB, body api.Run) end {
	tb.Helper()
	friendly, _, _ := strings.Cut(body.UserFriendlyError, ".")
	steps := make([]string, len(body.Steps))
	for i, step := range body.Steps {
		steps[i] = string(step.Status)
		if step.Error != "" {
			steps[i] += "!"
		}
	}
	return end{body.Result, body.Status, body.ErrorCategory, body.Error, friendly, strings.Join(steps, " ")}
}

// A run ends in FAIL only if the document has errors. Errors of the service are shown as such.
func TestEveryEndOfARun(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	const ours, theirs, late, stopped = "We could not check the document; it is not your fault",
		"The document was checked and has errors", "The check took too long and was stopped",
		"The run was canceled before the document was checked"
	const unexecuted = `Step "Step" could not be executed.`
	goOn := validations.Definition{Steps: []validations.Step{{ContinueOnFailure: true}}}
	for name, tt := range map[string]struct {
		definition validations.Definition
		engines    []engine
		before     string
		want       end
	}{
		"Passed": {validations.Definition{}, []engine{passing}, "", end{
			api.RunResultPass, "SUCCEEDED", "", "",
			"", "PASSED",
		}},
		"Failed": {
			validations.Definition{},
			[]engine{failing, passing},
			"",
			end{
				api.RunResultFail, "FAILED", api.ErrorCategoryValidationFailed, "The document has 2 errors.",
				theirs, "FAILED SKIPPED",
			},
		},
		"EngineFailed": {
			validations.Definition{},
			[]engine{passing, broken},
			"",
			end{
				api.RunResultError, "FAILED", api.ErrorCategoryRuntimeError, unexecuted, ours,
				"PASSED FAILED!",
			},
		},
		"EngineRanOutOfWhatItMayUse": {
			goOn,
			[]engine{failing, exhausted},
			"",
			end{
				api.RunResultError, "FAILED", api.ErrorCategoryRuntimeError,
				`Step "Step" needed more than 20s of processor time.`, ours, "FAILED FAILED!",
			},
		},
		"EngineFailedAfterErrorsWereFound": {
			goOn,
			[]engine{failing, panicking},
			"",
			end{
				api.RunResultError, "FAILED", api.ErrorCategoryRuntimeError, unexecuted, ours,
				"FAILED FAILED!",
			},
		},
		"StepTookTooLong": {
			validations.Definition{Steps: []validations.Step{{TimeoutSeconds: 1}}},
			[]engine{blocked, passing},
			"",
			end{
				api.RunResultTimedOut, "TIMED_OUT", api.ErrorCategoryTimeout,
				`Step "Step" took longer than 1s.`, late,
				"FAILED! SKIPPED",
			},
		},
		"RunTookTooLong": {
			validations.Definition{},
			[]engine{passing},
			`UPDATE validation_runs SET started_at = now() - interval '2 hours' WHERE id = $1`,
			end{
				api.RunResultTimedOut, "TIMED_OUT", api.ErrorCategoryTimeout,
				`The run took longer than 1h0m0s; it was at step "Step".`, late, "FAILED!",
			},
		},
		"NeverCameToItsEnd": {
			validations.Definition{},
			[]engine{passing},
			`UPDATE validation_runs SET attempts = 3 WHERE id = $1`,
			end{
				api.RunResultError, "FAILED", api.ErrorCategorySystemError,
				"The run was started 3 times and never finished.",
				ours, "FAILED!",
			},
		},
		"DocumentWasGone": {
			validations.Definition{},
			[]engine{failing},
			`UPDATE submissions SET content = NULL FROM validation_runs AS r WHERE r.id = $1
				AND submissions.id = r.submission_id`,
			end{
				api.RunResultError, "FAILED", api.ErrorCategorySystemError,
				"The document is no longer kept, so it could not be checked.", ours, "FAILED!",
			},
		},
		"Canceled": {
			validations.Definition{},
			[]engine{passing},
			`UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED', error = 'The run was canceled.',
				ended_at = now(), sweep_after = NULL WHERE id = $1`,
			end{api.RunResultCanceled, "CANCELED", "", "The run was canceled.", stopped, "SKIPPED"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := b.startDefinition(t, tt.definition, tt.engines...)
			if tt.before != "" {
				b.exec(t, tt.before, job.SubjectID)
			}
			b.execute(t, job)
			body, err := b.runs.Show(t.Context(), b.orgID, "org", job.SubjectID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.end(t, body)); diff != "" {
				t.Errorf("end (-want +got):\n%s", diff)
			}
		})
	}
}

// The database's constraints refuse a result that contradicts the counts and the category.
func TestConstraintsRefuseAWrongResult(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	b.start(t, passing)
	const completed = `UPDATE validation_runs SET state = 'COMPLETED', ended_at = now(), sweep_after = NULL, `
	for _, statement := range []string{
		`result = 'PASS', error_count = 1`, `result = 'PASS', error_category = 'RUNTIME_ERROR'`,
		`result = 'FAIL', error_category = 'VALIDATION_FAILED'`,
		`result = 'FAIL', error_category = 'SYSTEM_ERROR', error_count = 1`, `result = 'FAIL', error_count = 1`,
		`result = 'ERROR', error_category = 'VALIDATION_FAILED', error_count = 1`, `result = 'ERROR'`,
		`result = 'TIMED_OUT'`, `result = 'CANCELED', error_category = 'SYSTEM_ERROR'`,
	} {
		_, err := b.db.Pool.Exec(t.Context(), completed+statement)
		if got := db.ViolatedConstraint(err); got != "ck_validation_runs_verdict" {
			t.Errorf("%s: violated %q, want ck_validation_runs_verdict", statement, got)
		}
	}
}
