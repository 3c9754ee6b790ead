package expression

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// foreign are names of other languages, with what to write instead. A dollar sign stands for the name.
var foreign = []struct{ names, words string }{
	{`len|length|count|Count|LEN|COUNT`, `there is no function $; use size(x)`},
	{
		`now|today|NOW|TODAY|Date|date|datetime`,
		`there is no $: a rule has no clock; write timestamp('2026-03-01T06:00:00Z')`,
	},
	{`None|nil|NULL|Null|undefined|NaN`, `there is no value $; use null`},
	{`True|TRUE|False|FALSE`, `there is no $; use true or false`},
	{`toLowerCase|lower|lowercase|downcase|LOWER`, `there is no function $; use x.lowerAscii()`},
	{`toUpperCase|upper|uppercase|upcase|UPPER`, `there is no function $; use x.upperAscii()`},
	{`strip|trimmed|TRIM`, `there is no function $; use x.trim()`},
	{`substr|mid|left|right|SUBSTR`, `there is no function $; use x.substring(0, 3)`},
	{`includes|has_value|include`, `there is no function $; use x.contains('a') for a text, 'a' in x for a list`},
	{`starts_with|startswith|beginsWith`, `there is no function $; use x.startsWith('a')`},
	{`ends_with|endswith`, `there is no function $; use x.endsWith('a')`},
	{`match|test|regex|regexp|re`, `there is no function $; use x.matches('^[a-z]+')`},
	{`every|forall|All|forEach`, `there is no function $; use x.all(i, i > 1)`},
	{`some|any|Any`, `there is no function $; use x.exists(i, i > 1)`},
	{`none`, `there is no function $; use !x.exists(i, i > 1)`},
	{`find|where|select|Where|Select`, `there is no function $; use x.filter(i, i > 1)`},
	{`reduce|fold`, `there is no function $; use sum(x), min(x), max(x) or avg(x)`},
	{`unique|uniq|set|Set`, `there is no function $; use x.distinct()`},
	{`sorted|order_by|orderBy`, `there is no function $; use x.sort() or x.sortBy(i, i.name)`},
	{`range`, `there is no function $; use lists.range(3)`},
	{`first|last|at|get`, `there is no function $; use x[0], or x[size(x) - 1] for the last one`},
	{`mean|average|AVG`, `there is no function $; use avg(x)`},
	{`median`, `there is no function $; use percentile(x, 50)`},
	{
		`abs|ceil|floor|round|trunc|sqrt|sign|isNaN|fabs|ABS|ROUND|CEILING|FLOOR|SQRT`,
		`there is no function $; use one of math, as in math.abs(x)`,
	},
	{`Math|np|numpy`, `there is no $; the functions are math.abs, math.round, math.floor, math.ceil and others`},
	{`pow|POWER`, `there is no function $; multiply, as in x * x`},
	{`exp|log|log10|sin|cos`, `there is no function $`},
	{`float|Number|parseFloat|number|decimal|to_number`, `there is no function $; use double(x)`},
	{`parseInt|integer|Int|to_int`, `there is no function $; use int(x)`},
	{`str|String|toString|to_string|text`, `there is no function $; use string(x)`},
	{`typeof|isinstance|type_of|is_a`, `there is no function $; use type(x) == string`},
	{`isEmpty|is_empty|empty|isBlank|blank`, `there is no function $; use size(x) == 0`},
	{
		`isNull|is_null|exists_key|defined|isset|is_defined`,
		`there is no function $; use x == null, or !has(x.name) where the member may be missing`,
	},
	{
		`year|getYear|month|day|weekday|hour|minute`,
		`there is no function $; use x.getFullYear(), x.getMonth(), x.getDate(), x.getDayOfWeek(), ` +
			`x.getHours() or x.getMinutes()`,
	},
	{`coalesce|ifnull|nvl|default|ifNull`, `there is no function $; write has(x.name) ? x.name : 0.0`},
	{`AND|OR|NOT`, `there is no function $; write a && b, a || b, !a`},
	{`keys|entries|items`, `there is no function $; the names of an object are x.map(k, k)`},
	{`iif|iff|IF|cond`, `there is no function $; write condition ? a : b`},
	{`concat|CONCAT`, `there is no function $; use x + y`},
	{
		`self|this|it|item|root|document|data`,
		`there is no variable $; value is the value at the path, doc the whole document`,
	},
	{
		`all|exists|exists_one|filter|map|sortBy|existsOne`,
		`$ takes a variable and an expression with it, as in x.$(i, i > 1)`,
	},
	{`transformList|transformMap`, `$ takes two variables and an expression, as in x.$(i, v, v)`},
	{`has`, `$ takes one member, as in has(x.name)`},
	{`cel|bind`, `write cel.bind(name, value, expression)`},
}

