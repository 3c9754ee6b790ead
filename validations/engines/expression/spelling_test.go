package expression

import (
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/debug"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// FuzzSpelling says what people might write in the words of CEL. What CEL knows as it is stays what it is, and places
// are found again.
func FuzzSpelling(f *testing.F) {
	for _, source := range []string{
		"value.a and not x in [1, 2] or 'a and b'.size() <> 3", "[f(x) for x in xs if x for y in x]", "a is not None",
		"all(c for x in xs) // and\n", "xs.map((l, i) => l)", `r'\' + """and"" """ == b'not\' and' + `, "=> => (",
		"not", "for", "(for x in", "new Date(x)", "`and`.or", "Math.max(1)", "sum(x for x in xs", "/[/]/.test(x[-1:])",
		"1<(1<(1<(1<(1<(1<(1<(1<(1<(1<(1<(1<(1<x<2)<2)<2)<2)<2)<2)<2)<2)<2)<2)<2)<2)<2", "{'a': [1], b: 2}.a[0:-1]",
		"value.not == value.in_ && !has(value.and) ? {'is': 1}.is == 1 : value.or in value['=']",
		"value.all(i, v, v.f.exists(x, x > -i)) && cel.bind(a, value.?b[?0].orValue(1.5e-3), a >= 0x1F) || false",
	} {
		f.Add(source)
	}
	env, err := NewEnv(engine.DefaultLimits(), cel.OptionalTypes(), cel.Variable("value", cel.DynType))
	if err != nil {
		f.Fatalf("declare: %v", err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		source = source[:min(len(source), engine.DefaultLimits().MaxRuleChars)]
		for _, w := range wordsOf(source, 0) {
			if !strings.HasPrefix(source[w.at:], w.text) {
				t.Errorf("%q has no %q at %d", source, w.text, w.at)
			}
		}
		words, understood := respell(env, source)
		for _, column := range []int{0, 1, len(source)} {
			found := locate(words, source, common.NewLocation(1, column))
			if found.Line() < 1 || found.Line() > strings.Count(source, "\n")+1 {
				t.Errorf("%q: line %d", source, found.Line())
			}
		}
		if written, wrong := checkWords(env, source); wrong == nil && understood && !isForeign(written.NativeRep()) {
			spelled, wrong := checkWords(env, textOfWords(words))
			if wrong != nil || debugged(spelled) != debugged(written) {
				t.Errorf("%q became %q: %v", source, textOfWords(words), wrong)
			}
		}
	})
}

func debugged(tree *cel.Ast) string { return debug.ToDebugString(tree.NativeRep().Expr()) }
