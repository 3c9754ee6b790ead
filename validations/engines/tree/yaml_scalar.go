package tree

import (
	"cmp"
	"encoding/json"
	"math/big"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// The plain values of the core schema of YAML 1.2 that are no texts. The parser follows YAML 1.1 in part, in which
// 010 is 8 and 1_000 a number.
var (
	nullWords   = map[string]bool{"": true, "~": true, "null": true, "Null": true, "NULL": true}
	truthWords  = map[string]bool{"true": true, "True": true, "TRUE": true}
	falseWords  = map[string]bool{"false": true, "False": true, "FALSE": true}
	wholeNumber = regexp.MustCompile(`^(?:[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	realNumber  = regexp.MustCompile(`^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$`)
	numberParts = regexp.MustCompile(`^(-?)0*(\d*)(\.?\d*)(.*)$`)
	noNumber    = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// scalar returns the value of a node. One with the tag of a type must be of that type.
func scalar(node *yaml.Node) (any, error) {
	switch tagOf(node) {
	case "!!null":
		return nil, nil //nolint:nilnil // null is a value
	case "!!bool":
		if !truthWords[node.Value] && !falseWords[node.Value] {
			return nil, nodeFault(node, "yaml.malformed", engine.Quote(node.Value)+" is neither true nor false")
		}
		return truthWords[node.Value], nil
	case "!!int", "!!float":
		literal, ok := numberLiteral(node.Value)
		if !ok {
			message := engine.Quote(node.Value) + " is not a number that JSON can hold"
			return nil, nodeFault(node, "yaml.number_range", message)
		}
		return json.Number(literal), nil
	default:
		return node.Value, nil
	}
}

// tagOf is the type of a value: what is written before it, or what a plain value looks like.
func tagOf(node *yaml.Node) string {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	value := node.Value
	switch {
	case node.Style&yaml.TaggedStyle != 0:
		return node.ShortTag()
	case node.Style&quoted != 0:
		return "!!str"
	case nullWords[value]:
		return "!!null"
	case truthWords[value], falseWords[value]:
		return "!!bool"
	case isNumber(value):
		return "!!float"
	default:
		return "!!str"
	}
}

func isNumber(text string) bool {
	if text == "" || strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return false
	}
	return wholeNumber.MatchString(text) || realNumber.MatchString(text) || noNumber.MatchString(text)
}

// numberLiteral writes a number as JSON does, with all its digits.
func numberLiteral(text string) (string, bool) {
	plain := strings.TrimPrefix(text, "+")
	if json.Valid([]byte(plain)) && isNumber(text) {
		return plain, engine.NumberInRange(plain)
	}
	if len(plain) > engine.MaxNumberChars || noNumber.MatchString(text) {
		return "", false
	}
	base := map[bool]int{true: 0, false: 10}[strings.HasPrefix(plain, "0o") || strings.HasPrefix(plain, "0x")]
	if whole, ok := new(big.Int).SetString(plain, base); ok && wholeNumber.MatchString(text) {
		return whole.String(), engine.NumberInRange(whole.String())
	}
	if !realNumber.MatchString(text) {
		return "", false
	}
	// A number such as 01.e3 or -.5 has one digit before the point and behind it in JSON.
	parts := numberParts.FindStringSubmatch(plain)
	literal := parts[1] + cmp.Or(parts[2], "0") + strings.TrimSuffix(parts[3], ".") + parts[4]
	return literal, engine.NumberInRange(literal)
}
