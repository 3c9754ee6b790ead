package expression

import (
	"fmt"
	"math"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// The versions of cel-go's libraries are fixed, so that an update of cel-go changes no stored rule.
const (
	stringsVersion  = 5
	mathVersion     = 3
	listsVersion    = 5
	setsVersion     = 1
	loopsVersion    = 1
	bindingsVersion = 1
)

// libraryFunctions are those that all expressions have beside the standard ones. What this package declares after a
// library replaces functions of the library whose memory or time would have no bound.
func libraryFunctions(limits engine.Limits) []cel.EnvOption {
	return slices.Concat(standardLibrary(), libraries(limits), guarded(limits), timeFunctions(),
		shareFunctions(), argumentConversions(), []cel.EnvOption{matching{limits: limits}.declared()}, costModels())
}

func libraries(limits engine.Limits) []cel.EnvOption {
	return append([]cel.EnvOption{
		ext.Strings(ext.StringsVersion(stringsVersion)),
		ext.Math(ext.MathVersion(mathVersion)),
		ext.Lists(ext.ListsVersion(listsVersion), ext.ListsMaxRangeSize(int64(limits.MaxValues))),
		ext.Sets(ext.SetsVersion(setsVersion)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(loopsVersion)),
		ext.Bindings(ext.BindingsVersion(bindingsVersion)),
	}, listFunctions()...)
}

// shareFunctions are those on decimals: argumentConversions makes them of all numbers.
func shareFunctions() []cel.EnvOption {
	number := cel.DoubleType
	return []cel.EnvOption{
		cel.Function("math.round", cel.Overload("math_round_places", []*cel.Type{number, number}, number,
			cel.BinaryBinding(func(x, places ref.Val) ref.Val { return rounded(decimal(x), decimal(places)) }))),
		cel.Function("slice", cel.MemberOverload("text_slice", []*cel.Type{cel.StringType, cel.IntType, cel.IntType},
			cel.StringType, cel.FunctionBinding(slice))),
		cel.Function("near", cel.Overload("near_double", []*cel.Type{number, number, number}, cel.BoolType,
			cel.FunctionBinding(near))),
		cel.Function("percent", cel.Overload("percent_double", []*cel.Type{number, number}, cel.StringType,
			cel.BinaryBinding(func(part, whole ref.Val) ref.Val {
				return types.String(fmt.Sprintf("%.1f", 100*share(part, whole)))
			}))),
		cel.Function("share", cel.Overload("share_double", []*cel.Type{number, number}, number,
			cel.BinaryBinding(func(part, whole ref.Val) ref.Val { return types.Double(share(part, whole)) }))),
	}
}

// slice is a part of a text, which may be shorter.
func slice(args ...ref.Val) ref.Val {
	letters := []rune(textOf(args[0]))
	from, _ := args[1].(types.Int)
	to, _ := args[2].(types.Int)
	to = min(max(to, 0), types.Int(len(letters)))
	return types.String(letters[min(max(from, 0), to):to])
}

// rounded rounds to decimal places. What was rounded to be held as a number does not count: 1.005 becomes 1.01.
func rounded(x, places float64) ref.Val {
	const rounding = 1e-15
	power := math.Pow(10, places)
	result := math.Round(x*power*(1+rounding)) / power
	if math.IsNaN(result) || math.IsInf(result, 0) {
		return types.Double(x)
	}
	return types.Double(result)
}

// near says whether two numbers differ by at most a tolerance. What was rounded to be held as a number does not count:
// 0.3 and 0.295 differ by 0.005.
func near(args ...ref.Val) ref.Val {
	const rounding = 1e-12
	a, b, tolerance := decimal(args[0]), decimal(args[1]), decimal(args[2])
	return types.Bool(math.Abs(a-b) <= tolerance+rounding*max(math.Abs(a), math.Abs(b)))
}

// share is the part of a whole; of nothing it is 0, since an empty table breaks no limit.
func share(part, whole ref.Val) float64 {
	if decimal(whole) == 0 {
		return 0
	}
	return decimal(part) / decimal(whole)
}

func decimal(value ref.Val) float64 {
	number, _ := value.(types.Double)
	return float64(number)
}
