package execution

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
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
	passed, failed := formats.Status("PASSED"), formats.Status("FAILED")
	for name, tt := range map[string]struct {
		checker  *Checker
		result   formats.Result
		error    string
		statuses []formats.Status
		notes    []string
	}{
		"Pass": {
			checkerOf(make([]validations.Step, 1), passing), "PASS", "", []formats.Status{passed}, []string{""},
		},
		"StopsAtAFailure": {
			checkerOf(make([]validations.Step, 2), failing, passing), "FAIL", "",
			[]formats.Status{failed, "SKIPPED"},
			[]string{"", "an earlier step failed"},
		},
		"GoesOnWhereItMay": {
			checkerOf([]validations.Step{{ContinueOnFailure: true}, {}}, failing, passing), "FAIL", "",
			[]formats.Status{failed, passed},
			[]string{"", ""},
		},
		"CallsNoService": {
			checkerOf([]validations.Step{{Type: engines.KindHTTP}, {}}, broken, passing), "PASS", "",
			[]formats.Status{"SKIPPED", passed},
			[]string{notOffline, ""},
		},
		"SurvivesAPanic": {
			checkerOf(make([]validations.Step, 2), panicking, passing), "ERROR",
			`Step "Step": the engine panicked: on purpose`,
			[]formats.Status{"SKIPPED", "SKIPPED"},
			[]string{validations.NoteNotExecuted, validations.NoteNotExecuted},
		},
		"SaysWhatBroke": {
			checkerOf(make([]validations.Step, 1), broken), "ERROR", `Step "Step": the disk is gone`,
			[]formats.Status{"SKIPPED"},
			[]string{validations.NoteNotExecuted},
		},
		"EndsInTime": {
			checkerOf([]validations.Step{{TimeoutSeconds: 1}}, blocked), "TIMED_OUT",
			`Step "Step" took longer than 1s.`,
			[]formats.Status{"SKIPPED"},
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
			var statuses []formats.Status
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
