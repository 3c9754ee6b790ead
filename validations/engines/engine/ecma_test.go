package engine

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, matches, other string
	}{
		{`^(?!a$|b$)[a-z]+$`, "ab", "b"},
		{`^(?=.*\d)(?=.*[a-z]).{4,}$`, "ab1c", "abcd"},
		{`(?<=\$)\d+`, "cost $42", "cost 42"},
		{`(?<!-)\b[0-9]{2}\b`, "x 42", "x-42"},
		{`(?<=\1-(\d))x`, "4-4x", "4-5x"},
		{`^(.)(.)\2\1$`, "abba", "abab"},
		{`^(?<quote>['"]).*\k<quote>$`, `"it's"`, `"it's'`},
		{`^(?:(a)|b)*\1$`, "ab", "c"},
		{`^(?=(a*?))\1b`, "b", "ab"},
		{`^(?:a|ab)(?=c)(?:c|bcd)$`, "ac", "abcd"},
		{`^(?!x)(?:a{2,3}?)+$`, "aaaaa", "a"},
		{`^\cJ$`, "\n", "cJ"},
		{`^\s\S$`, "\ufeffa", "aa"},
		{`^.$`, "\u0085", "\u2028"},
		{`^[^]$`, "\n", ""},
		{`^a[]?$`, "a", "b"},
		{`^\u{1F61C}\ud83d\ude1c$`, "\U0001F61C\U0001F61C", "\U0001F61C"},
		{`^\p{Lu}\p{Script=Greek}\P{L}$`, "Aα1", "aα1"},
		{`^\p{Alphabetic}\p{White_Space}$`, "ª\u3000", "1 "},
		{`^[\b\-\]]+$`, "\b-]", "b"},
		{`^.{0,2000}$`, strings.Repeat("é", 2000), strings.Repeat("é", 2001)},
		{`^[\w\-\.]+\@[\w-]+$`, "a.b@c", "a b@c"},
		{`^{{name}}$`, "{{name}}", "{name}"},
		{`^(?i)abc$`, "ABC", "abd"},
		{`^[\w-.]+$`, "a-.b", "a b"},
		{`^[[:alpha:]]+$`, "h]", "h1"},
		{`^(?!x)[\w\-\.]+\@[\w-.]+{$`, "a@b{", "x@b{"},
		{`(?!)|x`, "x", "y"},
		{`^(?:` + strings.Repeat(`entra\.user|C\+\+|`, 3000) + `[Ll]ast)$`, "last", "entra-user"},
	} {
		p, err := CompileECMA(tt.pattern, DefaultLimits())
		if err != nil {
			t.Errorf("compile %s: %v", tt.pattern, err)
			continue
		}
		for text, want := range map[string]bool{tt.matches: true, tt.other: false} {
			if got, err := p.Match(text); got != want || err != nil {
				t.Errorf("%s on %q = %t (%v), want %t", tt.pattern, text, got, err, want)
			}
		}
	}
}

func TestFaultsOfPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"[", "a(b", "a)", "a|*", "a**", "(?<=a)*", "a{3,2}", `\Z`, `(a)\2`, `\k<b>(?<a>)`, "(?>a)", "[b-a]",
		`\p{Klingon}`, `\u12`, `a\`, strings.Repeat("a", 2000) + "+",
		strings.Repeat("a", 1<<16+1), strings.Repeat("a", 2000) + `(?=b)`, strings.Repeat("a", 2000) + `{2}`,
	} {
		if p, err := CompileECMA(pattern, DefaultLimits()); err == nil {
			t.Errorf("compile %s = %v, want a fault", pattern, p)
		}
	}
}

// TestSearchesAreBounded has patterns that take time exponential in the text, or memory for each character.
func TestSearchesAreBounded(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits()
	limits.MaxPatternTime = time.Millisecond
	for _, tt := range []struct{ pattern, text string }{
		{`^(?=(a+)+c)`, strings.Repeat("a", 60) + "!"},
		{`(?=(a|aa)+$)`, strings.Repeat("a", 60) + "!"},
		{`^(?:(a)|b)*(?=c)`, strings.Repeat("ab", 1<<20)},
	} {
		p, err := CompileECMA(tt.pattern, limits)
		if err != nil {
			t.Fatalf("compile %s: %v", tt.pattern, err)
		}
		_, err = p.Match(tt.text)
		if _, ok := errors.AsType[*ExhaustedError](err); !ok {
			t.Errorf("%s ends with %v, want an error that says that it takes too much", tt.pattern, err)
		}
	}
}

// TestRegularPatternsAreLinear holds that only what RE2 does not have runs on the library.
func TestRegularPatternsAreLinear(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		`^\s*(?<a>[^\-\s]|\p{Lu}{2,}|.)?$`: true, `\u00C0[\u{62}[:\-]`: true, `a{0,1000}`: true, `(?i)a`: true,
		`a{0,1001}`: false, `(?=a)`: false, `(a)\1`: false, `[^]`: false, `\ud83d\ude1c`: false, `[\b]`: false,
	} {
		p, err := CompileECMA(pattern, DefaultLimits())
		if err != nil {
			t.Fatalf("compile %s: %v", pattern, err)
		}
		if linear := p.Linear != nil; linear != want {
			t.Errorf("linear of %s = %t, want %t", pattern, linear, want)
		}
	}
}

// FuzzLinear compares the expressions of RE2 with those that they are made of.
func FuzzLinear(f *testing.F) {
	f.Add(`^[\w-.]+\s\S.\u0061\u{62}\x63\D$`, "a \ufeffb")
	f.Add(`\b[^\s\d[]\B\P{L}|^$`, "\u2028")
	f.Add(`\Q`, "0")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		limits := DefaultLimits()
		limits.MaxPatternTime = time.Second
		p, err := CompileECMA(pattern, limits)
		search, fault := compileECMA(pattern, regexp2.ECMAScript|regexp2.Unicode)
		// What means nothing in ECMA-262 has the meaning of RE2, and the library takes more than that.
		if err == nil && fault == nil {
			fault = new(ecmaReader).read(pattern)
		}
		if err != nil || fault != nil || p.Linear == nil || !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return
		}
		search.MatchTimeout = time.Second
		want, err := search.MatchString(text)
		if got := p.Linear.RE.MatchString(text); err == nil && got != want {
			t.Errorf("%s on %q = %t as %s, want %t", pattern, text, got, p.Linear.RE, want)
		}
	})
}
