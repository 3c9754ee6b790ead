package rules

import (
	"encoding/json"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// treeAdapter shows the values of a tree to expressions. JSON has one kind of number, so all are doubles: otherwise it
// would depend on the document, on 20 or 20.5, whether a sum can be made.
type treeAdapter struct {
	types.Adapter
}

// NativeToValue converts a value, and those below it when they are read.
//
//nolint:ireturn // the signature is CEL's
func (a treeAdapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case json.Number:
		return types.Double(newExact(v.String()).float())
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	case []any:
		return types.NewDynamicList(a, v)
	default:
		return a.Adapter.NativeToValue(value)
	}
}

// treeFunctions are the functions that only expressions on documents have.
func treeFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("each", cel.Overload("each_dyn", []*cel.Type{cel.DynType}, cel.ListType(cel.DynType),
			cel.UnaryBinding(listed))),
	}
}

// listed makes a list of what may occur once or several times, as elements of XML do.
//
//nolint:ireturn // CEL's functions return this interface
func listed(value ref.Val) ref.Val {
	if list, ok := value.(traits.Lister); ok {
		return list
	}
	return types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{value})
}
