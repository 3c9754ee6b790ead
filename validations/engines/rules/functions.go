package rules

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// treeAdapter shows the values of a tree to expressions. JSON has one kind of number, so all are doubles: otherwise it
// would depend on the document, on 20 or 20.5, whether a sum can be made. Only whole numbers that doubles would round
// are integers, because two identifiers must not become equal.
type treeAdapter struct {
	types.Adapter
}

// NativeToValue converts a value, and those below it when they are read.
func (a treeAdapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case json.Number:
		return numberOf(v.String())
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	default:
		return a.Adapter.NativeToValue(value)
	}
}

// numberOf converts a number of JSON. Every whole number from 2^53 on is an integer, even one that a double could hold:
// otherwise it would equal its rounded neighbors.
func numberOf(literal string) ref.Val {
	const (
		exactInDoubles = 1 << 53
		itsDigits      = 16
	)
	decimal, _ := strconv.ParseFloat(literal, 64) // numbers out of range were refused before
	if len(literal) < itsDigits || strings.ContainsAny(literal, ".eE") || math.Abs(decimal) < exactInDoubles {
		return types.Double(decimal)
	}
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return types.Int(n)
	}
	if n, err := strconv.ParseUint(literal, 10, 64); err == nil {
		return types.Uint(n)
	}
	return types.NewErr("a number has too many digits for an expression; use an operator such as eq or gt")
}

// listed makes a list of what may occur once or several times, as elements of XML do.
func listed(value ref.Val) ref.Val {
	if list, ok := value.(traits.Lister); ok {
		return list
	}
	return types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{value})
}
