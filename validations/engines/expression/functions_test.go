package expression_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// undocumented are functions of CEL that rules have no use for, and those that only macros call.
var undocumented = []string{"bytes", "dyn", "uint", "timestamp", "cel.@block", "cel.@mapInsert"}

// TestEveryFunctionIsDocumented holds the functions that expressions have against the page that lists them.
func TestEveryFunctionIsDocumented(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../docs/guides/validators/expressions.md")
	if err != nil {
		t.Fatalf("read page: %v", err)
	}
	// The first column of the tables has the functions.
	var page strings.Builder
	for line := range strings.Lines(string(content)) {
		if first, _, isRow := strings.Cut(line, "` | "); isRow {
			page.WriteString(first + "\n")
		}
	}
	_, env := newRules(t)
	count := 0
	for name := range env.Functions() {
		operator := strings.ContainsAny(name, "_@! ") && name != "exists_one"
		if operator || strings.Contains(strings.Join(undocumented, " "), name) {
			continue
		}
		count++
		if !regexp.MustCompile("[`.]" + regexp.QuoteMeta(name) + `\(`).MatchString(page.String()) {
			t.Errorf("%s is not on the page", name)
		}
	}
	for _, macro := range env.Macros() {
		if name := macro.Function(); !strings.Contains(page.String(), name+"(") {
			t.Errorf("%s is not on the page", name)
		}
	}
	if count < 60 {
		t.Errorf("%d functions were found, want all", count)
	}
}

// TestReadsOfRulesInOtherLanguages holds that a table knows the columns of a rule however it is written.
func TestReadsOfRulesInOtherLanguages(t *testing.T) {
	t.Parallel()
	for assert, want := range map[string][]string{
		"row.length > 3":                     {"length"},
		"row.length > 3 and row.b is null":   {"length", "b"},
		"LEN(row.code) = 5":                  {"code"},
		"(row.low or 0) <= row['high'] <= 9": {"low", "low", "low", "high", "high"},
	} {
		rules, env := newRules(t)
		e := rules.Condition(env, assert, "/assert")
		if len(rules.Faults) > 0 {
			t.Fatalf("%s: %+v", assert, rules.Faults)
		}
		if found := e.Reads("row"); found.Whole || !slices.Equal(found.Names, want) {
			t.Errorf("%s reads %+v, want %v", assert, found, want)
		}
	}
}
