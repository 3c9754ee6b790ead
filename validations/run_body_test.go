package validations

import "testing"

func TestExistingClientSeesPlaces(t *testing.T) {
	t.Parallel()
	for want, issue := range map[string]IssueBody{
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
		run := RunBody{Steps: []StepBody{{Issues: []IssueBody{{}, issue}}}}
		if got := run.ForExistingClient().Steps[0].Issues[1].Path; got != want {
			t.Errorf("path = %q, want %q", got, want)
		}
		if run.Steps[0].Issues[1].Path != issue.Path {
			t.Errorf("the run itself has the path %q now, want %q", run.Steps[0].Issues[1].Path, issue.Path)
		}
	}
}

func TestExistingClientSeesReasons(t *testing.T) {
	t.Parallel()
	for want, run := range map[string]RunBody{
		"":                                 {},
		"The document has errors.":         {UserFriendlyError: "The document has errors."},
		"The service answered 500. Retry.": {Error: "The service answered 500.", UserFriendlyError: "Retry."},
	} {
		if got := run.ForExistingClient().UserFriendlyError; got != want {
			t.Errorf("text = %q, want %q", got, want)
		}
	}
}

func TestClientStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		run      Run
		want     string
		friendly bool
	}{
		{Run{State: StatePending, Result: ResultUnknown}, "PENDING", false},
		{Run{State: StateRunning, Result: ResultUnknown}, "RUNNING", false},
		{Run{State: StateCompleted, Result: ResultPass}, "SUCCEEDED", false},
		{Run{State: StateCompleted, Result: ResultFail, ErrorCategory: CategoryValidationFailed}, "FAILED", true},
		{Run{State: StateCompleted, Result: ResultError, ErrorCategory: CategoryRuntimeError}, "FAILED", true},
		{Run{State: StateCompleted, Result: ResultError, ErrorCategory: CategorySystemError}, "FAILED", true},
		{Run{State: StateCompleted, Result: ResultCanceled}, "CANCELED", true},
		{Run{State: StateCompleted, Result: ResultTimedOut, ErrorCategory: CategoryTimeout}, "TIMED_OUT", true},
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
		want [3]StepStatus
	}{
		{"Pending", Run{State: StatePending}, nil, [3]StepStatus{StepPending, StepPending, StepPending}},
		{
			"Running",
			Run{State: StateRunning, RecoveryPoint: 1},
			[]StepRun{{Status: StepPassed}},
			[3]StepStatus{StepPassed, StepRunning, StepPending},
		},
		{
			"Completed",
			Run{State: StateCompleted, RecoveryPoint: 1},
			[]StepRun{{Status: StepFailed}},
			[3]StepStatus{StepFailed, StepSkipped, StepSkipped},
		},
		{
			"NotCheckedInItsMiddle",
			Run{State: StateCompleted, Result: ResultTimedOut, RecoveryPoint: 1},
			[]StepRun{{Status: StepPassed}},
			[3]StepStatus{StepPassed, StepFailed, StepSkipped},
		},
		{
			"Canceled",
			Run{State: StateCompleted, Result: ResultCanceled, RecoveryPoint: 1},
			[]StepRun{{Status: StepPassed}},
			[3]StepStatus{StepPassed, StepSkipped, StepSkipped},
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
