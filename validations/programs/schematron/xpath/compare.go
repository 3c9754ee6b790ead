package xpath

import (
	"math"
)

// compare is what XPath 1 does for "=", "!=", "<", "<=", ">" and ">=". A node set compares true where one of its nodes
// does, so that the extremes of a set are enough, and no comparison takes quadratic time.
func (s *Scope) compare(operator string, left, right Value) bool {
	equality := operator == "=" || operator == "!="
	switch {
	case left.typ == NodeSet && right.typ == NodeSet:
		if equality {
			return s.compareSets(operator, left.nodes, right.nodes)
		}
		return compareRanges(operator, s.rangeOf(left), s.rangeOf(right))
	case left.typ == Boolean || right.typ == Boolean:
		return s.compareBooleans(operator, asBoolean(left), asBoolean(right))
	case left.typ == NodeSet:
		return s.compareNodes(operator, left.nodes, right, false)
	case right.typ == NodeSet:
		return s.compareNodes(operator, right.nodes, left, true)
	case !equality, left.typ == Number, right.typ == Number:
		return compareNumbers(operator, s.work.numberOf(left), s.work.numberOf(right))
	default:
		return (left.text == right.text) == (operator == "=")
	}
}

func (s *Scope) compareBooleans(operator string, left, right Value) bool {
	if operator == "=" || operator == "!=" {
		return (left.isTrue() == right.isTrue()) == (operator == "=")
	}
	return compareNumbers(operator, s.work.numberOf(left), s.work.numberOf(right))
}

// asBoolean turns a node set that is compared with a boolean into one.
func asBoolean(v Value) Value {
	if v.typ == NodeSet {
		return truthValue(v.isTrue())
	}
	return v
}

func compareNumbers(operator string, a, b float64) bool {
	switch operator {
	case "=":
		return a == b
	case "!=":
		return a != b
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	default:
		return a >= b
	}
}

// compareNodes compares each node of a set with a text or a number, which swapped says is on the left.
func (s *Scope) compareNodes(operator string, nodes []*Node, with Value, swapped bool) bool {
	asTexts := with.typ == String && (operator == "=" || operator == "!=")
	number := s.work.numberOf(with)
	for _, n := range nodes {
		if !s.work.Spend(1) {
			return false
		}
		text := s.work.text(n)
		if asTexts {
			if (text == with.text) == (operator == "=") {
				return true
			}
			continue
		}
		a, b := parseNumber(text), number
		if swapped {
			a, b = b, a
		}
		if compareNumbers(operator, a, b) {
			return true
		}
	}
	return false
}

// compareSets reports whether two sets have nodes with equal texts, or with different ones.
func (s *Scope) compareSets(operator string, left, right []*Node) bool {
	if len(left) == 0 || len(right) == 0 {
		return false
	}
	texts := map[string]bool{}
	for _, n := range left {
		if !s.work.Spend(1) {
			return false
		}
		texts[s.work.text(n)] = true
	}
	for _, n := range right {
		if !s.work.Spend(1) {
			return false
		}
		known := texts[s.work.text(n)]
		if operator == "=" && known || operator == "!=" && (!known || len(texts) > 1) {
			return true
		}
	}
	return false
}

// span is the least and the greatest number of a set.
type span struct {
	least, most float64
}

// rangeOf ignores NaN, because it compares false with everything. A set without numbers is a span of NaN.
func (s *Scope) rangeOf(v Value) span {
	found := span{math.NaN(), math.NaN()}
	for _, n := range v.nodes {
		if !s.work.Spend(1) {
			break
		}
		number := parseNumber(s.work.text(n))
		if math.IsNaN(number) {
			continue
		}
		if math.IsNaN(found.least) {
			found = span{number, number}
		}
		found = span{min(found.least, number), max(found.most, number)}
	}
	return found
}

func compareRanges(operator string, left, right span) bool {
	if operator == "<" || operator == "<=" {
		return compareNumbers(operator, left.least, right.most)
	}
	return compareNumbers(operator, left.most, right.least)
}
