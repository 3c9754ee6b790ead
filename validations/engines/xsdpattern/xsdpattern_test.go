package xsdpattern_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xsdpattern"
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
		p, err := xsdpattern.Compile(tt.source, engine.DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", tt.source, err)
			continue
		}
		for _, text := range tt.good {
			if !p.RE.MatchString(text) {
				t.Errorf("%s does not match %q", tt.source, text)
			}
		}
		for _, text := range tt.bad {
			if p.RE.MatchString(text) {
				t.Errorf("%s matches %q", tt.source, text)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"^a":                       `at character 1: ^ stands for itself in patterns of XML Schema`,
		"a$":                       `at character 2: $ stands for itself in patterns of XML Schema`,
		"(?:a)":                    "at character 2: XML Schema has no (?...)",
		"a.*?b":                    "at character 4: XML Schema has no quantifier of a quantifier",
		"a++":                      "at character 3: XML Schema has no quantifier of a quantifier",
		"*a":                       "at character 1: there is nothing to repeat",
		"(a":                       "at character 1: this ( is never closed",
		"a)":                       "at character 2: this ) closes no group",
		"[a":                       "at character 1: this [ is never closed",
		"[a-[b]":                   "at character 1: this [ is never closed",
		"[]":                       "at character 2: a class has no characters",
		"[z-a]":                    "at character 5: the range in [] is out of order",
		"a]":                       "at character 2: a single ] needs a backslash",
		"[a[b]":                    "at character 3: a single [ needs a backslash in []",
		`\`:                        `at character 2: a \ has nothing to escape`,
		`\b`:                       `at character 2: \b means nothing in XML Schema`,
		`\1`:                       `at character 2: \1 means nothing in XML Schema`,
		`\p{Foo}`:                  `at character 3: the property "Foo" is not known here`,
		`\pL`:                      `at character 3: \p is followed by the name of a property`,
		"a{x}":                     "at character 2: a repetition is written as {2}, {2,} or {2,3}",
		"a{3,2}":                   "at character 2: a repetition is up to 1000, the least number before the most",
		"a{2000}":                  "at character 2: a repetition is up to 1000, the least number before the most",
		`[a-\d]`:                   "at character 6: a range in [] goes from one character to another",
		strings.Repeat("(", 200):   "at character 102: groups are nested too deeply",
		strings.Repeat("[a-", 200): "at character 302: classes are nested too deeply",
		"(a{200}){200}":            "at character 14: the pattern repeats too much",
		strings.Repeat("a", 2001):  "the pattern is longer than 2000 characters",
	} {
		if _, err := xsdpattern.Compile(source, engine.DefaultLimits()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %s", source, err, want)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`[a-c]\[x-[^y]]`:       `[a-c]\[x-[^y]]`,
		`x[a-f-[^ce\-]]+\P{L}`: `x[ce]+\P{L}`,
		`[\P{IsBasicLatin}a-]`: "[\\-a\u0080-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]",
		`[^\P{IsBasicLatin}]`:  "[\\t-\\n\\r -\u007f]",
		`[+-9-[-.0-8-[4]]]{2}`: `[\+-,/49]{2}`,
		`[a-[^b-[b]]]`:         `[a-[a]]`,
		`[\P{Nothing}]`:        `[\P{Nothing}]`,
		`[^\P{L}`:              `[^\P{L}`,
		`[a-z-[aeiou]]\`:       `[a-z-[aeiou]]\`,
	}
	for pattern, want := range tests {
		if got := xsdpattern.Plain(pattern); got != want {
			t.Errorf("Plain(%s) = %q, want %q", pattern, got, want)
		}
	}
}
