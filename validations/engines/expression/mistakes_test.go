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
	{"!(value.a", "column 10: Syntax error: missing ')' at '<EOF>'"},
	{"value.a == 'x", "column 12: Syntax error: token recognition error at: ''x'"},
	{
		"today()",
		"column 6: undeclared reference to 'today'; a rule has no clock; write timestamp('2026-03-01T06:00:00Z')",
	},
	{"valu.x > 1", "column 1: undeclared reference to 'valu' (did you mean 'value'?)"},
	{
		"value.all(z > 1)",
		"column 10: undeclared reference to 'all'; " +
			"a loop is x.all(i, i > 1), x.exists(i, i > 1), x.filter(i, i > 1) or x.map(i, i * 2)",
	},
	{"if value.a then true", "column 1: reserved identifier: if; write condition ? a : b"},
	{"'a' + 1 == 'a1'", "column 5: found no matching overload for '_+_' applied to '(string, int)'"},
	{"true + 1", "column 6: found no matching overload for '_+_' applied to '(bool, int)'"},
	{"value.a and not len(valu.b) > 1", "column 21: undeclared reference to 'valu' (did you mean 'value'?)"},
	{"sum(x.a for x in\n  valu) > 1", "line 2, column 3: undeclared reference to 'valu' (did you mean 'value'?)"},
	{
		"value.a & value.b",
		"column 9: Syntax error: token recognition error at: '& '; use == to compare, && and || to join",
	},
	{
		"ROUND(value['ä'], 2) = 1 and value.b ~ 1",
		"column 22: Syntax error: token recognition error at: '= '; use == to compare, && and || to join",
	},
	{"ROUND(value['ä'], 2) = 1 and valu.b", "column 30: undeclared reference to 'valu' (did you mean 'value'?)"},
	{
		"value.reduce((s, b) => s * b.area, 1) == 1",
		"column 13: undeclared reference to 'reduce'; use list.sum(i, x), or min, max, avg, all or exists",
	},
	{"re.match(r'[', value.b)", "column 10: pattern is not a regular expression of RE2: missing closing ]: `[)`"},
	{
		"re.match(value.a, value.b)",
		"column 1: undeclared reference to 're' (did you mean 'replace' or 'reverse'?); write x.matches('^[A-Z]+$')",
	},
	{
		"value.a ^ 2 > 1",
		"column 9: Syntax error: token recognition error at: '^'; for powers write x * x",
	},
	{"IF(value.a, 1) == 1", "column 3: undeclared reference to 'IF'; write condition ? a : b"},
	{
		"value.a LIKE value.b",
		"column 9: Syntax error: mismatched input 'LIKE' expecting <EOF>; write x.matches('^[A-Z]+$')",
	},
	{
		"CURRENT_DATE > value.a",
		"column 1: undeclared reference to 'CURRENT_DATE'; a rule has no clock; write " +
			"timestamp('2026-03-01T06:00:00Z')",
	},
	{
		"COUNTIF(value.a, '>1') > 1",
		"column 8: undeclared reference to 'COUNTIF'; use list.filter(i, x) and size, sum or avg of it",
	},
	{
		"date(value.a) - date(value.b) <= 30",
		"column 31: found no matching overload for '_<=_' applied to '(duration, int)'; compare a duration with " +
			"one, such as duration('30d')",
	},
	{"1 == 'a'", "column 3: found no matching overload for '_==_' applied to '(int, string)'"},
	{"[1] != ['a']", "column 5: found no matching overload for '_!=_' applied to '(list(int), list(string))'"},
	{"count && true", "column 1: expected type 'bool' but found 'int'"},
	{"value.a.matches('[')", "column 17: pattern is not a regular expression of RE2: missing closing ]: `[`"},
	{"value.all(z, z.x.all(y, y.all(w, w)))", "column 30: comprehension exceeds nesting limit"},
	{"count == 1 ? 'a' : 2", "column 12: found no matching overload for '_?_:_' applied to '(bool, string, int)'"},
	{"'abc'.substring('x') == 'a'", "column 16: found no matching overload for 'whole number' applied to '(string)'"},
	{"near('a', true, 1)", "column 5: found no matching overload for 'double' applied to '(bool)'"},
	{"value.a > 1 / 0", "column 13: division by zero"},
	{
		"timestamp('2026-13-01') > value.on",
		`column 10: "2026-13-01" is neither a date nor a date-time such as 2026-03-01T06:00:00Z`,
	},
	{"value.for < duration('30')", `column 21: "30" is not a duration such as 90m, 1h30m or 30d`},
	{"'abc'.substring(7) == value.a", "column 16: index out of range: 7"},
	{"true\n&& x > 1", "line 2, column 4: undeclared reference to 'x'"},
}

// newRules returns a compiler with one variable of each kind.
func newRules(tb testing.TB) (*expression.Rules, *cel.Env) {
	tb.Helper()
	env := expression.NewEnv(engine.DefaultLimits(),
		cel.Variable("value", cel.DynType),
		cel.Variable("count", cel.IntType),
		cel.Variable("ratio", cel.DoubleType),
		cel.Variable("row", cel.MapType(cel.StringType, cel.DynType)),
	)
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
