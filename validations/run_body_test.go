package validations

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestExistingClientSeesPlaces(t *testing.T) {
	t.Parallel()
	for want, issue := range map[string]api.Issue{
		"":                          {},
		"/building/zones/0":         {Path: "/building/zones/0", Line: 7, Column: 3},
		"row 5":                     {Row: 5},
		"row 5, kwh":                {Row: 5, Path: "kwh"},
		"row 7, kwh":                {Row: 7, SampleRows: []int{7}, Path: "kwh"},
		"rows 3, 9":                 {SampleRows: []int{3, 9}},
		"rows 101, 102, kwh":        {Row: 101, SampleRows: []int{101, 102}, Path: "kwh"},
		"rows 3, 4 and more, kwh":   {Row: 3, SampleRows: []int{3, 4}, Path: "kwh", Truncated: true},
		"row 1234567, kwh, in full": {Row: 1234567, Path: "kwh, in full"},
		"line 1, column 22":         {Line: 1, Column: 22},
		"line 2":                    {Line: 2},
		"row 6":                     {Row: 6, Line: 7, Column: 1},
	} {
		run := api.Run{Steps: []api.Step{{Issues: []api.Issue{{}, issue}}}}
		if got := ForExistingClient(run).Steps[0].Issues[1].Path; got != want {
			t.Errorf("path = %q, want %q", got, want)
		}
		if run.Steps[0].Issues[1].Path != issue.Path {
			t.Errorf("the run itself has the path %q now, want %q", run.Steps[0].Issues[1].Path, issue.Path)
		}
	}
}

func TestExistingClientSeesReasons(t *testing.T) {
	t.Parallel()
	for want, run := range map[string]api.Run{
		"":                                 {},
		"The document has errors.":         {UserFriendlyError: "The document has errors."},
		"The service answered 500. Retry.": {Error: "The service answered 500.", UserFriendlyError: "Retry."},
	} {
		if got := ForExistingClient(run).UserFriendlyError; got != want {
			t.Errorf("text = %q, want %q", got, want)
		}
	}
}

func TestClientStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		run      Run
		want     api.RunStatus
		friendly bool
	}{
		{Run{State: "PENDING", Result: "UNKNOWN"}, "PENDING", false},
		{Run{State: "RUNNING", Result: "UNKNOWN"}, "RUNNING", false},
		{Run{State: "COMPLETED", Result: "PASS"}, "SUCCEEDED", false},
		{Run{State: "COMPLETED", Result: "FAIL", ErrorCategory: "VALIDATION_FAILED"}, "FAILED", true},
		{Run{State: "COMPLETED", Result: "ERROR", ErrorCategory: "RUNTIME_ERROR"}, "FAILED", true},
		{Run{State: "COMPLETED", Result: "ERROR", ErrorCategory: "SYSTEM_ERROR"}, "FAILED", true},
		{Run{State: "COMPLETED", Result: "CANCELED"}, "CANCELED", true},
		{Run{State: "COMPLETED", Result: "TIMED_OUT", ErrorCategory: "TIMEOUT"}, "TIMED_OUT", true},
	} {
		body := RenderRun(tt.run, "org")
		if body.Status != tt.want || (body.UserFriendlyError != "") != tt.friendly {
			t.Errorf("status of %s %s = %s, %q, want %s", tt.run.State, tt.run.Result, body.Status,
				body.UserFriendlyError, tt.want)
		}
	}
}

func TestRenderedSteps(t *testing.T) {
	t.Parallel()
	definition := Definition{Steps: []Step{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	for _, tt := range []struct {
		name string
		run  Run
		done []StepRun
		want [3]api.StepStatus
	}{
		{"Pending", Run{State: "PENDING"}, nil, [3]api.StepStatus{"PENDING", "PENDING", "PENDING"}},
		{
			"Running",
			Run{State: "RUNNING", RecoveryPoint: 1},
			[]StepRun{{Status: "PASSED"}},
			[3]api.StepStatus{"PASSED", "RUNNING", "PENDING"},
		},
		{
			"Completed",
			Run{State: "COMPLETED", RecoveryPoint: 1},
			[]StepRun{{Status: "FAILED"}},
			[3]api.StepStatus{"FAILED", "SKIPPED", "SKIPPED"},
		},
		{
			"NotCheckedInItsMiddle",
			Run{State: "COMPLETED", Result: "TIMED_OUT", RecoveryPoint: 1},
			[]StepRun{{Status: "PASSED"}},
			[3]api.StepStatus{"PASSED", "FAILED", "SKIPPED"},
		},
		{
			"Canceled",
			Run{State: "COMPLETED", Result: "CANCELED", RecoveryPoint: 1},
			[]StepRun{{Status: "PASSED"}},
			[3]api.StepStatus{"PASSED", "SKIPPED", "SKIPPED"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for i, step := range renderSteps(tt.run, definition, tt.done, nil) {
				if step.Status != tt.want[i] || step.Issues == nil {
					t.Errorf("step %d = %s with issues %v, want %s and a list", i, step.Status, step.Issues, tt.want[i])
				}
			}
		})
	}
}