// typeMistakes are CEL's messages on operators that do not take their values.
func typeMistakes() []rephrasing {
	return []rephrasing{
		say(
			`found no matching overload for '_(%)_' applied to '\((?:double, \S+|\S+, double)\)'`,
			`% takes whole numbers; write int(x) % 2`,
		),
		say(
			`found no matching overload for '_(\S+)_' applied to '\((?:double, int|int, double)\)'`,
			`$1 does not take a decimal and a whole number; use 2.0 instead of 2, or double(x)`,
		),
		say(
			`found no matching overload for '_\+_' applied to '\((?:string, \S+|\S+, string)\)'`,
			`+ joins texts with texts; use string(x) for the other value`,
		),
		say(
			`found no matching overload for '_\?_:_' applied to '\((?:bool|dyn), (.+), (.+)\)'`,
			`both values of condition ? a : b must be of one type, but they are $1 and $2`,
		),
		say(`found no matching overload for '_\?_:_' applied to .*`, `what stands before ? must be true or false`),
		say(
			`found no matching overload for '@in' applied to .*`,
			`"in" needs a list or an object on its right, as in x in [1, 2]`,
		),
		say(
			`found no matching overload for '_(==|!=)_' applied to '\(list\(.*\), list\(.*\)\)'`,
			`the elements of the two lists have different types`,
		),
		say(`found no matching overload for '_\[_\]' applied to '\((.+), .+\)'`, `$1 has no elements`),
		say(`found no matching overload for '(!|-)_' applied to '\((.+)\)'`, `$1 does not take $2`),
		say(`found no matching overload for '_(\S+)_' applied to '\((.+), (.+)\)'`, `$1 does not take $2 and $3`),
		say(
			`expected type 'bool' but found '(.*)'`,
			`a condition must be true or false, but this is $1; compare it, as in x > 0`,
		),
		say(`expected type '(.*)' but found '(.*)'`, `$1 is needed here, but this is $2`),
	}
}

// formMistakes are CEL's messages on the form of parts of an expression.
func formMistakes() []rephrasing {
	return []rephrasing{
		say(`type '(.*)' does not support field selection`, `$1 has no members`),
		say(`reserved identifier: (if|else)`, `there is no "$1"; write condition ? a : b`),
		say(`reserved identifier: (let|var|const)`, `there is no "$1"; write cel.bind(name, value, expression)`),
		say(
			`reserved identifier: (for|while|loop)`,
			`there is no "$1"; write x.all(i, i > 1), x.exists(i, i > 1), x.filter(i, i > 1) or x.map(i, i * `+
				`2.0)`,
		),
		say(`reserved identifier: return`, `leave "return" out: an expression is its result`),
		say(`reserved identifier: function`, `there are no functions of your own; write x.map(i, i * 2.0)`),
		say(`reserved identifier: (.*)`, `"$1" is reserved; write value['$1']`),
		say(`unsupported syntax '\.\?'`, `".?" is for documents only; in a row a missing value is null`),
		say(`cel\.bind\(\) variable names .*`, `the first argument is a name, as in cel.bind(a, x.area, a * a)`),
		say(`duplicate variable name: (.*)`, `the variable $1 is named twice`),
		say(`math\.(\w+)\(\) .*`, `math.$1 takes numbers, as in math.$1(x, 2.0)`),
		say(`index \d+ out of range`, `the text has more places for values than there are values`),
		say(
			`could not parse formatting clause.*`,
			`a place for a value is %s, %d for a whole number or %.2f for a decimal`,
		),
		say(`.*program size.*`, `the pattern is too large`),
		say(`.*bind.*nesting.*|.*nesting.*bind.*`, `at most 10 names can be bound within each other`),
		say(`invalid int literal`, `the whole number is too large; write it with a point, as in 1e20`),
		say(`invalid double literal`, `the number is too large`),
		say(`invalid (?:uint|bytes|string) literal.*`, `this value cannot be read`),
		say(
			`invalid argument to has\(\) macro`,
			`has takes a member, as in has(x.name); write 'a b' in x for other names`,
		),
		say(
			`argument must be a simple name|argument is not an identifier`,
			`the first argument is the name of a variable, as in x.all(i, i > 1)`,
		),
		say(
			`invalid (?:duration|timestamp) argument`,
			`the text is neither a duration such as 90m nor a time such as 2026-03-01T06:00:00Z`,
		),
		say(
			`.*(?:recursion|depth|node count|node limit|expression node).*`,
			`the expression is nested too deeply or has too many parts`,
		),
		say(`.*code point size.*`, `the expression is too long`),
		say(`expected at most two entries in a .*`, `the loop takes a variable and an expression`),
	}
}

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	noOverload = regexp.MustCompile(`^found no matching overload for '(\w[\w.]*)' applied to '(.*)'$`)
	typeNames  = regexp.MustCompile(`type\(\w+\)|list\(\w+\)|map\(\w+, \w+\)|\w+`)
	typesInUse = map[string]string{
		"int": "a whole number", "uint": "a whole number", "double": "a decimal number", "string": "a text",
		"bool": "true or false", "null": "null", "dyn": "a value", "timestamp": "a time", "duration": "a duration",
		"bytes": "bytes",
	}
)

