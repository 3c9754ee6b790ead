package xpath

import (
	"math"
	"strconv"
	"strings"
)

// Type is what an expression is evaluated to. XPath 1 knows it before.
type Type uint8

// The types of values.
const (
	NodeSet Type = iota
	String
	Number
	Boolean
)

// String is the name of the type in messages.
func (t Type) String() string {
	return [...]string{"node set", "text", "number", "boolean"}[t]
}

// Value is what an expression is evaluated to.
type Value struct {
	typ Type
	// nodes are in the order of the document.
	nodes  []*Node
	text   string
	number float64
	truth  bool
}

// Size is the memory that a value holds, in bytes.
func (v Value) Size() int {
	const pointer = 8
	return pointer*len(v.nodes) + len(v.text)
}

// Nodes are those of a node set, in the order of the document.
func (v Value) Nodes() []*Node {
	return v.nodes
}

func nodesValue(nodes []*Node) Value   { return Value{typ: NodeSet, nodes: nodes} }
func textValue(text string) Value      { return Value{typ: String, text: text} }
func numberValue(number float64) Value { return Value{typ: Number, number: number} }
func truthValue(truth bool) Value      { return Value{typ: Boolean, truth: truth} }

func (v Value) isTrue() bool {
	switch v.typ {
	case NodeSet:
		return len(v.nodes) > 0
	case String:
		return v.text != ""
	case Number:
		return v.number != 0 && !math.IsNaN(v.number)
	default:
		return v.truth
	}
}

func (w Work) textOf(v Value) string {
	switch v.typ {
	case NodeSet:
		if len(v.nodes) == 0 {
			return ""
		}
		return w.text(v.nodes[0])
	case String:
		return v.text
	case Number:
		return formatNumber(v.number)
	default:
		return strconv.FormatBool(v.truth)
	}
}

func (w Work) numberOf(v Value) float64 {
	switch v.typ {
	case Number:
		return v.number
	case Boolean:
		if v.truth {
			return 1
		}
		return 0
	default:
		return parseNumber(w.textOf(v))
	}
}

// space is what XML calls white space.
const space = " \t\r\n"

// parseNumber reads a number of XPath, which has no exponent and no plus. Other texts are NaN.
func parseNumber(text string) float64 {
	text = strings.Trim(text, space)
	digits := strings.TrimPrefix(text, "-")
	if numberLength(digits) != len(digits) || digits == "" || digits == "." {
		return math.NaN()
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(number, 0) {
		return math.NaN()
	}
	return number
}

func formatNumber(number float64) string {
	switch {
	case math.IsInf(number, 1):
		return "Infinity"
	case math.IsInf(number, -1):
		return "-Infinity"
	case number == 0:
		return "0"
	default:
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
}
