package expression

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
)

// The levels of operators, the loosest first.
const (
	levelOr = iota + 1
	levelAnd
	levelNot
	levelCompare
	levelPlus
	levelTimes
	levelUnary
	levelTight
)

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
	"contains": {levelCompare, "$0.contains($1)"}, "startswith": {levelCompare, "$0.startsWith($1)"},
	"endswith": {levelCompare, "$0.endsWith($1)"}, "like": {levelCompare, "$0.matches($1)"},
	"between": {levelCompare, "($0 >= $1 && $0 <= $2)"},
	"+":       {levelPlus, "+"}, "-": {levelPlus, "-"},
	"*": {levelTimes, "*"}, "/": {levelTimes, "/"}, "%": {levelTimes, "%"},
}

// constants are the names of values, in lower case.
var constants = map[string]string{
	"true": "true", "false": "false", "null": "null", "none": "null", "nil": "null", "undefined": "null",
}

// spellings are the names of functions in other languages, in lower case, for those that rules have.
var spellings = map[string]string{
	"len": "size", "length": "size", "count": "size", "average": "avg", "getday": "getDayOfWeek",
	"date": "timestamp", "datetime": "timestamp", "fromisoformat": "timestamp", "total_seconds": "getSeconds",
	"upper": "upperAscii", "touppercase": "upperAscii", "lower": "lowerAscii", "tolowercase": "lowerAscii",
	"strip": "trim", "includes": "contains", "str": "string", "tostring": "string", "float": "double",
	"number": "double", "value": "double", "parsefloat": "double", "parseint": "int", "integer": "int",
	"ceiling": "ceil", "sorted": "sort", "set": "distinct", "unique": "distinct", "every": "all", "some": "exists",
	"any": "exists", "match": "matches", "search": "matches", "regexmatch": "matches", "regexp_like": "matches",
}

// forms are what CEL has in place of a function of other languages with so many arguments, of which what stands before
// the dot is the first.
var forms = map[string]string{
	"if/3": "($0 ? $1 : $2)", "not/1": "!$0", "exact/2": "($0 == $1)", "isblank/1": "($0 == null)",
	"all/1": "$0.all(it, it)", "any/1": "$0.exists(it, it)", "find/3": "$0.filter($1, $2)[0]", "at/2": "$0[$1]",
	"get/2": "$0[?$1].orValue(null)", "get/3": "$0[?$1].orValue($2)",
	"slice/2": "$0.slice($1, size($0))", "left/2": "$0.slice(0, $1)", "mid/3": "$0.slice($1 - 1, $1 - 1 + $2)",
	"right/2": "$0.slice(size($0) - $1, size($0))", "enumerate/1": "$0", "items/1": "$0", "list/1": "$0",
	"year/1": "$0.getFullYear()", "month/1": "($0.getMonth() + 1)", "day/1": "$0.getDate()",
	"days/1": "math.floor($0.getHours() / 24.0)", "test/2": "$1.matches($0)", "re.search/2": "$1.matches($0)",
	"re.match/2": "$1.matches($0)", "re.fullmatch/2": "$1.matches($0)", "isinteger/1": "($0 % 1 == 0)",
}

// anchored are the functions whose patterns begin, and end, where the text does.
var anchored = map[string][2]string{"re.match/2": {"^(?:", ")"}, "re.fullmatch/2": {"^(?:", ")$"}}

// namespaces are the names that other languages have before the dots of functions.
var namespaces = []string{"math", "np", "numpy", "statistics", "datetime", "re", "_", "number", "object", "array"}

// columnar are the functions that take the members of all elements of a list: sum(lines.amount).
var columnar = []string{"sum", "min", "max", "avg", "mean", "distinct", "sort"}

var (
	identifier = regexp.MustCompile(`^[\pL_][\pL\w]*$`)
	plainText  = regexp.MustCompile(`^(r?)(['"])([^'"]*)['"] $`)
	literal    = regexp.MustCompile("^(?:[.\\d`'\"]|[rRbB]{1,2}['\"])")
	likePart   = regexp.MustCompile(`\[[^\]]+\]|.`)
	javaRegex  = regexp.MustCompile(`^/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+)/([a-z]*)`)
)

