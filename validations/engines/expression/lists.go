package expression

import (
	"math"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// listFunctions are those on lists that the libraries lack or do too slowly.
func listFunctions() []cel.EnvOption {
	list := cel.ListType(cel.DynType)
	anything := cel.ListType(cel.TypeParamType("T"))
	unary := func(name string, result func(numbers []float64) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_list", []*cel.Type{list}, cel.DoubleType,
			cel.UnaryBinding(func(list ref.Val) ref.Val { return ofNumbers(list, result) })))
	}
	return []cel.EnvOption{
		unary("sum", func(numbers []float64) ref.Val { return types.Double(total(numbers)) }),
		unary("min", ofSome(slices.Min[[]float64])),
		unary("max", ofSome(slices.Max[[]float64])),
		unary("avg", ofSome(mean)),
		unary("mean", ofSome(mean)),
		cel.Function("percentile", cel.Overload("percentile_list_dyn", []*cel.Type{list, cel.DynType}, cel.DoubleType,
			cel.BinaryBinding(percentile))),
		cel.Function("contains", cel.MemberOverload("list_contains", []*cel.Type{anything, cel.TypeParamType("T")},
			cel.BoolType, cel.BinaryBinding(func(list, item ref.Val) ref.Val { return listOf(list).Contains(item) }))),
		cel.Function("distinct", cel.MemberOverload("list_distinct", []*cel.Type{anything}, anything,
			cel.UnaryBinding(distinct))),
	}
}

// listOf is an argument that CEL has found to be a list, before it calls the function.
func listOf(value ref.Val) traits.Lister {
	list, _ := value.(traits.Lister)
	return list
}

func total(numbers []float64) float64 {
	sum := 0.0
	for _, number := range numbers {
		sum += number
	}
	return sum
}

func mean(numbers []float64) float64 {
	return total(numbers) / float64(len(numbers))
}

// ofSome is a function that has no result for an empty list.
func ofSome(result func(numbers []float64) float64) func(numbers []float64) ref.Val {
	return func(numbers []float64) ref.Val {
		if len(numbers) == 0 {
			return types.NewErr("a list is empty")
		}
		return types.Double(result(numbers))
	}
}

// ofNumbers calls a function on a list of numbers, or of texts that are numbers, as those of XML.
func ofNumbers(list ref.Val, result func(numbers []float64) ref.Val) ref.Val {
	numbers := make([]float64, 0, count(list))
	for it := listOf(list).Iterator(); it.HasNext() == types.True; {
		number, ok := it.Next().ConvertToType(types.DoubleType).(types.Double)
		if !ok {
			return types.NewErr("a list holds something that is not a number")
		}
		numbers = append(numbers, float64(number))
	}
	return result(numbers)
}

// percentile is the value below which so many percent of a list are, interpolated between its two nearest numbers, as
// spreadsheets do.
func percentile(list, percent ref.Val) ref.Val {
	const whole = 100
	p, ok := percent.ConvertToType(types.DoubleType).(types.Double)
	if !ok || !(p >= 0 && p <= whole) {
		return types.NewErr("a percentile is a number from 0 to 100")
	}
	return ofNumbers(list, ofSome(func(numbers []float64) float64 {
		slices.Sort(numbers)
		at := float64(p) / whole * float64(len(numbers)-1)
		below := int(math.Floor(at))
		above := min(below+1, len(numbers)-1)
		return numbers[below] + (at-float64(below))*(numbers[above]-numbers[below])
	}))
}

// distinct are the different elements of a list. Lists and objects are compared with each other, all else is looked up.
func distinct(list ref.Val) ref.Val {
	known, kept, compared := map[any]bool{}, []ref.Val{}, []ref.Val{}
	for it := listOf(list).Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		key, simple := lookupKey(item)
		switch {
		case simple && known[key]:
			continue
		case simple:
			known[key] = true
		case slices.ContainsFunc(compared, func(other ref.Val) bool { return item.Equal(other) == types.True }):
			continue
		default:
			compared = append(compared, item)
		}
		kept = append(kept, item)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, kept)
}

// lookupKey is the same for equal values, where it answers true.
func lookupKey(value ref.Val) (any, bool) {
	// Beyond this, several whole numbers are the same decimal.
	const mostExact = 1 << 53
	switch v := value.(type) {
	case types.String, types.Bool, types.Null:
		return v, true
	case types.Double:
		return float64(v), !math.IsNaN(float64(v)) && math.Abs(float64(v)) < mostExact
	case types.Int:
		return float64(v), v < mostExact && v > -mostExact
	default:
		return nil, false
	}
}
