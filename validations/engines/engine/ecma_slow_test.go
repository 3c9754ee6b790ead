//go:build slow

package engine

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// nodeProgram answers for each pattern and its texts what the RegExp of Node.js says, null where it refuses the
// pattern.
const nodeProgram = `
const tests = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(tests.map(({pattern, texts}) => {
	try { const re = new RegExp(pattern, "u"); return texts.map((text) => re.test(text)); } catch { return null; }
})));`

// comparison is a pattern with texts.
type comparison struct {
	Pattern string   `json:"pattern"`
	Texts   []string `json:"texts"`
}

// pieces are what the patterns of TestPatternsAgreeWithNode are made of.
var pieces = strings.Fields(`a b c é 😜 . ^ $ \b \B \d \D \s \S \w \W [ab] [^a] [^] [] [a-c😜] [\w-] [\s\d] \1 \2 \k<n>
	\p{L} \P{Lu} \p{Script=Greek} \u0061 \u{62} \x63 \cJ \0 \/ \- ( ( ( (?: (?: (?= (?! (?<= (?<! (?<n> ) ) ) ) ) )
	| | * + ? *? +? ?? {2} {1,2} {0,} {1,2}? {`)

// TestPatternsAgreeWithNode compares random patterns with the judge that everybody else has.
func TestPatternsAgreeWithNode(t *testing.T) {
	t.Parallel()
	const patterns, textsEach, parts, characters = 60_000, 8, 9, 7
	source := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aaabbcé😜α1- \n\u2028A_/\ufeff")
	var tests []comparison
	for range patterns {
		var test comparison
		for range 1 + source.IntN(parts) {
			test.Pattern += pieces[source.IntN(len(pieces))]
		}
		// Most of what opens a group at random does not close it.
		if missing := strings.Count(test.Pattern, "(") - strings.Count(test.Pattern, ")"); missing > 0 {
			test.Pattern += strings.Repeat(")", missing)
		}
		for range textsEach {
			var text []rune
			for range source.IntN(characters) {
				text = append(text, letters[source.IntN(len(letters))])
			}
			test.Texts = append(test.Texts, string(text))
		}
		tests = append(tests, test)
	}
	valid, different := 0, 0
	for i, want := range askNode(t, tests) {
		if want == nil {
			continue
		}
		valid++
		p, err := CompileECMA(tests[i].Pattern, DefaultLimits())
		if err != nil {
			different++
			t.Errorf("%s: %v, node takes it", tests[i].Pattern, err)
			continue
		}
		for j, text := range tests[i].Texts {
			found, err := p.Match(text)
			if !isQuirk(tests[i].Pattern, text) && (err != nil || found != want[j]) {
				different++
				t.Errorf("%s on %q = %t (%v), node says %t", tests[i].Pattern, text, found, err, want[j])
			}
		}
		if different > 20 {
			t.Fatal("too many differences to go on")
		}
	}
	t.Logf("%d of %d patterns are valid", valid, len(tests))
	if valid < len(tests)/10 {
		t.Errorf("%d of %d patterns are valid, want a tenth", valid, len(tests))
	}
}

// isQuirk knows where V8 leaves ECMA-262. \B matches between the two halves of a character beyond U+FFFF, though the
// flag u makes it one; and a reference to a group further on, which matches the empty text, does not match before one.
func isQuirk(pattern, text string) bool {
	return strings.Contains(text, "😜") && slices.ContainsFunc([]string{`\B`, `\1😜`, `\2😜`, `\k<n>😜`},
		func(part string) bool { return strings.Contains(pattern, part) })
}

func askNode(t *testing.T, tests []comparison) [][]bool {
	t.Helper()
	asked, err := json.Marshal(tests)
	if err != nil {
		t.Fatalf("write tests: %v", err)
	}
	node := exec.CommandContext(t.Context(), "node", "-e", nodeProgram)
	node.Stdin = bytes.NewReader(asked)
	output, err := node.Output()
	if err != nil {
		t.Fatalf("ask node: %v", err)
	}
	var answers [][]bool
	if err := json.Unmarshal(output, &answers); err != nil {
		t.Fatalf("read answers: %v", err)
	}
	return answers
}
