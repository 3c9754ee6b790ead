package spelling

import "regexp"

// operation is how CEL says an operator: a word between its sides, or a form with them as $0 and $1.
type operation struct {
	level int
	said  string
}

// operations are the operators of CEL and of other languages, in lower case.
var operations = map[string]operation{
	"||": {levelOr, "||"}, "or": {levelOr, "||"}, "&&": {levelAnd, "&&"}, "and": {levelAnd, "&&"},
	"==": {levelCompare, "=="}, "=": {levelCompare, "=="}, "===": {levelCompare, "=="}, "is": {levelCompare, "=="},
	"!=": {levelCompare, "!="}, "!==": {levelCompare, "!="}, "<>": {levelCompare, "!="}, "in": {levelCompare, "in"},
	"<": {levelCompare, "<"}, "<=": {levelCompare, "<="}, ">": {levelCompare, ">"}, ">=": {levelCompare, ">="},
	"=~": {levelCompare, "$0.matches($1)"}, "matches": {levelCompare, "$0.matches($1)"},
	"regexp":   {levelCompare, "$0.matches($1)"},
	"contains": {levelCompare, "$0.contains($1)"}, "startswith": {levelCompare, "$0.startsWith($1)"},
	"endswith": {levelCompare, "$0.endsWith($1)"},
	"like":     {levelCompare, "$0.matches($1)"}, "between": {levelCompare, "($0 >= $1 && $0 <= $2)"},
	"+": {levelPlus, "+"}, "-": {levelPlus, "-"},
	"*": {levelTimes, "*"}, "/": {levelTimes, "/"}, "%": {levelTimes, "%"},
}

// constants are the names of values, in lower case.
var constants = map[string]string{
	"true": "true", "false": "false", "null": "null", "none": "null", "nil": "null", "undefined": "null",
}

// spellings are the names of functions in other languages, in lower case, for those that rules have.
var spellings = map[string]string{
	"len": "size", "length": "size", "char_length": "size", "count": "size", "average": "avg", "getday": "getDayOfWeek",
	"date": "timestamp", "datetime": "timestamp", "fromisoformat": "timestamp", "total_seconds": "getSeconds",
	"upper": "upperAscii", "touppercase": "upperAscii", "lower": "lowerAscii", "tolowercase": "lowerAscii",
	"strip": "trim", "includes": "contains", "str": "string", "tostring": "string", "float": "double",
	"number": "double", "parsefloat": "double", "parseint": "int", "integer": "int",
	"ceiling": "ceil", "sorted": "sort", "unique": "distinct", "every": "all", "some": "exists",
	"any": "exists", "match": "matches", "regexmatch": "matches", "regexp_like": "matches",
}

// forms are what CEL has in place of a function of other languages with so many arguments, of which what stands before
// the dot is the first.
var forms = map[string]string{
	"if/3": "($0 ? $1 : $2)", "exact/2": "($0 == $1)", "isblank/1": "($0 == null)",
	"set/1": "$0.distinct().sort()", "isinteger/1": "($0 % 1 == 0)",
	"and/2": "($0 && $1)", "and/3": "($0 && $1 && $2)", "and/4": "($0 && $1 && $2 && $3)",
	"or/2": "($0 || $1)", "or/3": "($0 || $1 || $2)", "or/4": "($0 || $1 || $2 || $3)",
	"all/1": "$0.all(it, it)", "any/1": "$0.exists(it, it)", "at/2": "$0[$1]",
	"get/2": "($1 in $0 ? $0[$1] : null)", "get/3": "($1 in $0 ? $0[$1] : $2)", "keys/1": "$0.map(it, it)",
	"slice/2": "$0.slice($1, size($0))", "left/2": "$0.slice(0, $1)", "mid/3": "$0.slice($1 - 1, $1 - 1 + $2)",
	"right/2": "$0.slice(size($0) - $1, size($0))", "enumerate/1": "$0", "items/1": "$0", "list/1": "$0",
	"year/1": "$0.getFullYear()", "month/1": "($0.getMonth() + 1)", "day/1": "$0.getDate()",
	"days/1": "math.floor($0.getHours() / 24.0)", "test/2": "$1.matches($0)", "re.search/2": "$1.matches($0)",
	"re.match/2": "$1.matches($0)", "re.fullmatch/2": "$1.matches($0)",
}

// anchors are around the patterns of functions that look at the beginning of a text or at all of it.
var anchors = map[string]string{"re.match/2": ")", "re.fullmatch/2": ")$"}

// namespaces are the names that other languages have before the dots of functions.
var namespaces = []string{"Math", "np", "numpy", "statistics", "datetime", "Number", "Object"}

// conditional are loops with a condition.
var conditional = map[string]string{
	"map": "$0.map($1, $3, $2)", "exists": "$0.exists($1, $3 && $2)", "all": "$0.all($1, !$3 || $2)",
}

var brackets = map[string]string{"(": ")", "[": "]", "{": "}"}

var (
	identifier = regexp.MustCompile(`^[\pL_][\pL\w]*$`)
	literal    = regexp.MustCompile("^(?:[.\\d`'\"]|[rRbB]{1,2}['\"])")
)
