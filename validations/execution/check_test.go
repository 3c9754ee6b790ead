package execution

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// checkerOf is a checker of steps whose engines are these; the steps may say how they go on.
func checkerOf(steps []validations.Step, run ...engine) *Checker {
	checker := &Checker{definition: validations.Definition{Steps: steps}}
	for i := range steps {
		checker.definition.Steps[i].ID, checker.definition.Steps[i].Name = "id", "Step"
		checker.engines = append(checker.engines, run[i])
	}
	return checker
}

func TestChecker(t *testing.T) {
	t.Parallel()
	passed, failed := api.StepStatus("PASSED"), api.StepStatus("FAILED")
	for name, tt := range map[string]struct {
		checker  *Checker
		result   api.RunResult
		error    string
		statuses []api.StepStatus
		notes    []string
	}{
		"Pass": {
			checkerOf(make([]validations.Step, 1), passing), "PASS", "", []api.StepStatus{passed}, []string{""},
		},
		"StopsAtAFailure": {
			checkerOf(make([]validations.Step, 2), failing, passing), "FAIL", "",
			[]api.StepStatus{failed, "SKIPPED"},
			[]string{"", "an earlier step failed"},
		},
		"GoesOnWhereItMay": {
			checkerOf([]validations.Step{{ContinueOnFailure: true}, {}}, failing, passing), "FAIL", "",
			[]api.StepStatus{failed, passed},
			[]string{"", ""},
		},
		"SaysOnceWhyADocumentCannotBeRead": {
			checkerOf([]validations.Step{{ContinueOnFailure: true}, {}, {}},
				[]engine{unreadable, unreadable, passing}...), "FAIL", "",
			[]api.StepStatus{failed, "SKIPPED", "SKIPPED"},
			[]string{"", validations.NoteUnreadable, "an earlier step failed"},
		},
		"CallsNoService": {
			checkerOf([]validations.Step{{Type: engines.KindHTTP}, {}}, broken, passing), "PASS", "",
			[]api.StepStatus{"SKIPPED", passed},
			[]string{notOffline, ""},
		},
		"SurvivesAPanic": {
			checkerOf(make([]validations.Step, 2), panicking, passing), "ERROR",
			`Step "Step": the engine panicked: on purpose`,
			[]api.StepStatus{"SKIPPED", "SKIPPED"},
			[]string{validations.NoteNotExecuted, validations.NoteNotExecuted},
		},
		"SaysWhatBroke": {
			checkerOf(make([]validations.Step, 1), broken), "ERROR", `Step "Step": the disk is gone`,
			[]api.StepStatus{"SKIPPED"},
			[]string{validations.NoteNotExecuted},
		},
		"EndsInTime": {
			checkerOf([]validations.Step{{TimeoutSeconds: 1}}, blocked), "TIMED_OUT",
			`Step "Step" took longer than 1s.`,
			[]api.StepStatus{"SKIPPED"},
			[]string{validations.NoteNotExecuted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := 0
			got, err := tt.checker.Check(t.Context(), "doc", engines.Document{}, func(int) { observed++ })
			if err != nil {
				t.Fatal(err)
			}
			var statuses []api.StepStatus
			var notes []string
			for _, step := range got.Steps {
				statuses, notes = append(statuses, step.Status), append(notes, step.Note)
			}
			if got.Name != "doc" || got.Result != tt.result || got.Error != tt.error {
				t.Errorf("checked = %s %q, want %s %q", got.Result, got.Error, tt.result, tt.error)
			}
			if diff := cmp.Diff(tt.statuses, statuses); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if observed == 0 {
				t.Error("no step was observed, want those that began")
			}
		})
	}

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		_, err := checkerOf(make([]validations.Step, 1), blocked).Check(ctx, "doc", engines.Document{}, func(int) {})
		if !errors.Is(err, stop) {
			t.Errorf("error = %v, want %v", err, stop)
		}
	})
}
