package validations

import "testing"

func TestExistingClientSeesRows(t *testing.T) {
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
