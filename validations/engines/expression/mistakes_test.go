package expression_test

import (
	"strings"
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// mistakes are expressions by people who know other languages, with the answers to them.
var mistakes = []struct{ expression, want string }{
	{"1 +", "column 4: the expression ends where a value is missing"},
	{"value.a and value.b", `column 9: "and" is not an operator; use &&`},
	{"value.a or value.b", `column 9: "or" is not an operator; use ||`},
	{"not value.a", `column 1: "not" is not an operator; use !`},
	{"!(value.a", `column 2: "(" is not closed`},
	{"value.a == null)", `column 16: ")" closes nothing`},
	{"value.a is null", `column 9: "is" is not an operator; use ==`},
	{"value.a is not null", `column 9: "is not" is not an operator; use !=`},
	{"value.a not in [1]", `column 9: "not in" is not an operator; use !(x in list)`},
	{"value.a === 1", `column 9: "===" is not an operator; use ==`},
	{"value.a !== 1", `column 9: "!==" is not an operator; use !=`},
	{"value.a <> 1", `column 9: "<>" is not an operator; use !=`},
	{"value.a = 1", `column 9: "=" is not an operator; use == to compare`},
	{"value.a & 1", `column 9: "&" is not an operator; use &&`},
	{"value.a | 1", `column 9: "|" is not an operator; use ||`},
	{`value.a == "x`, `column 12: the text that begins here is not closed; write a quote within a text as \'`},
	{"value.a == 'x", `column 12: the text that begins here is not closed; write a quote within a text as \'`},
	{"value.a == ‘x’", "column 12: write texts between straight quotes, as in 'A'"},
	{"value.a == 1,5", `column 13: "," is not expected here; decimals have a point, as in 1.5`},
	{"value.a == 1.000,5", `column 17: "," is not expected here; decimals have a point, as in 1.5`},
	{"now() > value.t", "column 1: there is no now: a rule has no clock; write timestamp('2026-03-01T06:00:00Z')"},
	{"today()", "column 1: there is no today: a rule has no clock; write timestamp('2026-03-01T06:00:00Z')"},
	{"len(value.a) > 1", "column 1: there is no function len; use size(x)"},
	{"pow(ratio, 2.0) > 1.0", "column 1: there is no function pow; multiply, as in x * x"},
	{"AND(value.a, value.b)", "column 1: there is no function AND; write a && b, a || b, !a"},
	{"ROUND(ratio) == 1.0", "column 1: there is no function ROUND; use one of math, as in math.abs(x)"},
	{"size(value.keys()) == 1", "column 12: there is no function keys; the names of an object are x.map(k, k)"},
	{"[1] == ['a']", "column 5: the elements of the two lists have different types"},
	{"value.length() > 1", "column 7: there is no function length; use size(x)"},
	{"'a' + 1 == 'a1'", "column 5: + joins texts with texts; use string(x) for the other value"},
	{"ratio / 2 > 1", "column 7: / does not take a decimal and a whole number; use 2.0 instead of 2, or double(x)"},
	{"count / 2.0 > 1", "column 7: / does not take a decimal and a whole number; use 2.0 instead of 2, or double(x)"},
	{"count % 2.0 == 1", "column 7: % takes whole numbers; write int(x) % 2"},
	{"ratio % 2 == 1.0", "column 7: % takes whole numbers; write int(x) % 2"},
	{"true + 1", "column 6: + does not take true or false and a whole number"},
	{"size(1)", "column 1: size does not take these values; write size(x) of a text, a list or an object"},
	{"value.x.foo()", "column 9: there is no variable or function foo here"},
	{"foo(value)", "column 1: there is no variable or function foo here"},
	{"valu.x > 1", "column 1: there is no variable or function valu here; did you mean value?"},
	{"value.all(z > 1)", "column 7: all takes a variable and an expression with it, as in x.all(i, i > 1)"},
	{
		"value.all(z => z > 1)",
		`column 13: "=>" is not an operator; use >= to compare, and a comma in loops, as in x.all(i, i > 1)`,
	},
	{"value.every(z, z > 1)", "column 7: there is no function every; use x.all(i, i > 1)"},
	{
		"value.some(z => z > 1)",
		`column 14: "=>" is not an operator; use >= to compare, and a comma in loops, as in x.all(i, i > 1)`,
	},
	{
		"any(z > 1 for z in value)",
		"column 11: write a loop as x.map(i, i * 2.0), x.filter(i, i > 1), x.all(i, i > 1) or x.exists(i, i > 1)",
	},
	{
		"[z for z in value]",
		"column 4: write a loop as x.map(i, i * 2.0), x.filter(i, i > 1), x.all(i, i > 1) or x.exists(i, i > 1)",
	},
	{"value[1:3]", "column 8: write x.slice(1, 3) for a part of a list, x.substring(1, 3) for a part of a text"},
	{"value.a in (1, 2)", "column 12: write a list in brackets, as in x in [1, 2]"},
	{"value between 1 and 5", `column 7: "between" is not an operator; write x >= 1 && x <= 5`},
	{"if value.a then true", `column 1: there is no "if"; write condition ? a : b`},
	{"value.a ? true", `column 15: the expression ends without ": value", as in condition ? a : b`},
	{"value.a ?? 1", `column 9: "??" is not an operator; write has(x.name) ? x.name : 0.0`},
	{"value?.a", `column 6: "?." is not an operator; write has(x.name) && x.name > 1.0`},
	{"value.a like 'x%'", `column 9: "like" is not an operator; use x.contains('a') or x.matches('^a')`},
	{"startsWith(value.a, 'x')", "column 1: startsWith does not take these values; write x.startsWith('a')"},
	{"value.a.startswith('x')", "column 9: there is no function startswith; use x.startsWith('a')"},
	{"value.a.toLowerCase() == 'x'", "column 9: there is no function toLowerCase; use x.lowerAscii()"},
	{
		"value.a.includes('x')",
		"column 9: there is no function includes; use x.contains('a') for a text, 'a' in x for a list",
	},
	{"value.a.matches('[')", "column 17: pattern is not a regular expression of RE2: missing closing ]: `[`"},
	{
		"value.a.matches('(?=x)')",
		"column 17: pattern is not a regular expression of RE2: invalid or unsupported Perl syntax: `(?=`",
	},
	{"value.a.matches(/x/)", "column 17: write a pattern as a text, as in x.matches('^[a-z]+$')"},
	{"matches('x')", "column 1: matches does not take these values; write x.matches('^[a-z]+$')"},
	{`f"{value.a}"`, "column 1: write 'A %s'.format([x]) to put values into a text"},
	{`"a" . "b"`, `column 7: . "b" is not expected here`},
	{"$value.a", `column 1: names have no "$"; write value.name or doc.name`},
	{"{value.a}", "column 1: braces are for messages; leave them out here"},
	{"value.a > 5%", "column 12: write a percentage as a fraction, as in 0.05"},
	{"value.a ** 2", "column 9: there is no operator for powers; write x * x"},
	{"value.a ^ 2", `column 9: "^" is not an operator; write x * x for a power, and != for one of two`},
	{"value.a == None", "column 12: there is no value None; use null"},
	{"value.a == True", "column 12: there is no True; use true or false"},
	{"value.a == undefined", "column 12: there is no value undefined; use null"},
	{"typeof value.a", "column 1: there is no such operator; write type(x) == string"},
	{"type(value.a) == 'string'", "column 15: == does not take a type and a text"},
	{"abs(value.a)", "column 1: there is no function abs; use one of math, as in math.abs(x)"},
	{"round(value.a)", "column 1: there is no function round; use one of math, as in math.abs(x)"},
	{"Math.round(value.a)", "column 1: there is no variable or function Math.round here; did you mean math.round?"},
	{"parseInt(value.a)", "column 1: there is no function parseInt; use int(x)"},
	{"float(value.a)", "column 1: there is no function float; use double(x)"},
	{"str(value.a)", "column 1: there is no function str; use string(x)"},
	{"return value.a", `column 1: leave "return" out: an expression is its result`},
	{"value.a; value.b", "column 8: write one expression; join conditions with &&"},
	{"let x = 1", `column 1: there is no "let"; write cel.bind(name, value, expression)`},
	{
		"value.a => value.b",
		`column 9: "=>" is not an operator; use >= to compare, and a comma in loops, as in x.all(i, i > 1)`,
	},
	{"value.zones.count()", "column 13: there is no function count; use size(x)"},
	{"value['a", `column 7: the text that begins here is not closed; write a quote within a text as \'`},
	{"value.zones[0.area", `column 12: "[" is not closed`},
	{"value.all(z, z.x.all(y, y.all(w, w)))", "column 30: loops may be two deep, not three"},
	{"has(value)", "column 5: has takes a member, as in has(x.name); write 'a b' in x for other names"},
	{"has(value['a'])", "column 10: has takes a member, as in has(x.name); write 'a b' in x for other names"},
	{"1 == 'a'", "column 3: == does not take a whole number and a text"},
	{"timestamp('2026-01-01') > 1", "column 25: > does not take a time and a whole number"},
	{"value.a == 0x", `column 13: "x" is not expected here`},
	{"1_000 > 1", `column 2: write numbers without "_"`},
	{"count == 1.5", "column 7: == does not take a decimal and a whole number; use 2.0 instead of 2, or double(x)"},
	{"value.all(1, true)", "column 11: the first argument is the name of a variable, as in x.all(i, i > 1)"},
	{"value.a == 'it's'", `column 17: the text that begins here is not closed; write a quote within a text as \'`},
	{"((((1))", `column 2: "(" is not closed`},
	{"()", `column 2: ")" is not expected here`},
	{"value..a", `column 7: ".." is not expected here`},
	{"value.a &&", "column 11: the expression ends where a value is missing"},
	{"&& value.a", `column 1: "&&" is not expected here`},
	{"value.a == == 1", `column 12: "==" is not expected here`},
	{"count ? true : false", "column 7: what stands before ? must be true or false"},
	{
		"count && true",
		"column 1: a condition must be true or false, but this is a whole number; compare it, as in x > 0",
	},
	{"!count", "column 1: ! does not take a whole number"},
	{"-'a'", "column 1: - does not take a text"},
	{"'a' < 1", "column 5: < does not take a text and a whole number"},
	{"value.1", "column 6: write the place in a list in brackets, as in x[1]"},
	{"value.a-b > 1", "column 9: there is no variable or function b here"},
	{"value.zones.*.a", "column 12: a star is for paths; loop with x.all(i, i > 1)"},
	{`value.a == "\d"`, `column 12: the text "\d has a backslash that means nothing; double it, or write r'\d+'`},
	{"new Date()", `column 1: there is no "new"; a time is timestamp('2026-03-01T06:00:00Z')`},
	{"value.a in 1", `column 9: "in" needs a list or an object on its right, as in x in [1, 2]`},
	{"null > 1", "column 6: > does not take null and a whole number"},
	{"count.x", "column 6: a whole number has no members"},
	{"[1,2", `column 1: "[" is not closed`},
	{"{'a': 1", `column 1: "{" is not closed`},
	{"99999999999999999999 > 1", "column 1: the whole number is too large; write it with a point, as in 1e20"},
	{"value.a == 1 then true", "column 14: there is no such word; write condition ? a : b"},
	{
		"for x in value",
		`column 1: there is no "for"; write x.all(i, i > 1), x.exists(i, i > 1), x.filter(i, i > 1) or ` +
			"x.map(i, i * 2.0)",
	},
	{"value.class == 'x' && package", `column 23: "package" is reserved; write value['package']`},
	{"value.sort(i)", "column 7: sort does not take these values; write list.sort()"},
	{"lists.rnge(3)", "column 1: there is no variable or function lists.rnge here; did you mean lists.range?"},
	{"value.zones.distnct()", "column 13: there is no variable or function distnct here; did you mean distinct?"},
	{"math.rond(1.5)", "column 1: there is no variable or function math.rond here; did you mean math.round?"},
	{"'%s'.format(1)", "column 6: format does not take these values; write 'A %s'.format([x])"},
	{"[value.a, value.b)", `column 18: "[" is closed by ")"; write "]"`},
	{"row.name.replace('a')", "column 10: replace does not take these values; write x.replace('a', 'b')"},
	{"value.a == @id", `column 12: "@" cannot be part of a name here; write value['@name']`},
	{"value.a > 1 # comment", `column 13: "#" is not expected here; a comment begins with //`},
	{"value.a > 1 && (value.b < 2", `column 16: "(" is not closed`},
	{
		"size(value.a, 1) > 1",
		"column 1: size does not take these values; write size(x) of a text, a list or an object",
	},
	{
		"duration('5 minutes') > duration('1m')",
		"column 10: the text is neither a duration such as 90m nor a time such as 2026-03-01T06:00:00Z",
	},
	{"value.x.y(1).z", "column 9: there is no variable or function y here"},
	{`"a" "b"`, `column 5: "b" is not expected here`},
	{"value.a value.b", `column 9: "value" is not expected here`},
	{"value.a.", `column 9: "." is not expected here`},
	{"value[", `column 6: "[" is not closed`},
	{"value[]", `column 7: "]" is not expected here`},
	{"value.map(i, )", `column 14: ")" is not expected here`},
	{"==", `column 1: "==" is not expected here`},
	{`\`, `column 1: "\" is not expected outside of a text`},
	{`value.a \ 2`, `column 9: "\" is not expected outside of a text`},
	{"value.é", `column 7: "é" is not expected here`},
	{"value.a == 'a' 'b'", "column 16: 'b' is not expected here"},
	{"value.a is string", `column 9: "is" is not an operator; use ==`},
	{"1.5.5 > 1", `column 4: ".5" is not expected here`},
	{"1..5", `column 3: "..5" is not expected here`},
	{"x ? y", `column 6: the expression ends without ": value", as in condition ? a : b`},
	{`value.a == "a'`, `column 12: the text that begins here is not closed; write a quote within a text as \'`},
	{"a = b == c", `column 3: "=" is not an operator; use == to compare`},
	{
		"true ? 'a' : 2",
		`column 6: both values of condition ? a : b must be of one type, but they are a text and a whole number`,
	},
	{"'a'[1] == 1", "column 4: a text has no elements"},
	{"value.?x == 1", `column 6: ".?" is for documents only; in a row a missing value is null`},
	{"cel.bind(a.b, 1, a)", "column 11: the first argument is a name, as in cel.bind(a, x.area, a * a)"},
	{"[1].all(a, a, a)", "column 12: the variable a is named twice"},
	{"math.greatest('a') > 1", "column 15: math.greatest takes numbers, as in math.greatest(x, 2.0)"},
	{"'%d %s'.format([1]) == 'a'", "column 15: the text has more places for values than there are values"},
	{"'%q'.format([1]) == ''", "column 12: a place for a value is %s, %d for a whole number or %.2f for a decimal"},
	{"1e999 == value", "column 1: the number is too large"},
	{"sum(1) > 1", "column 1: sum does not take these values; write sum(list)"},
	{"max(value, 3) > 1", "column 1: max does not take these values; write max([a, b])"},
	{
		"math.round(count) == 1",
		"column 1: math.round does not take these values; write math.round(1.5); a whole number needs no rounding",
	},
	{"value!.a", `column 6: "!" is not expected here`},
	{"*", `column 1: "*" is not expected here`},
}

// newRules returns a compiler with one variable of each kind.
func newRules(tb testing.TB) (*expression.Rules, *cel.Env) {
	tb.Helper()
	env, err := expression.NewEnv(engine.DefaultLimits(),
		cel.Variable("value", cel.DynType),
		cel.Variable("count", cel.IntType),
		cel.Variable("ratio", cel.DoubleType),
		cel.Variable("row", cel.MapType(cel.StringType, cel.DynType)),
	)
	if err != nil {
		tb.Fatalf("declare variables: %v", err)
	}
	return expression.NewRules(engine.DefaultLimits()), env
}

func TestMistakesAreToldInPlainWords(t *testing.T) {
	t.Parallel()
	for _, tt := range mistakes {
		t.Run(tt.expression, func(t *testing.T) {
			t.Parallel()
			rules, env := newRules(t)
			rules.Condition(env, tt.expression, "/assert")
			if len(rules.Faults) != 1 || rules.Faults[0].Detail != tt.want {
				t.Errorf("faults = %+v, want %s", rules.Faults, tt.want)
			}
		})
	}
}

// TestNoMistakeShowsTheParser breaks each expression everywhere and looks for words of CEL's grammar.
func TestNoMistakeShowsTheParser(t *testing.T) {
	t.Parallel()
	rules, env := newRules(t)
	for _, tt := range mistakes {
		for i := 0; i < len(tt.expression); i += 5 {
			for _, broken := range []string{
				tt.expression[:i], tt.expression[i:], tt.expression[:i] + ")" + tt.expression[i:],
			} {
				rules.Faults = nil
				rules.Condition(env, broken, "/assert")
				for _, fault := range rules.Faults {
					for _, word := range []string{"expecting", "EOF", "NUM_", "Syntax", "token", "viable", "overload"} {
						if strings.Contains(fault.Detail, word) {
							t.Errorf("%s: %s", broken, fault.Detail)
						}
					}
				}
			}
		}
	}
}
