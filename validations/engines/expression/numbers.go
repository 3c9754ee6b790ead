package expression

import (
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// arithmetic are the operators of CEL that calculate. Each gets overloads for a decimal and a whole number.
var arithmetic = map[string]func(a, b ref.Val) ref.Val{
	operators.Add:      by(traits.Adder.Add),
	operators.Subtract: by(traits.Subtractor.Subtract),
	operators.Multiply: by(traits.Multiplier.Multiply),
	operators.Divide:   quotient,
	operators.Modulo:   remainder,
}

// by calculates with what the type of the first operand has.
func by[T any](calculate func(a T, b ref.Val) ref.Val) func(a, b ref.Val) ref.Val {
	return func(a, b ref.Val) ref.Val {
		if x, ok := a.(T); ok {
			return calculate(x, b)
		}
		return types.MaybeNoSuchOverloadErr(a)
	}
}

// standardLibrary is CEL's, in which numbers of all types can be calculated with and compared with each other. CEL
// keeps decimals and whole numbers apart, while people write avg(x) / 2 and year % 2 == 0. A whole number beside a
// decimal counts as a decimal, and a quotient is one: JSON has one type of numbers, so 7 / 2 is 3.5.
func standardLibrary() []cel.EnvOption {
	standard := map[string]*decls.FunctionDecl{}
	for _, function := range stdlib.Functions() {
		standard[function.Name()] = function
	}
	// What is also declared elsewhere.
	subset := env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction(overloads.Matches))
	var options []cel.EnvOption
	for name, calculate := range arithmetic {
		subset.AddExcludedFunctions(env.NewFunction(name))
		of := []cel.FunctionOpt{
			cel.Overload(name+"double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			cel.Overload(name+"int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
			cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val { return calculate(alike(a, b)) }),
		}
		for _, overload := range standard[name].OverloadDecls() {
			result := overload.ResultType()
			if name == operators.Divide {
				result = cel.DoubleType
			}
			of = append(of, cel.Overload(overload.ID(), overload.ArgTypes(), result))
		}
		if name == operators.Modulo {
			of = append(of, cel.Overload(name+"double", []*cel.Type{cel.DoubleType, cel.DoubleType}, cel.DoubleType))
		}
		options = append(options, cel.Function(name, of...))
	}
	a := cel.TypeParamType("A")
	return append(options, cel.StdLib(cel.StdLibSubset(subset)), cel.Function(operators.Index,
		cel.Overload("index_list_double", []*cel.Type{cel.ListType(a), cel.DoubleType}, a)))
}

// alike turns the whole one of two numbers into a decimal, if the other is one.
func alike(a, b ref.Val) (ref.Val, ref.Val) {
	switch {
	case a.Type() == b.Type():
	case a.Type() == types.DoubleType && isWhole(b):
		return a, b.ConvertToType(types.DoubleType)
	case b.Type() == types.DoubleType && isWhole(a):
		return a.ConvertToType(types.DoubleType), b
	}
	return a, b
}

func isWhole(value ref.Val) bool {
	return value.Type() == types.IntType || value.Type() == types.UintType
}

// quotient is a decimal, and none by zero: an infinite number would be above each limit.
func quotient(a, b ref.Val) ref.Val {
	x, okX := a.ConvertToType(types.DoubleType).(types.Double)
	y, okY := b.ConvertToType(types.DoubleType).(types.Double)
	switch {
	case !okX || !okY:
		return types.MaybeNoSuchOverloadErr(a)
	case y == 0:
		return types.NewErr("division by zero")
	}
	return x / y
}

// remainder has the sign of its first operand, for decimals as well.
func remainder(a, b ref.Val) ref.Val {
	if x, ok := a.(types.Double); ok {
		y, ok := b.(types.Double)
		switch {
		case !ok:
			return types.MaybeNoSuchOverloadErr(b)
		case y == 0:
			return types.NewErr("modulus by zero")
		}
		return types.Double(math.Mod(float64(x), float64(y)))
	}
	return by(traits.Modder.Modulo)(a, b)
}
