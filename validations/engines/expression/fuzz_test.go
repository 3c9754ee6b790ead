package expression_test

import (
	"testing"
	"unicode/utf8"
)

// FuzzMistakes compiles what people might write. Whatever it is, the answer is in bounds.
func FuzzMistakes(f *testing.F) {
	for _, tt := range mistakes {
		f.Add(tt.expression)
	}
	f.Add("value .$10")
	f.Add("\"\"\"a\n\"\"\" == r'\\d' // x")
	rules, env := newRules(f)
	f.Fuzz(func(t *testing.T, source string) {
		rules.Faults = nil
		rules.Condition(env, source, "/assert")
		for _, fault := range rules.Faults {
			const longest = 400
			if !utf8.ValidString(fault.Detail) || utf8.RuneCountInString(fault.Detail) > longest {
				t.Errorf("%q: %q", source, fault.Detail)
			}
		}
	})
}
