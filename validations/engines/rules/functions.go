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

// treeFunctions are the functions on lists that expressions on documents have.
func treeFunctions() []cel.EnvOption {
	list := cel.ListType(cel.DynType)
	total := func(sum, number float64) float64 { return sum + number }
	lower := func(least, number float64) float64 { return min(least, number) }
	higher := func(most, number float64) float64 { return max(most, number) }
	return []cel.EnvOption{
		cel.Function("sum", cel.Overload("sum_list", []*cel.Type{list}, cel.DoubleType,
			cel.UnaryBinding(func(list ref.Val) ref.Val { return fold(list, types.Double(0), total) }))),
		cel.Function("min", cel.Overload("min_list", []*cel.Type{list}, cel.DoubleType,
			cel.UnaryBinding(func(list ref.Val) ref.Val { return fold(list, nil, lower) }))),
		cel.Function("max", cel.Overload("max_list", []*cel.Type{list}, cel.DoubleType,
			cel.UnaryBinding(func(list ref.Val) ref.Val { return fold(list, nil, higher) }))),
		cel.Function("each", cel.Overload("each_dyn", []*cel.Type{cel.DynType}, list, cel.UnaryBinding(listed))),
	}
}

// fold joins the numbers of a list. Without a value to start from, an empty list is an error.
//
//nolint:ireturn // CEL's functions return this interface
func fold(list, start ref.Val, join func(a, b float64) float64) ref.Val {
	items, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	result := start
	for it := items.Iterator(); it.HasNext() == types.True; {
		number, ok := it.Next().ConvertToType(types.DoubleType).(types.Double)
		if !ok {
			return types.NewErr("a list holds something that is no number")
		}
		if sum, started := result.(types.Double); started {
			number = types.Double(join(float64(sum), float64(number)))
		}
		result = number
	}
	if result == nil {
		return types.NewErr("a list is empty")
	}
	return result
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