// phrase is a part of an expression in the words of CEL.
type phrase struct {
	words []word
	// level is that of the loosest operator outside of brackets.
	level int
	// time says that it is a time or a duration, epoch that its differences are milliseconds, optional that it may be
	// missing, loop that it is a list of its own.
	time, epoch, optional, loop bool
	// last is the right side of a comparison that may go on: 0 < x < 9.
	last *phrase
}

// speller reads an expression as people write it who know Python, JavaScript, SQL or spreadsheets, and says it in the
// words of CEL. It is asked where CEL does not understand. What it does not understand either is lost.
type speller struct {
	env    *cel.Env
	source string
	left   []word
	at     int
	plain  bool
	lost   bool
}

// respell returns an expression in the words of CEL.
func respell(env *cel.Env, source string) ([]word, bool) {
	s := &speller{env: env, source: source, left: wordsOf(source, 0)}
	e := s.expression()
	return append(e.words, s.left[0]), !s.lost && s.left[0].text == ""
}

func (s *speller) sees(texts ...string) bool {
	return !s.lost && slices.Contains(texts, strings.ToLower(s.left[0].text))
}

func (s *speller) take() word {
	w := s.left[0]
	if s.at = w.at; w.text == "" {
		s.lost = true
		return w
	}
	s.left = s.left[1:]
	return w
}

func (s *speller) accept(text string) bool {
	found := s.sees(text)
	if found {
		s.take()
	}
	return found
}

func (s *speller) expect(text string) { s.lost = !s.accept(text) || s.lost }

// say fills a form with phrases. What comes of it stands alone.
func (s *speller) say(form string, parts ...phrase) phrase {
	said := phrase{level: levelTight}
	for _, w := range wordsOf(form, 0) {
		if i, err := strconv.Atoi(strings.TrimPrefix(w.text, "$")); err == nil && w.text[0] == '$' {
			part := parts[i]
			if part.level < levelTight {
				part.words = slices.Concat([]word{{"(", s.at}}, part.words, []word{{")", s.at}})
			}
			said.words = append(said.words, part.words...)
		} else if w.text != "" {
			said.words = append(said.words, word{w.text, s.at})
		}
	}
	// Forms repeat their parts.
	s.lost = s.lost || len(said.words) > maxExpressionNodes
	return said
}

func one(w word) phrase { return phrase{words: []word{w}, level: levelTight} }

func (s *speller) expression() phrase {
	e := s.binary(levelOr)
	switch {
	case s.accept("?"):
		at, yes := s.at, s.expression()
		s.expect(":")
		no := s.expression()
		s.at = at
		return s.say("($0 ? $1 : $2)", e, yes, no)
	case s.accept("if"):
		condition := s.binary(levelOr)
		s.expect("else")
		return s.say("($0 ? $1 : $2)", condition, e, s.expression())
	}
	return e
}

func (s *speller) binary(level int) phrase {
	if level == levelNot && s.accept("not") {
		return s.say("!$0", s.binary(levelNot))
	}
	if level == levelUnary {
		return s.unary()
	}
	left := s.binary(level + 1)
	for {
		negated := level == levelCompare && s.sees("not") && operations[strings.ToLower(s.left[1].text)].level == level
		if negated {
			s.take()
		}
		name := strings.ToLower(s.left[0].text)
		found, known := operations[name]
		if s.lost || !known || found.level != level {
			return left
		}
		op := s.take()
		if op.text = found.said; name == "is" && s.accept("not") {
			op.text = "!="
		}
		left = s.join(left, name, op, s.binary(level+1))
		if negated {
			left = s.say("!$0", left)
		}
	}
}

