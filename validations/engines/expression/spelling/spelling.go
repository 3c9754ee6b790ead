// Package spelling says rules in the words of CEL that were written in those of other languages, such as Python,
// JavaScript, SQL and spreadsheets.
package spelling

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
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

// phrase is a part of an expression in the words of CEL.
type phrase struct {
	words Words
	// level is that of the loosest operator outside of brackets.
	level int
	// kind is one of those below.
	kind string
	// last is the right side of a comparison that may go on: 0 < x < 9.
	last *phrase
}

// The kinds of phrases that are more than their words: a time or a duration, a time of JavaScript, of which the
// difference is a number of milliseconds, and a set.
const (
	kindSet   = "set"
	kindTime  = "time"
	kindEpoch = "epoch"
)

// speller reads an expression. What it does not understand is lost.
type speller struct {
	env    *cel.Env
	source string
	left   []word
	at     int
	// plain says that members are meant to be members, as in has(x.length).
	plain, lost bool
}

// maxWords bounds what becomes of an expression. Forms repeat their parts.
const maxWords = 2000

// Respell returns an expression in the words of CEL, and whether it was understood. It is for what CEL does not know.
func Respell(env *cel.Env, source string) (Words, bool) {
	s := &speller{env: env, source: source, left: wordsOf(source, 0)}
	// Formulas of spreadsheets begin with it.
	s.accept("=")
	e := s.expression()
	return append(e.words, s.left[0]), !s.lost && s.left[0].text == ""
}

func (s *speller) sees(texts ...string) bool {
	return !s.lost && slices.Contains(texts, strings.ToLower(s.left[0].text))
}

func (s *speller) take() word {
	w := s.left[0]
	if s.at, s.lost = w.at, s.lost || w.text == ""; !s.lost {
		s.left = s.left[1:]
	}
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
		i, err := strconv.Atoi(strings.TrimPrefix(w.text, "$"))
		switch {
		case w.text == "":
		case w.text[0] != '$' || err != nil:
			said.words = append(said.words, word{w.text, s.at})
		case parts[i].level < levelTight:
			said.words = slices.Concat(said.words, []word{{"(", s.at}}, parts[i].words, []word{{")", s.at}})
		default:
			said.words = append(said.words, parts[i].words...)
		}
	}
	s.lost = s.lost || len(said.words) > maxWords
	return said
}

// list puts commas between phrases.
func (s *speller) list(parts ...phrase) phrase {
	all := phrase{level: levelTight}
	for i, part := range parts {
		if i > 0 {
			all.words = append(all.words, word{",", s.at})
		}
		all.words = append(all.words, part.words...)
	}
	return all
}

func one(text string, at int) phrase { return phrase{words: []word{{text, at}}, level: levelTight} }

func (s *speller) expression() phrase {
	e, at := s.binary(levelOr), s.left[0].at
	if !s.accept("?") {
		return e
	}
	yes := s.expression()
	s.expect(":")
	no := s.expression()
	s.at = at
	return s.say("($0 ? $1 : $2)", e, yes, no)
}

func (s *speller) binary(level int) phrase {
	switch {
	case level == levelNot && s.accept("not"):
		return s.say("!$0", s.binary(levelNot))
	case level == levelUnary:
		return s.unary()
	}
	left := s.binary(level + 1)
	for {
		negated := level == levelCompare && s.sees("not") && operations[strings.ToLower(s.left[1].text)].level == level
		if negated {
			s.take()
		}
		name := strings.ToLower(s.left[0].text)
		if s.lost || operations[name].level != level {
			return left
		}
		op := word{operations[name].said, s.take().at}
		if name == "is" && s.accept("not") {
			op.text = "!="
		}
		if left = s.join(left, name, op, s.binary(level+1)); negated {
			left = s.say("!$0", left)
		}
	}
}

// join says an operation with its sides.
func (s *speller) join(left phrase, name string, op word, right phrase) phrase {
	joined := phrase{words: slices.Concat(left.words, []word{op}, right.words), level: operations[name].level}
	switch op.text {
	case "<", "<=", ">", ">=":
		if left.last != nil {
			joined = s.say("($0 && $1)", left, s.join(*left.last, name, op, right))
		}
		joined.last = &right
	case "-":
		joined.kind = kindTime
		if left.kind == kindEpoch && right.kind == kindEpoch {
			return s.say("($0 - $1).getMilliseconds()", left, right)
		}
	case "||":
		// What may be missing: x.y || 0.
		at := len(left.words) - 2
		if left.level == levelTight && at > 0 && left.words[at].text == "." && isLiteral(right) {
			return s.say("(has($0) && $0 != null ? $0 : $1)", left, right)
		}
	}
	switch name {
	case "between":
		s.expect("and")
		return s.say(op.text, left, right, s.binary(levelPlus))
	case "like":
		right = s.inText(right, likePattern)
	}
	if op.text[0] == '$' {
		return s.say(op.text, left, right)
	}
	return joined
}

func isLiteral(of phrase) bool { return len(of.words) == 1 && literal.MatchString(of.words[0].text) }