// usage is how functions are called that people call in another way.
var usage = map[string]string{
	"size": "size(x) of a text, a list or an object", "startsWith": "x.startsWith('a')", "endsWith": "x.endsWith('a')",
	"contains": "x.contains('a')", "matches": "x.matches('^[a-z]+$')", "sum": "sum(list)", "min": "min([a, b])",
	"max": "max([a, b])", "avg": "avg(list)", "percentile": "percentile(list, 95)", "each": "each(x)",
	"share": "share(part, whole) with two whole numbers", "percent": "percent(part, whole) with two whole numbers",
	"join": "list.join(', ')", "split": "x.split(',')", "replace": "x.replace('a', 'b')", "trim": "x.trim()",
	"substring": "x.substring(0, 3)", "lowerAscii": "x.lowerAscii()", "upperAscii": "x.upperAscii()",
	"format": "'A %s'.format([x])", "distinct": "list.distinct()", "sort": "list.sort()", "indexOf": "x.indexOf('a')",
	"timestamp": "timestamp('2026-03-01T06:00:00Z')", "duration": "duration('90m')", "lists.range": "lists.range(3)",
	"math.round": "math.round(1.5); a whole number needs no rounding", "slice": "list.slice(0, 3)",
	"int": "int(x) of a number or a text", "double": "double(x) of a number or a text",
}

// meaningMistake explains why an expression that can be read means nothing.
func (c *Rules) meaningMistake(env *cel.Env, code code, at int, message string) (int, string) {
	if match := undeclared.FindStringSubmatch(message); match != nil {
		name := match[1]
		// CEL points at the bracket behind the name of a function.
		if start := at - len([]rune(name)); start >= 0 && string(code.plain[start:at]) == name {
			at = start
		}
		return at, unknownName(env, name)
	}
	if match := noOverload.FindStringSubmatch(message); match != nil {
		name := match[1]
		if start := at - len([]rune(name)); start >= 0 && string(code.plain[start:at]) == name {
			at = start
		}
		if right, known := usage[name]; known {
			return at, name + " does not take these values; write " + right
		}
		return at, name + " does not take " + inWords(strings.Trim(match[2], "()"))
	}
	switch message {
	case "comprehension exceeds nesting limit":
		return at, "loops may be two deep, not three" + c.cheaper()
	case "invalid matches argument":
		return at, c.patternMistake(code, at)
	}
	if words, ok := rephrase(slices.Concat(typeMistakes(), formMistakes()), message, inWords); ok {
		return at, words
	}
	return at, "this part of the expression has no meaning here"
}

// unknownName says what may be meant by a name.
func unknownName(env *cel.Env, name string) string {
	for _, other := range foreign {
		if slices.Contains(strings.Split(other.names, "|"), name) {
			return strings.ReplaceAll(other.words, "$", name)
		}
	}
	names := slices.Collect(maps.Keys(env.Functions()))
	for _, v := range env.Variables() {
		names = append(names, v.Name())
	}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.ContainsAny(n, "@_") })
	slices.Sort(names)
	words := "there is no variable or function " + engine.Clip(name) + " here"
	if likely := engine.Nearest(name, names); likely != "" {
		words += "; did you mean " + likely + "?"
	}
	return words
}

// patternMistake says what is wrong with the pattern at a place.
func (c *Rules) patternMistake(code code, at int) string {
	end := code.endOfText(at)
	if end < 0 {
		return "this is not a regular expression of RE2"
	}
	pattern := strings.Trim(string(code.plain[at:end]), `'"`)
	if _, err := engine.CompilePattern(pattern, c.Limits); err != nil {
		return strings.Replace(err.Error(), "error parsing regexp: ", "", 1)
	}
	return "this is not a regular expression of RE2"
}

// inWords says a list of CEL's types in plain words.
func inWords(text string) string {
	return typeNames.ReplaceAllStringFunc(text, func(name string) string {
		switch {
		case strings.HasPrefix(name, "list("):
			return "a list"
		case strings.HasPrefix(name, "map("):
			return "an object"
		case strings.HasPrefix(name, "type("):
			return "a type"
		}
		if words, known := typesInUse[name]; known {
			return words
		}
		return name
	})
}
