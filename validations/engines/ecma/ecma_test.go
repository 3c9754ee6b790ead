package ecma

import (
	"math"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// search returns whether a pattern matches, and the steps that were charged.
func search(tb testing.TB, source, text string) (Verdict, int64) {
	tb.Helper()
	p, err := Compile(source, engine.DefaultLimits())
	if err != nil {
		tb.Fatalf("compile %s: %v", source, err)
	}
	var steps int64
	verdict := p.Search(text, 10_000_000, func(n int64) bool {
		steps += n
		return true
	})
	return verdict, steps
}

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
		{`^[[:alpha:]]+$`, "ab", "a1"},
		{`(?!)|x`, "x", "y"},
	} {
		if verdict, _ := search(t, tt.pattern, tt.matches); verdict != Matches {
			t.Errorf("%s on %q = %d, want a match", tt.pattern, tt.matches, verdict)
		}
		if verdict, _ := search(t, tt.pattern, tt.other); verdict != NoMatch {
			t.Errorf("%s on %q = %d, want no match", tt.pattern, tt.other, verdict)
		}
	}
}

func TestFaultsOfPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"[":           "at character 1: this [ is never closed",
		"a(b":         "at character 2: this ( is never closed",
		"a)":          "at character 2: this ) closes no group",
		"a|*":         "at character 3: there is nothing to repeat",
		"a**":         "at character 3: there is nothing to repeat",
		"(?<=a)*":     "at character 7: there is nothing to repeat",
		"a{3,2}":      "at character 7: the numbers in {} are out of order",
		`\Z`:          `at character 2: \Z means nothing in ECMA-262`,
		`(a)\2`:       "at character 5: there is no such group to refer to",
		`\k<b>(?<a>)`: "at character 2: there is no such group to refer to",
		"(?>a)":       "at character 3: there is no group of this kind",
		"[b-a]":       "at character 5: the range in [] is out of order",
		`\p{Klingon}`: `at character 3: the property "Klingon" is not known here`,
		`\u12`:        `at character 3: \u is followed by four hexadecimal digits, or by digits in {}`,
		`a\`:          `at character 3: a \ has nothing to escape`,
	} {
		if _, err := Compile(pattern, engine.DefaultLimits()); err == nil || err.Error() != want {
			t.Errorf("compile %s = %v, want %s", pattern, err, want)
		}
		if err := Check(pattern, engine.DefaultLimits()); err == nil || err.Error() != want {
			t.Errorf("check %s = %v, want %s", pattern, err, want)
		}
	}
}

// TestPatternsAreBounded has patterns that take time exponential in the text, or memory for each character.
func TestPatternsAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, text string }{
		{`^(?=(a+)+$)b`, strings.Repeat("a", 40) + "!"},
		{`^(?!(?:a|a)*$)`, strings.Repeat("a", 60) + "!"},
		{`(?=b)(?:a|b)*c|^(?:a|b)*(?=c)`, strings.Repeat("ab", 1<<18)},
		{`^(?=(?:(?:){1000000}){1000000})`, ""},
		{`(.*)\1(.*)\2x`, strings.Repeat("ab", 5000)},
	} {
		first, steps := search(t, tt.pattern, tt.text)
		again, stepsAgain := search(t, tt.pattern, tt.text)
		if first != Unfinished || again != first || steps != stepsAgain {
			t.Errorf("%s ends with %d after %d steps, then %d after %d", tt.pattern, first, steps, again, stepsAgain)
		}
	}
}

// TestSearchesAreBoundedInMemory has a search that ends before its steps do, because it remembers too much: each
// character leaves several frames behind.
func TestSearchesAreBoundedInMemory(t *testing.T) {
	t.Parallel()
	p, err := Compile(`^(?:(a)|b)*(?=c)`, engine.DefaultLimits())
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	for length, want := range map[int]Verdict{1 << 10: NoMatch, 1 << 20: Unfinished} {
		text := strings.Repeat("a", length)
		verdict := p.Search(text, math.MaxInt64, func(int64) bool { return true })
		if verdict != want {
			t.Errorf("search in %d characters ends with %d, want %d", length, verdict, want)
		}
	}
}

func TestSearchEndsWhenChargesAreRefused(t *testing.T) {
	t.Parallel()
	p, err := Compile(`^(?=(a+)+$)b`, engine.DefaultLimits())
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	charges := 0
	verdict := p.Search(strings.Repeat("a", 40)+"!", 1<<40, func(int64) bool {
		charges++
		return charges < 3
	})
	if verdict != Unfinished || charges != 3 {
		t.Errorf("search ends with %d after %d charges, want after 3", verdict, charges)
	}
}

// TestRegularPatternsAreLinear holds that only what needs the machine runs on it.
func TestRegularPatternsAreLinear(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		`^\s*(?<a>[^]\cA|\p{Lu}{2,})?$`: true, `a{0,1000}`: true, `a{0,1001}`: false, `(?=a)`: false, `(a)\1`: false,
		`(?i)a`: true,
	} {
		p, err := Compile(pattern, engine.DefaultLimits())
		if err != nil {
			t.Fatalf("compile %s: %v", pattern, err)
		}
		if _, linear := p.Linear(); linear != want {
			t.Errorf("linear of %s = %t, want %t", pattern, linear, want)
		}
	}
}