func (s *speller) unary() phrase {
	switch {
	case s.sees("!", "-"):
		op := s.take()
		return phrase{words: append([]word{op}, s.unary().words...), level: levelUnary}
	case s.accept("not"):
		return s.say("!$0", s.binary(levelNot))
	}
	e := s.primary()
	for {
		switch {
		case s.sees(".", ".?"):
			dot, name := s.take(), s.take()
			if s.sees("(") && dot.text == "." {
				e = s.call(&e, name)
				continue
			}
			e = s.member(e, dot, name)
		case s.accept("["):
			e = s.index(e)
		default:
			return e
		}
	}
}

// member says x.length as the member of an object or the size of anything else, and date(x).year as a function.
func (s *speller) member(of phrase, dot, name word) phrase {
	if form := forms[name.text+"/1"]; form != "" && (of.kind == kindTime || of.kind == kindEpoch) {
		return s.say(form, of)
	}
	if of.kind == kindSet && name.text == "size" {
		return s.say("size($0)", of)
	}
	if !identifier.MatchString(name.text) && !strings.HasPrefix(name.text, "`") {
		s.lost = true
		return of
	}
	isObject := len(of.words) == 1 && slices.ContainsFunc(s.env.Variables(), func(v *decls.VariableDecl) bool {
		return v.Name() == of.words[0].text && v.Type().Kind() == types.MapKind
	})
	if name.text == length && !s.plain && !isObject && !strings.ContainsAny(dot.text+of.words.String(), "?") {
		return s.say("(type(dyn($0)) == map ? dyn($0)."+name.text+" : size($0))", of)
	}
	return s.say("$0"+dot.text+name.text, of)
}

// index says x[i], and x[a:b] as a slice.
func (s *speller) index(of phrase) phrase {
	form, from, to := "$0[$1]", one("0", s.at), phrase{}
	if s.accept("?") {
		form = "$0[?$1]"
	}
	if !s.sees(":") {
		from = s.expression()
	}
	if s.accept(":") {
		form, to = "$0.slice($1, $2)", s.say("size($0)", of)
		if !s.sees("]") {
			to = s.expression()
		}
	}
	s.expect("]")
	return s.say(form, of, s.fromEnd(of, from), s.fromEnd(of, to))
}

// fromEnd says a position that counts from the end of a list or a text.
func (s *speller) fromEnd(of, position phrase) phrase {
	if len(position.words) == 2 && position.words[0].text == "-" && literal.MatchString(position.words[1].text) {
		return s.say("(size($0) "+position.words.String()+")", of)
	}
	return position
}

func (s *speller) primary() phrase {
	w := s.take()
	switch name := strings.ToLower(w.text); {
	case s.lost:
	case brackets[w.text] != "":
		return s.brackets(w.text)
	case w.text == "/":
		return s.pattern(w)
	case literal.MatchString(w.text):
		return one(w.text, w.at)
	case name == "new" && identifier.MatchString(s.left[0].text):
		e := s.primary()
		if e.kind == kindTime {
			e.kind = kindEpoch
		}
		return e
	case s.sees("("):
		return s.call(nil, w)
	case identifier.MatchString(w.text):
		return one(cmp.Or(constants[name], w.text), w.at)
	}
	s.lost = true
	return phrase{}
}

// brackets says (x), and (x, y) and {x, y} as lists.
func (s *speller) brackets(open string) phrase {
	var items []phrase
	loop := false
	for !s.lost && !s.sees(brackets[open]) {
		e := s.expression()
		if loop = s.sees("for"); loop {
			e = s.loop("map", e)
		}
		if items = append(items, e); !s.accept(",") {
			break
		}
	}
	s.expect(brackets[open])
	if len(items) == 1 && open == "(" {
		items[0].words = slices.Concat([]word{{"(", s.at}}, items[0].words, []word{{")", s.at}})
		return phrase{words: items[0].words, level: levelTight, kind: items[0].kind}
	}
	list := s.list(items...)
	if !loop {
		list = s.say("[$0]", list)
	}
	if open == "{" {
		// What is empty may be an object. Sets are the same in any order.
		s.lost = s.lost || len(items) == 0
		list = s.say(forms["set/1"], list)
	}
	return list
}

// names reads l or l, n, perhaps in brackets, if a word comes after them.
func (s *speller) names(after string) []phrase {
	var names []phrase
	open, i := s.sees("("), 0
	if open {
		i++
	}
	for ; !s.lost && identifier.MatchString(s.left[i].text); i++ {
		names = append(names, one(s.left[i].text, s.left[i].at))
		i++
		if s.left[i].text != "," {
			break
		}
	}
	if open && s.left[i].text == ")" {
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
	names, form := s.names("in"), "$0."+kind+"($1, $2)"
	if s.lost = s.lost || len(names) == 0; s.lost {
		return phrase{}
	}
	parts := []phrase{s.binary(levelOr), s.list(names...), body}
	if s.accept("if") {
		parts = append(parts, s.binary(levelOr))
		form = conditional[kind]
	}
	switch {
	case s.sees("for"):
		if parts[2] = s.loop(kind, body); kind == "map" {
			form += ".flatten()"
		}
	case len(names) == 2:
		form = strings.Replace(form, ".map", ".transformList", 1)
	}
	return s.say(form, parts...)
}
