package expression_test

import (
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// mistakes are expressions by people who know other languages, with CEL's answers and what to write instead.
var mistakes = []struct{ expression, want string }{
	{"1 +", "column 4: Syntax error: mismatched input '<EOF>'"},
	{
		"value.a and value.b",
		"column 9: Syntax error: mismatched input 'and' expecting <EOF>; the operators are &&, ||, !, == and in",
	},
	{
		"not value.a",
		"column 5: Syntax error: mismatched input 'value' expecting <EOF>; the operators are &&, ||, !, == and in",
	},
	{"!(value.a", "column 10: Syntax error: missing ')' at '<EOF>'"},
	{
		"value.a = 1",
		"column 9: Syntax error: token recognition error at: '= '; use == to compare, && and || to join",
	},
	{"value.a == 'x", "column 12: Syntax error: token recognition error at: ''x'"},
	{
		"today()",
		"column 6: undeclared reference to 'today'; a rule has no clock; write timestamp('2026-03-01T06:00:00Z')",
	},
	{"len(value.a) > 1", "column 4: undeclared reference to 'len'; use size(x)"},
	{"valu.x > 1", "column 1: undeclared reference to 'valu' (did you mean 'value'?)"},
	{
		"value.all(z > 1)",
		"column 10: undeclared reference to 'all'; " +
			"a loop is x.all(i, i > 1), x.exists(i, i > 1), x.filter(i, i > 1) or x.map(i, i * 2)",
	},
	{"if value.a then true", "column 1: reserved identifier: if; write condition ? a : b"},
	{
		"value.a.toLowerCase() == 'x'",
		"column 20: undeclared reference to 'toLowerCase'; use x.lowerAscii(), x.upperAscii() or x.trim()",
	},
	{"value.a == None", "column 12: undeclared reference to 'None'; use null, true or false"},
	{"round(value.a)", "column 6: undeclared reference to 'round'; use a function of math, as in math.round(x)"},
	{"float(value.a)", "column 6: undeclared reference to 'float'; use string(x), double(x) or int(x)"},
	{"'a' + 1 == 'a1'", "column 5: found no matching overload for '_+_' applied to '(string, int)'"},
	{"true + 1", "column 6: found no matching overload for '_+_' applied to '(bool, int)'"},
	{"1 == 'a'", "column 3: found no matching overload for '_==_' applied to '(int, string)'"},
	{"[1] != ['a']", "column 5: found no matching overload for '_!=_' applied to '(list(int), list(string))'"},
	{"count && true", "column 1: expected type 'bool' but found 'int'"},
	{"value.a.matches('[')", "column 17: pattern is not a regular expression of RE2: missing closing ]: `[`"},
	{"value.all(z, z.x.all(y, y.all(w, w)))", "column 30: comprehension exceeds nesting limit"},
	{"true\n&& x > 1", "line 2, column 4: undeclared reference to 'x'"},
}

// numbers are expressions in which whole numbers meet decimals, all of them true.
var numbers = []string{
	"ratio / 2 == 0.75", "2 / ratio > 1", "1 + ratio == 2.5 && ratio - 1 == 0.5 && 2 * ratio == 3",
	"count / 2.0 == 3.5", "count / 2 == 3", "count % 2 == 1 && ratio % 1 == 0.5 && 7.0 % 4.0 == 3.0",
	"value / 2 == 5 && value % 3 == 1 && value + count == 17", "mean([1, 2]) / 2 == 0.75 && sum([60, 40]) == 100",
	"count == 7.0 && 7.0 == count && count != 7.5", "size('abc') * 1.5 == 4.5", "[1, 2] == [1, 2]",
	"timestamp('2026-03-01') + duration('1h') > timestamp('2026-03-01')", "'a' + 'b' == 'ab' && [1] + [2] == [1, 2]",
}

func TestNumbersOfAllTypesAreCalculated(t *testing.T) {
	t.Parallel()
	rules, env := newRules(t)
	for _, source := range numbers {
		condition := rules.Condition(env, source, "/assert")
		if condition == nil {
			t.Errorf("%s: faults = %+v", source, rules.Faults)
			continue
		}
		holds, reason, err := condition.Holds(t.Context(), map[string]any{"value": 10.0, "count": 7, "ratio": 1.5})
		if !holds || reason != "" || err != nil {
			t.Errorf("%s = %t, %q, %v, want true", source, holds, reason, err)
		}
	}
	for source, want := range map[string]string{
		"value % 0.0 == 1": "modulus by zero", "count / 0 == 1": "division by zero",
	} {
		variables := map[string]any{"value": 1.0, "count": 1}
		_, reason, err := rules.Condition(env, source, "/assert").Holds(t.Context(), variables)
		if err != nil || reason != want {
			t.Errorf("%s: reason = %q, %v, want %q", source, reason, err, want)
		}
	}
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

func TestMistakesComeWithWhatToWriteInstead(t *testing.T) {
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
