package xpath_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

func TestValues(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1 div 3":                               "0.3333333333333333",
		"5 > //v":                               "false",
		"number('1e3')":                         "NaN",
		"-1 div 0":                              "-Infinity",
		"'10' = //v":                            "true",
		"//v > 15 and not(//v > 20)":            "true",
		"//zzz = false()":                       "true",
		"not('')":                               "true",
		"//a[@id = 2]/v":                        "1:5",
		"//a[last()]/@id":                       "2:2|3",
		"(//a)[last()]/@id":                     "1:3",
		"//v[1]":                                "3:10|5|é&<z",
		"//a[@id = 3]/preceding::v[1]":          "1:5",
		"//@id/following::v[1]":                 "3:10|5|é&<z",
		"sum(//c | //d)":                        "2.5",
		"sum(//t)":                              "NaN",
		"//b/@m:f":                              "1:x",
		"name(//m:e)":                           "n:e",
		"substring('12345', 1.5, 2.6)":          "234",
		"substring('12345', 0 div 0)":           "",
		"translate('abca', 'ab', 'x')":          "xcx",
		"count(//a[lang('en')])":                "3",
		"normalize-space(//a[2]/t)":             "x y",
		"count(//comment()/..)":                 "1",
		"string(//processing-instruction('p'))": "q",
		"//v[. = current()//v[2]]":              "1:20",
		"round(-2.5)":                           "-2",
		"- - 2":                                 "2",
		"5 mod -3":                              "2",
	} {
		if got := evaluate(t, documentToCompare, expression); got != want {
			t.Errorf("%s = %q, want %q", expression, got, want)
		}
	}
}

// FuzzExpressions finds expressions that crash, or take more work than they are given.
func FuzzExpressions(f *testing.F) {
	for expression := range strings.Lines(expressionsToCompare) {
		f.Add(strings.TrimSpace(expression))
	}
	document, fault := xpath.Read([]byte(documentToCompare))
	if fault != nil {
		f.Fatalf("read: %+v", fault)
	}
	env := xpath.Env{
		Namespaces: map[string]string{"m": "urn:n"},
		Variables:  map[string]xpath.Type{"n": xpath.NodeSet, "s": xpath.String},
	}
	f.Fuzz(func(t *testing.T, source string) {
		work := xpath.NewWork(10_000)
		scope := xpath.NewScope(document, work)
		if x, mistake := xpath.Compile(source, env); mistake == nil {
			_ = scope.Text(x, document.Root)
			nodes := scope.Evaluate(x, document.Root).Nodes()
			for i := 1; i < len(nodes) && work.Err() == nil; i++ {
				if nodes[i-1].Order() >= nodes[i].Order() {
					t.Errorf("%q: nodes are not in order, or twice there", source)
				}
			}
		}
		if x, mistake := xpath.CompilePattern(source, env); mistake == nil {
			_ = scope.Nodes(x)
		}
	})
}
