package expression

import (
	"slices"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// FuzzSpelling writes what people might write in the words of CEL. Texts stay as they are, and places are found again.
func FuzzSpelling(f *testing.F) {
	for _, source := range []string{
		"value.a and not x in [1, 2] or 'a and b'.size() <> 3", "[f(x) for x in xs if x for y in x]", "a is not None",
		"all(c for x in xs) // and\n", "xs.map((l, i) => l)", `r'\' + """and"" """ == b'not\' and' + `, "=> => (",
		"not", "for", "(for x in", "new Date(x)", "`and`.or", "Math.max(1)", "sum(x for x in xs",
	} {
		f.Add(source)
	}
	env, err := NewEnv(engine.DefaultLimits(), cel.Variable("value", cel.DynType))
	if err != nil {
		f.Fatalf("declare: %v", err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		source = source[:min(len(source), engine.DefaultLimits().MaxRuleChars)]
		if got := joined(wordsOf(source)); got != source {
			t.Errorf("%q became %q", source, got)
		}
		words := respell(env, source)
		spelled := joined(words)
		if want, got := textsIn(source), textsIn(spelled); !slices.Equal(want, got) {
			t.Errorf("%q became %q", source, spelled)
		}
		for _, line := range []int{1, strings.Count(spelled, "\n") + 1} {
			found := locate(words, source, common.NewLocation(line, 1))
			if found.Line() < 1 || found.Line() > strings.Count(source, "\n")+1 {
				t.Errorf("%q: line %d of %q", source, found.Line(), spelled)
			}
		}
	})
}

// textsIn returns the texts in an expression, in the order of the alphabet.
func textsIn(source string) []string {
	var texts []string
	for _, w := range wordsOf(source) {
		if len(w.text) > 1 && strings.ContainsAny(w.text[:1]+w.text[len(w.text)-1:], `"'`) {
			texts = append(texts, w.text)
		}
	}
	slices.Sort(texts)
	return texts
}
