package xpath

import (
	"math"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// function is one of the core library.
type function struct {
	result      Type
	least, most int
	// ofNodes says that the first argument must be a node set.
	ofNodes bool
	call    func(s *Scope, n *node, at focus) Value
}

// many is the number of arguments of a function that takes any.
const many = math.MaxInt

//nolint:gochecknoglobals // It is a constant of a type for which Go has none.
var functions map[string]function

//nolint:gochecknoinits // The table refers to evaluation, which refers to the table.
func init() {
	functions = map[string]function{
		"last":     {Number, 0, 0, false, last},
		"position": {Number, 0, 0, false, position},
		"current": {NodeSet, 0, 0, false, func(s *Scope, _ *node, _ focus) Value {
			return nodesValue([]*Node{s.current})
		}},
		"count": {Number, 1, 1, true, func(s *Scope, n *node, at focus) Value {
			return numberValue(float64(len(s.eval(n.kids[0], at).nodes)))
		}},
		"sum":              {Number, 1, 1, true, sum},
		"name":             {String, 0, 1, true, nameOf((*Node).written)},
		"local-name":       {String, 0, 1, true, nameOf((*Node).local)},
		"namespace-uri":    {String, 0, 1, true, nameOf((*Node).namespace)},
		"string":           {String, 0, 1, false, ofText(textValue)},
		"normalize-space":  {String, 0, 1, false, ofText(normalizeSpace)},
		"string-length":    {Number, 0, 1, false, ofText(stringLength)},
		"number":           {Number, 0, 1, false, number},
		"floor":            {Number, 1, 1, false, ofNumber(math.Floor)},
		"ceiling":          {Number, 1, 1, false, ofNumber(math.Ceil)},
		"round":            {Number, 1, 1, false, ofNumber(round)},
		"boolean":          {Boolean, 1, 1, false, boolean},
		"not":              {Boolean, 1, 1, false, not},
		"true":             {Boolean, 0, 0, false, func(*Scope, *node, focus) Value { return truthValue(true) }},
		"false":            {Boolean, 0, 0, false, func(*Scope, *node, focus) Value { return truthValue(false) }},
		"lang":             {Boolean, 1, 1, false, lang},
		"concat":           {String, 2, many, false, concat},
		"substring":        {String, 2, 3, false, substring},
		"translate":        {String, 3, 3, false, translate},
		"starts-with":      {Boolean, 2, 2, false, ofTexts(startsWith)},
		"contains":         {Boolean, 2, 2, false, ofTexts(contains)},
		"substring-before": {String, 2, 2, false, ofTexts(substringBefore)},
		"substring-after":  {String, 2, 2, false, ofTexts(substringAfter)},
	}
}

// check reports whether a call has the arguments that the function takes.
func (f function) check(n *node) *Mistake {
	got := len(n.kids)
	switch {
	case got < f.least:
		return mistake("%s() has %s, at least %d needed",
			n.name, findings.Plural(got, "argument", "arguments"), f.least)
	case got > f.most:
		return mistake("%s() has %s, at most %d allowed", n.name, findings.Plural(got, "argument", "arguments"), f.most)
	case f.ofNodes && got > 0 && n.kids[0].typ != NodeSet:
		return mistake("%s() takes a node set, not a %s", n.name, n.kids[0].typ)
	default:
		return nil
	}
}

// text evaluates an argument; without one it takes the node itself.
func (s *Scope) text(n *node, i int, at focus) string {
	if i >= len(n.kids) {
		return s.work.text(at.node)
	}
	return s.work.textOf(s.eval(n.kids[i], at))
}

func (s *Scope) number(n *node, i int, at focus) float64 {
	return s.work.numberOf(s.eval(n.kids[i], at))
}

func position(_ *Scope, _ *node, at focus) Value {
	return numberValue(float64(at.position))
}

func last(_ *Scope, _ *node, at focus) Value {
	return numberValue(float64(at.size))
}

func sum(s *Scope, n *node, at focus) Value {
	total := 0.0
	for _, one := range s.eval(n.kids[0], at).nodes {
		if !s.work.Spend(1) {
			break
		}
		total += parseNumber(s.work.text(one))
	}
	return numberValue(total)
}

func nameOf(part func(n *Node) string) func(s *Scope, n *node, at focus) Value {
	return func(s *Scope, n *node, at focus) Value {
		if len(n.kids) == 0 {
			return textValue(part(at.node))
		}
		nodes := s.eval(n.kids[0], at).nodes
		if len(nodes) == 0 {
			return textValue("")
		}
		return textValue(part(nodes[0]))
	}
}

func ofText(f func(text string) Value) func(s *Scope, n *node, at focus) Value {
	return func(s *Scope, n *node, at focus) Value {
		text := s.text(n, 0, at)
		s.work.Spend(len(text))
		return f(text)
	}
}

func ofTexts(f func(a, b string) Value) func(s *Scope, n *node, at focus) Value {
	return func(s *Scope, n *node, at focus) Value {
		a, b := s.text(n, 0, at), s.text(n, 1, at)
		s.work.Spend(len(a) + len(b))
		return f(a, b)
	}
}

func ofNumber(f func(number float64) float64) func(s *Scope, n *node, at focus) Value {
	return func(s *Scope, n *node, at focus) Value {
		return numberValue(f(s.number(n, 0, at)))
	}
}

func normalizeSpace(text string) Value {
	return textValue(strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return strings.ContainsRune(space, r)
	}), " "))
}

func number(s *Scope, n *node, at focus) Value {
	if len(n.kids) == 0 {
		return numberValue(parseNumber(s.work.text(at.node)))
	}
	return numberValue(s.number(n, 0, at))
}

// round rounds halves towards positive infinity.
func round(number float64) float64 {
	if floor := math.Floor(number); number-floor < 0.5 {
		return floor
	}
	return math.Ceil(number)
}

func boolean(s *Scope, n *node, at focus) Value {
	return truthValue(s.eval(n.kids[0], at).isTrue())
}

func not(s *Scope, n *node, at focus) Value {
	return truthValue(!s.eval(n.kids[0], at).isTrue())
}

// lang reports whether the node is in a language by the nearest xml:lang.
func lang(s *Scope, n *node, at focus) Value {
	wanted := strings.ToLower(s.text(n, 0, at))
	for e := at.node; e != nil && s.work.Spend(1+len(e.attributes)); e = e.Parent {
		for _, a := range e.attributes {
			if a.written() != "xml:lang" {
				continue
			}
			has := strings.ToLower(a.value)
			return truthValue(has == wanted || strings.HasPrefix(has, wanted+"-"))
		}
	}
	return truthValue(false)
}