// join says an operation with its sides.
func (s *speller) join(left phrase, name string, op word, right phrase) phrase {
	isOrder := op.text[0] == '<' || op.text[0] == '>'
	switch {
	case name == "between":
		s.expect("and")
		return s.say(op.text, left, right, s.binary(levelPlus))
	case name == "like":
		right.words = s.inText(right.words, func(text string) string {
			return "^" + likePart.ReplaceAllStringFunc(text, func(part string) string {
				if part[0] == '[' {
					return part
				}
				return strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(part))
			}) + "$"
		})
		return s.say(op.text, left, right)
	case op.text[0] == '$':
		return s.say(op.text, left, right)
	case op.text == "-" && left.epoch && right.epoch:
		return s.say("($0 - $1).getMilliseconds()", left, right)
	case isOrder && left.last != nil:
		both := s.say("($0 && $1)", left, s.join(*left.last, name, op, right))
		both.last = &right
		return both
	}
	joined := phrase{words: slices.Concat(left.words, []word{op}, right.words), level: operations[name].level}
	joined.time = op.text == "-"
	if isOrder {
		joined.last = &right
	}
	return joined
}

// inText changes the content of a text without escapes.
func (s *speller) inText(words []word, change func(text string) string) []word {
	found := plainText.FindStringSubmatch(textOfWords(words))
	if found == nil || found[1] == "" && strings.Contains(found[3], `\`) {
		s.lost = true
		return words
	}
	return []word{{"r" + found[2] + change(found[3]) + found[2], words[0].at}}
}

func (s *speller) unary() phrase {
	switch {
	case s.sees("!", "-"):
		op := s.take()
		return phrase{words: slices.Concat([]word{op}, s.unary().words), level: levelUnary}
	case s.accept("not"):
		return s.say("!$0", s.binary(levelNot))
	}
	e := s.primary()
	for {
		switch {
		case s.sees(".", ".?"):
			dot, name := s.take(), s.take()
			switch {
			case s.sees("(") && dot.text == ".":
				e = s.call(&e, name)
			default:
				e = s.member(e, dot, name)
			}
		case s.accept("["):
			e = s.index(e)
		default:
			return e
		}
	}
}

// member says x.length as the member of an object or the size of anything else, and date(x).year as a function.
func (s *speller) member(of phrase, dot, name word) phrase {
	switch form := forms[name.text+"/1"]; {
	case of.time && form != "":
		return s.say(form, of)
	case IsSize(name.text) && dot.text == "." && !s.plain && !of.optional:
		return s.say(memberOrSize+"($0, '"+name.text+"')", of)
	}
	selected := phrase{words: slices.Concat(s.say("$0", of).words, []word{dot, name}), level: levelTight}
	selected.optional = of.optional || dot.text == ".?"
	return selected
}

// index says x[i], and x[a:b] as a slice.
func (s *speller) index(of phrase) phrase {
	from, to := s.say("0"), s.say("size($0)", of)
	optional := s.accept("?")
	if !s.sees(":") {
		from = s.expression()
	}
	form := "$0[$1]"
	if optional {
		form = "$0[?$1]"
	}
	if s.accept(":") {
		form = "$0.slice($1, $2)"
		if !s.sees("]") {
			to = s.expression()
		}
	}
	s.expect("]")
	said := s.say(form, of, s.fromEnd(of, from), s.fromEnd(of, to))
	said.optional = optional
	return said
}

// fromEnd says a position that counts from the end of a list or a text.
func (s *speller) fromEnd(of, position phrase) phrase {
	if len(position.words) == 2 && position.words[0].text == "-" && literal.MatchString(position.words[1].text) {
		return s.say("(size($0) - $1)", of, one(position.words[1]))
	}
	return position
}

func (s *speller) primary() phrase {
	w := s.take()
	switch name := strings.ToLower(w.text); {
	case s.lost:
	case w.text == "(" || w.text == "[" || w.text == "{":
		return s.brackets(w)
	case w.text == "/":
		return s.pattern(w)
	case literal.MatchString(w.text):
		return one(w)
	case name == "new" && identifier.MatchString(s.left[0].text):
		e := s.primary()
		e.epoch = e.time
		return e
	case name == "if" && !s.sees("("):
		condition := s.binary(levelOr)
		s.expect("then")
		yes, no := s.expression(), s.say("true")
		if s.accept("else") {
			no = s.expression()
		}
		return s.say("($0 ? $1 : $2)", condition, yes, no)
	case (name == "and" || name == "or") && s.accept("("):
		return s.say("($0)", s.list(operations[name].said, s.items(")")))
	case s.sees("("):
		return s.call(nil, w)
	case constants[name] != "":
		return one(word{constants[name], w.at})
	case identifier.MatchString(w.text):
		return one(w)
	}
	s.lost = true
	return phrase{}
}

// pattern reads a regular expression of JavaScript.
func (s *speller) pattern(from word) phrase {
	found := javaRegex.FindStringSubmatch(s.source[from.at:])
	if found == nil {
		s.lost = true
		return phrase{}
	}
	s.left = wordsOf(s.source, from.at+len(found[0]))
	if found[2] != "" {
		found[1] = "(?" + strings.Trim(found[2], "gu") + ":" + found[1] + ")"
	}
	return one(word{strconv.Quote(found[1]), from.at})
}

// items reads phrases up to a closing bracket.
func (s *speller) items(end string) []phrase {
	var items []phrase
	for !s.lost && !s.sees(end) {
		e := s.expression()
		if s.sees("for") {
			e = s.loop("map", e)
		}
		if end == "}" && s.accept(":") {
			e = phrase{words: slices.Concat(e.words, []word{{":", s.at}}, s.expression().words), level: levelTight}
		}
		items = append(items, e)
		if !s.accept(",") {
			break
		}
	}
	s.expect(end)
	return items
}

// brackets says (x), and (x, y) and {x, y} as lists.
func (s *speller) brackets(open word) phrase {
	end := map[string]string{"(": ")", "[": "]", "{": "}"}[open.text]
	items := s.items(end)
	isMap := len(items) == 0 || slices.ContainsFunc(items[0].words, func(w word) bool { return w.text == ":" })
	switch {
	case len(items) == 1 && items[0].loop:
		return items[0]
	case open.text == "(" && len(items) == 1:
		e := s.say("$0", items[0])
		e.time = items[0].time
		return e
	case open.text == "(" || open.text == "{" && !isMap:
		open.text, end = "[", "]"
	}
	return phrase{words: slices.Concat([]word{open}, s.list(",", items).words, []word{{end, s.at}}), level: levelTight}
}

// names reads l or l, n, perhaps in brackets, if a word comes after them.
func (s *speller) names(after string) []phrase {
	var names []phrase
	i := 0
	if s.sees("(") {
		i = 1
	}
	for !s.lost && identifier.MatchString(s.left[i].text) {
		names = append(names, one(s.left[i]))
		if i++; s.left[i].text != "," {
			break
		}
		i++
	}
	if s.sees("(") && s.left[i].text == ")" {
		i++
	}
	if len(names) == 0 || s.left[i].text != after {
		return nil
	}
	s.at, s.left = s.left[i].at, s.left[i+1:]
	return names
}

// loop reads the rest of x for v in list if y.
func (s *speller) loop(kind string, body phrase) phrase {
	s.expect("for")
	names := s.names("in")
	if s.lost = s.lost || len(names) == 0 || len(names) > 2; s.lost {
		return phrase{}
	}
	list := s.binary(levelOr)
	for s.accept("if") {
		s.lost = s.lost || len(names) == 2
		list = s.say("$0.filter($1, $2)", list, names[0], s.binary(levelOr))
	}
	flatten := ""
	if s.sees("for") {
		body = s.loop(kind, body)
		if kind == "map" {
			flatten = ".flatten()"
		}
	}
	if len(names) == 2 && kind == "map" {
		kind = "transformList"
	}
	said := s.say("$0."+kind+"($1)"+flatten, list, s.list(",", append(names, body)))
	said.loop = true
	return said
}

// list puts a word between phrases.
func (s *speller) list(between string, parts []phrase) phrase {
	all := phrase{level: levelTight}
	for i, part := range parts {
		if i > 0 {
			all.words = append(all.words, word{between, s.at})
		}
		if between != "," {
			part = s.say("$0", part)
		}
		all.words = append(all.words, part.words...)
	}
	return all
}
