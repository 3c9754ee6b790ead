package workflows

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tableText = `# For the meters.
schema_version: 1
steps:
  - id: t
    name: Readings
    type: table
    config:
      schema:
        fields:
          - name: kwh # as read
            type: number
            constraints: {required: true, minimum: 0}
          - name: note
`

// formOf is the form for the columns of a text as a browser sends it back.
func formOf(text string) url.Values {
	form := url.Values{}
	for _, table := range readColumns(text) {
		for _, column := range table.Columns {
			set := func(name, value string) { form.Set(column.Prefix+name, value) }
			if column.Was != "" {
				set("was", column.Was)
			}
			set("name", column.Was)
			set("type", column.Type)
			if column.Type == "" {
				set("type", "string")
			}
			if column.Required {
				set("required", "true")
			}
			set("minimum", column.Minimum)
			set("maximum", column.Maximum)
			set("enum", column.Enum)
			set("pattern", column.Regex)
		}
	}
	return form
}

func TestWriteColumns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change map[string]string
		// gone and new are lines of the text.
		gone, added []string
	}{
		"Unchanged": {},
		"Changed": {
			map[string]string{"t0.0.name": "kw", "t0.0.maximum": "99.5", "t0.0.required": ""},
			[]string{"- name: kwh # as read", "constraints: {required: true, minimum: 0}"},
			[]string{"- name: kw # as read", "constraints: {minimum: 0, maximum: 99.5}"},
		},
		"Removed": {map[string]string{"t0.1.remove": "true"}, []string{"- name: note"}, nil},
		"Added": {
			map[string]string{
				"t0.new.name": "quality", "t0.new.enum": "A, M,, no", "t0.new.pattern": "^[AM]: #",
				"t0.new.required": "true",
			},
			nil,
			[]string{
				"- name: quality", "constraints:", "required: true", `enum: [A, M, no]`, `pattern: '^[AM]: #'`,
			},
		},
		"NumbersOfTexts": {
			map[string]string{"t0.1.minimum": "1", "t0.0.minimum": "1e3"},
			[]string{"constraints: {required: true, minimum: 0}"},
			[]string{"constraints: {required: true, minimum: 1e3}", "constraints:", `minimum: "1"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := formOf(tableText)
			for field, value := range tt.change {
				form.Set(field, value)
			}
			got, err := writeColumns(tableText, form)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			for _, line := range trimmed(tableText) {
				want[line]++
			}
			for _, line := range tt.gone {
				want[line]--
			}
			for _, line := range tt.added {
				want[line]++
			}
			have := map[string]int{}
			for _, line := range trimmed(got) {
				have[line]++
			}
			for line, n := range want {
				if n == 0 {
					delete(want, line)
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("lines (-want +got):\n%s\n%s", diff, got)
			}
		})
	}
}

func trimmed(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

func TestWriteColumnsOfAnotherText(t *testing.T) {
	t.Parallel()
	if _, err := writeColumns(strings.Replace(tableText, "kwh", "kw", 1), formOf(tableText)); !errors.Is(err,
		errColumnsMoved) {
		t.Errorf("writeColumns: %v, want %v", err, errColumnsMoved)
	}
	for _, text := range []string{"", "a: [", "- a", "steps: 1", "steps: [1]", "a: &a [*a]"} {
		if forms := readColumns(text); len(forms) > 0 {
			t.Errorf("readColumns(%q) = %v, want none", text, forms)
		}
	}
}
