package xsdpattern_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port/xsdpattern"
)

// trial is an expression with texts that it matches and others.
type trial struct {
	source    string
	good, bad []string
}

func trials() []trial {
	return []trial{
		{"DT[0-9]{2}", []string{"DT01"}, []string{"DT1", "DT012", "xDT01", "DT01\n"}},
		{"a|bc", []string{"a", "bc"}, []string{"ac", "abc", "b"}},
		{"(a|b)*c?", []string{"", "abba", "abc"}, []string{"cc"}},
		{"a.c", []string{"abc", "aéc", "a\tc"}, []string{"a\nc", "a\rc", "ac"}},
		{"x^y$z", []string{"x^y$z"}, []string{"xyz"}},
		{`\^\$`, []string{"^$"}, []string{""}},
		{`[a-z-[aeiou]]+`, []string{"xyz"}, []string{"axe", "-", ""}},
		{`[^a-c]`, []string{"d", "-", "\n"}, []string{"b", ""}},
		{`[^a-z-[xyz]]`, []string{"A"}, []string{"b", "x"}},
		{`[a\-z]+`, []string{"a-z"}, []string{"b"}},
		{`[-a]+`, []string{"-a"}, []string{"b"}},
		{`[a-]+`, []string{"-a"}, []string{"b"}},
		{`[\d_]+`, []string{"1_2", "٣"}, []string{"a"}},
		{`\w+`, []string{"aé1", "ß", "+", "$"}, []string{"a b", "a-b", "a_b", "", "."}},
		{`\W`, []string{" ", "-", "_"}, []string{"a", "1"}},
		{`\s\S`, []string{" a", "\tb"}, []string{"a ", "\u00a0a"}},
		{`\i\c*`, []string{"a1-b.c", ":x", "_"}, []string{"1a", "-a", "a b"}},
		{`\D\I\C`, []string{"a1 "}, []string{"1a "}},
		{`\p{L}\P{L}`, []string{"a1", "ß1"}, []string{"aa", "1a"}},
		{`\p{Lu}[\p{Ll}\d]*`, []string{"Äb1"}, []string{"äb"}},
		{`\p{IsBasicLatin}+`, []string{"abc"}, []string{"é"}},
		{`(-|[0-9]{2,3})\/(-|[0-9]{2,3})`, []string{"-/-", "120/60"}, []string{"1/1", "120/"}},
		{`a{2,}`, []string{"aa", "aaa"}, []string{"a"}},
		{`\n\r\t\\\|\.\?\*\+\(\)\{\}\[\]`, []string{"\n\r\t\\|.?*+(){}[]"}, []string{""}},
		{`[\[\]]{2}`, []string{"[]"}, []string{"["}},
		{`}x`, []string{"}x"}, []string{"x"}},
		{"", []string{""}, []string{"a"}},
		{"a||b", []string{"a", "", "b"}, []string{"|"}},
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range trials() {
		compiled, _, err := xsdpattern.Compile(tt.source)
		if err != nil {
			t.Errorf("%s: %v", tt.source, err)
			continue
		}
		for _, text := range tt.good {
			if !compiled.MatchString(text) {
				t.Errorf("%s does not match %q", tt.source, text)
			}
		}
		for _, text := range tt.bad {
			if compiled.MatchString(text) {
				t.Errorf("%s matches %q", tt.source, text)
			}
		}
	}
}

func TestFaultsOfPatterns(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"^a":                              `at character 1: ^ stands for itself in patterns of XML Schema`,
		"a$":                              `at character 2: $ stands for itself in patterns of XML Schema`,
		"(?:a)":                           "at character 1: XML Schema has no (?...)",
		"a.*?b":                           "at character 4: XML Schema has no quantifier of a quantifier",
		"a++":                             "at character 3: XML Schema has no quantifier of a quantifier",
		"*a":                              "missing argument to repetition operator",
		"(a":                              "missing closing )",
		"a)":                              "unexpected )",
		"[a":                              "at character 1: this [ is never closed",
		"[a-[b]":                          "at character 1: this [ is never closed",
		"[]":                              "at character 2: a class has no characters",
		"[z-a]":                           "at character 4: a range in [] goes from one character to a later one",
		"a]":                              "at character 2: a single ] needs a backslash",
		"[a[b]":                           "at character 3: a single [ needs a backslash in []",
		`\`:                               `at character 2: a \ has nothing to escape`,
		`\b`:                              `at character 2: \b means nothing in XML Schema`,
		`\1`:                              `at character 2: \1 means nothing in XML Schema`,
		`\p{Foo}`:                         `at character 3: the property "Foo" is not known here`,
		`\pL`:                             `at character 3: \p is followed by the name of a property`,
		"a{x}":                            "at character 2: a repetition is written as {2}, {2,} or {2,3}",
		"a{3,2}":                          "invalid repeat count",
		"a{2000}":                         "invalid repeat count",
		`[a-\d]`:                          "at character 4: a range in [] goes from one character to a later one",
		strings.Repeat("[a-", 200):        "at character 302: classes are nested too deeply",
		strings.Repeat("(a{200}){4}", 30): "the pattern repeats too much",
		strings.Repeat("a", 4001):         "the pattern is longer than 4000 characters",
	} {
		if _, _, err := xsdpattern.Compile(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %s", source, err, want)
		}
	}
}
