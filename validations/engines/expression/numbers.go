package expression

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// calculating are CEL's operators on numbers and times.
var calculating = []string{
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
}

// standardLibrary is CEL's, in which numbers of all types can be calculated with and compared with each other. CEL
// keeps decimals and whole numbers apart, while people write avg(x) / 2 and year % 2 == 0. A whole number beside a
// decimal counts as a decimal, and a quotient is one: JSON has one type of numbers, so 7 / 2 is 3.5. Times are texts in
// documents, so a text beside a time is one.
func standardLibrary() []cel.EnvOption {
	standard := map[string]*decls.FunctionDecl{}
	for _, function := range stdlib.Functions() {
		standard[function.Name()] = function
	}
	// What is also declared elsewhere.
	subset := env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction(overloads.Matches))
	var options []cel.EnvOption
	for _, name := range calculating {
		subset.AddExcludedFunctions(env.NewFunction(name))
		options = append(options, cel.Function(name, operator(standard[name])...))
	}
	a, text := cel.TypeParamType("A"), cel.StringType
	subset.AddExcludedFunctions(env.NewFunction(operators.In))
	options = append(options, cel.Function(operators.In,
		cel.Overload(overloads.InList, []*cel.Type{a, cel.ListType(a)}, cel.BoolType),
		cel.Overload(overloads.InMap, []*cel.Type{a, cel.MapType(a, cel.TypeParamType("B"))}, cel.BoolType),
		cel.Overload("in_text", []*cel.Type{text, text}, cel.BoolType),
		cel.SingletonBinaryBinding(in)))
	return append(options, cel.StdLib(cel.StdLibSubset(subset)), cel.Function(operators.Index,
		cel.Overload("index_list_double", []*cel.Type{cel.ListType(a), cel.DoubleType}, a)))
}

// in says whether a list or an object contains something, or a text a part.
func in(part, whole ref.Val) ref.Val {
	if text, isText := part.(types.String); isText && whole.Type() == types.StringType {
		return types.Bool(strings.Contains(textOf(whole), string(text)))
	}
	container, ok := whole.(traits.Container)
	if !ok {
		return types.MaybeNoSuchOverloadErr(whole)
	}
	return container.Contains(part)
}

// operator declares an operator for the types that CEL has it for, for all pairs of numbers, and for a text in place of
// a time.
func operator(standard *decls.FunctionDecl) []cel.FunctionOpt {
	bindings, _ := standard.Bindings() // Those of CEL are without contradictions.
	of := []cel.FunctionOpt{cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val {
		return calculate(standard.Name(), bindings[0], a, b)
	})}
	known := map[string]bool{}
	declare := func(id string, result *cel.Type, args ...*cel.Type) {
		if operands := fmt.Sprint(args); !known[operands] {
			known[operands] = true
			of = append(of, cel.Overload(id, args, result))
		}
	}
	for _, overload := range standard.OverloadDecls() {
		args, result := overload.ArgTypes(), overload.ResultType()
		if standard.Name() == operators.Divide {
			result = cel.DoubleType
		}
		declare(overload.ID(), result, args...)
		for i := range args {
			if args[i] == cel.TimestampType {
				text := slices.Clone(args)
				text[i] = cel.StringType
				declare(fmt.Sprint(overload.ID(), "_text", i), result, text...)
			}
		}
	}
	decimal, whole := cel.DoubleType, cel.IntType
	declare(standard.Name()+"double", decimal, decimal, decimal)
	declare(standard.Name()+"double_int", decimal, decimal, whole)
	declare(standard.Name()+"int_double", decimal, whole, decimal)
	if standard.Name() == operators.Subtract {
		declare("subtract_text", cel.DurationType, cel.StringType, cel.StringType)
	}
	return of
}

// calculate makes a time of a text beside one, and a decimal of a whole number beside one, before it calls the operator
// of CEL.
func calculate(name string, standard *functions.Overload, a, b ref.Val) ref.Val {
	texts := name == operators.Subtract && a.Type() == types.StringType && b.Type() == types.StringType
	if isTime(b) || texts {
		a = timeOf(a)
	}
	if isTime(a) {
		b = timeOf(b)
	}
	x, okX := decimalOf(a)
	y, okY := decimalOf(b)
	if okX && okY && (a.Type() != b.Type() || name == operators.Divide || a.Type() == types.DoubleType) {
		switch name {
		case operators.Divide, operators.Modulo:
			return quotient(name, x, y)
		case operators.Add, operators.Subtract, operators.Multiply:
			a, b = x, y
		}
	}
	if !a.Type().HasTrait(standard.OperandTrait) {
		return types.MaybeNoSuchOverloadErr(a)
	}
	return standard.Binary(a, b)
}

// quotient is a decimal, and none by zero: an infinite number would be above each limit. The remainder has the sign of
// the first operand.
func quotient(name string, x, y types.Double) ref.Val {
	switch {
	case name == operators.Divide && y == 0:
		return types.NewErr("division by zero")
	case name == operators.Divide:
		return x / y
	case y == 0:
		return types.NewErr("modulus by zero")
	default:
		return types.Double(math.Mod(float64(x), float64(y)))
	}
}

func decimalOf(number ref.Val) (types.Double, bool) {
	switch n := number.(type) {
	case types.Double:
		return n, true
	case types.Int:
		return types.Double(n), true
	case types.Uint:
		return types.Double(n), true
	}
	return 0, false
}

func isTime(value ref.Val) bool {
	return value.Type() == types.TimestampType || value.Type() == types.DurationType
}

func timeOf(value ref.Val) ref.Val {
	if value.Type() == types.StringType {
		return momentOf(value)
	}
	return value
}
