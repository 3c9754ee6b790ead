package execution

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
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
	return end{body.Result, body.Status, body.ErrorCategory, body.Error, friendly, strings.Join(steps, ", ")}
}

// A run ends in FAIL only if the document has errors. Errors of the service are shown as such.
func TestEveryEndOfARun(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	found := func(text, steps string) end {
		const friendly = "The document was checked and has errors"
		return end{api.RunResultFail, "FAILED", api.ErrorCategoryValidationFailed, text, friendly, steps}
	}
	ours := func(category api.ErrorCategory, text, steps string) end {
		const friendly = "We could not check the document; it is not your fault"
		return end{api.RunResultError, "FAILED", category, text, friendly, steps}
	}
	late := func(text, steps string) end {
		const friendly = "The check took too long and was stopped"
		return end{api.RunResultTimedOut, "TIMED_OUT", api.ErrorCategoryTimeout, text, friendly, steps}
	}
	const broke = `Step "Step" could not be executed.`
	goOn, brief := validations.Step{ContinueOnFailure: true}, validations.Step{TimeoutSeconds: 1}
	for name, tt := range map[string]struct {
		steps   []validations.Step
		engines []engine
		before  string
		want    end
	}{
		"Passed": {
			nil,
			[]engine{passing, passing},
			"",
			end{Result: api.RunResultPass, Status: "SUCCEEDED", Steps: "PASSED, PASSED"},
		},
		"Failed": {nil, []engine{failing, passing}, "", found("The document has 2 errors.", "FAILED, SKIPPED")},
		"GoesOnWhereTheStepSaysSo": {
			[]validations.Step{goOn},
			[]engine{failing, passing, failing},
			"",
			found("The document has 4 errors.", "FAILED, PASSED, FAILED"),
		},
		"SaysOnceWhyADocumentCannotBeRead": {
			[]validations.Step{goOn, goOn},
			[]engine{unreadable, unreadable, failing},
			"",
			found("The document has 3 errors.", "FAILED, SKIPPED!, FAILED"),
		},
		"EndsWhereADocumentCannotBeReadEither": {
			[]validations.Step{goOn},
			[]engine{unreadable, unreadable, passing},
			"",
			found("The document has 1 error.", "FAILED, SKIPPED!, SKIPPED"),
		},
		"EngineFailed": {
			nil, []engine{passing, broken}, "", ours(api.ErrorCategoryRuntimeError, broke, "PASSED, FAILED!"),
		},
		"EngineRanOutOfWhatItMayUse": {
			[]validations.Step{goOn}, []engine{failing, exhausted}, "", ours(api.ErrorCategoryRuntimeError,
				`Step "Step" needed more than 20s of processor time.`, "FAILED, FAILED!"),
		},
		"EngineFailedAfterErrorsWereFound": {
			[]validations.Step{goOn},
			[]engine{failing, panicking},
			"",
			ours(api.ErrorCategoryRuntimeError, broke, "FAILED, FAILED!"),
		},
		"StepTookTooLong": {
			[]validations.Step{brief},
			[]engine{blocked, passing},
			"",
			late(`Step "Step" took longer than 1s.`, "FAILED!, SKIPPED"),
		},
		"StepPassedTooLate": {
			[]validations.Step{brief}, []engine{passingLate}, "", late(`Step "Step" took longer than 1s.`, "FAILED!"),
		},
		"RunTookTooLong": {
			nil,
			[]engine{passing},
			`UPDATE validation_runs SET started_at = now() - interval '2 hours' WHERE id = $1`,
			late(`The run took longer than 1h0m0s; it was at step "Step".`, "FAILED!"),
		},
		"NeverCameToItsEnd": {
			nil, []engine{passing}, `UPDATE validation_runs SET attempts = 3 WHERE id = $1`, ours(
				api.ErrorCategorySystemError, "The run was started 3 times and never finished.", "FAILED!"),
		},
		"DocumentWasGone": {
			nil, []engine{failing}, `UPDATE submissions SET content = NULL FROM validation_runs AS r
				WHERE r.id = $1 AND submissions.id = r.submission_id`, ours(api.ErrorCategorySystemError,
				"The document is no longer kept, so it could not be checked.", "FAILED!"),
		},
		"Canceled": {
			nil,
			[]engine{passing},
			`UPDATE validation_runs SET state = 'COMPLETED', result = 'CANCELED',
				error = 'The run was canceled.', ended_at = now(), sweep_after = NULL WHERE id = $1`,
			end{
				api.RunResultCanceled, "CANCELED", "", "The run was canceled.",
				"The run was canceled before the document was checked", "SKIPPED",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := b.startDefinition(t, validations.Definition{Steps: tt.steps}, tt.engines...)
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

// passingLate passes when its time is over.
func passingLate(ctx context.Context, _ engines.Document) (engines.Report, error) {
	<-ctx.Done()
	return engines.Report{}, nil
}
