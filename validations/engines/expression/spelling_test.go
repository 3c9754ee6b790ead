package expression

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/debug"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression/spelling"
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
	env := NewEnv(engine.DefaultLimits(), cel.OptionalTypes(), cel.Variable("value", cel.DynType))
	f.Fuzz(func(t *testing.T, source string) {
		source = source[:min(len(source), engine.DefaultLimits().MaxRuleChars)]
		words, _ := spelling.Respell(env, source)
		for _, column := range []int{0, 1, len(source)} {
			found := words.Locate(source, common.NewLocation(1, column))
			if found.Line() < 1 || found.Line() > strings.Count(source, "\n")+1 {
				t.Errorf("%q: line %d", source, found.Line())
			}
		}
		keepsMeaning(t, env, source)
	})
}

// keepsMeaning holds that what CEL knows as it is means the same when it is said again. It answers whether
// CEL knows it.
func keepsMeaning(t *testing.T, env *cel.Env, source string) bool {
	t.Helper()
	written, wrong := checkWords(env, source)
	if wrong != nil || spelling.IsForeign(written.NativeRep()) {
		return false
	}
	kept, wrong := check(env, source)
	if wrong != nil || debugged(kept) != debugged(written) {
		t.Errorf("%q is checked otherwise: %v", source, wrong)
	}
	words, understood := spelling.Respell(env, source)
	if spelled, wrong := checkWords(env, words.String()); understood &&
		(wrong != nil || debugged(spelled) != debugged(written)) {
		t.Errorf("%q became %q: %v", source, words.String(), wrong)
	}
	return true
}

// TestRulesOfCELKeepTheirMeaning takes all texts in the documentation and in the tests of rules that are expressions.
func TestRulesOfCELKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	env := NewEnv(engine.DefaultLimits(), cel.OptionalTypes(), cel.Variable("value", cel.DynType),
		cel.Variable("doc", cel.DynType), cel.Variable("row", cel.DynType), cel.Variable("dataset", cel.DynType))
	known := map[string]bool{}
	quoted := regexp.MustCompile("`[^`\n]+`|\"(?:[^\"\\\\\n]|\\\\.)+\"|assert: .+")
	for _, pattern := range []string{
		"../../../docs/guides/*.md", "../../../docs/guides/validators/*.md", "../*/*_test.go", "../*/testdata/*.yaml",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatalf("list %s: %v", pattern, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			for _, text := range quoted.FindAllString(string(content), -1) {
				source := strings.Trim(strings.TrimPrefix(text, "assert: "), "`")
				if unquoted, err := strconv.Unquote(source); err == nil {
					source = unquoted
				}
				known[source] = known[source] || keepsMeaning(t, env, strings.ReplaceAll(source, `\|`, "|"))
			}
		}
	}
	for source, isRule := range known {
		if !isRule || strings.Count(source, " ") == 0 {
			delete(known, source)
		}
	}
	if len(known) < 500 {
		t.Errorf("%d expressions were found, want at least 500", len(known))
	}
}

func debugged(tree *cel.Ast) string { return debug.ToDebugString(tree.NativeRep().Expr()) }
