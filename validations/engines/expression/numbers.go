package expression

import (
	"fmt"
	"math"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// binary is an operator of two values.
type binary func(a, b ref.Val) ref.Val

// calculating are what CEL's operators on numbers and times do here, by what they do in CEL.
var calculating = map[string]func(own binary) binary{
	operators.Add: mixed, operators.Subtract: difference, operators.Multiply: mixed, operators.Divide: quotient,
	operators.Modulo: remainder, operators.Less: timed, operators.LessEquals: timed, operators.Greater: timed,
	operators.GreaterEquals: timed,
}

// standardLibrary is CEL's, in which numbers of all types can be calculated with and compared with each other. CEL
// keeps decimals and whole numbers apart, while people write avg(x) / 2 and year % 2 == 0. A whole number beside a
// decimal counts as a decimal, and a quotient is one: JSON has one type of numbers, so 7 / 2 is 3.5. Times are texts in
// documents, so a text beside a time is one.
func standardLibrary() ([]cel.EnvOption, error) {
	standard := map[string]*decls.FunctionDecl{}
	for _, function := range stdlib.Functions() {
		standard[function.Name()] = function
	}
	// What is also declared elsewhere.
	subset := env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction(overloads.Matches))
	var options []cel.EnvOption
	for name, calculate := range calculating {
		subset.AddExcludedFunctions(env.NewFunction(name))
		of, err := operator(standard[name], calculate)
		if err != nil {
			return nil, err
		}
		options = append(options, cel.Function(name, of...))
	}
	a := cel.TypeParamType("A")
	return append(options, cel.StdLib(cel.StdLibSubset(subset)), cel.Function(operators.Index,
		cel.Overload("index_list_double", []*cel.Type{cel.ListType(a), cel.DoubleType}, a))), nil
}

// operator declares an operator for the types that CEL has it for, for all pairs of numbers, and for a text in place of
// a time.
func operator(standard *decls.FunctionDecl, calculate func(own binary) binary) ([]cel.FunctionOpt, error) {
	bindings, err := standard.Bindings()
	if err != nil {
		return nil, fmt.Errorf("read operator %s: %w", standard.Name(), err)
	}
	result := calculate(func(a, b ref.Val) ref.Val {
		if !a.Type().HasTrait(bindings[0].OperandTrait) {
			return types.MaybeNoSuchOverloadErr(a)
		}
		return bindings[0].Binary(a, b)
	})
	of := []cel.FunctionOpt{cel.SingletonBinaryBinding(functions.BinaryOp(result))}
	known := map[string]bool{}
	declare := func(args []*cel.Type, result *cel.Type) {
		if id := fmt.Sprint(standard.Name(), args); !known[id] {
			known[id] = true
			of = append(of, cel.Overload(id, args, result))
		}
	}
	for _, overload := range standard.OverloadDecls() {
		args, result := overload.ArgTypes(), overload.ResultType()
		if standard.Name() == operators.Divide {
			result = cel.DoubleType
		}
		known[fmt.Sprint(standard.Name(), args)] = true
		of = append(of, cel.Overload(overload.ID(), args, result))
		for i := range args {
			if args[i] == cel.TimestampType {
				text := slices.Clone(args)
				text[i] = cel.StringType
				declare(text, result)
			}
		}
	}
	decimal, whole := cel.DoubleType, cel.IntType
	for _, pair := range [][]*cel.Type{{decimal, decimal}, {decimal, whole}, {whole, decimal}} {
		declare(pair, decimal)
	}
	if standard.Name() == operators.Subtract {
		declare([]*cel.Type{cel.StringType, cel.StringType}, cel.DurationType)
	}
	return of, nil
}

// timed makes a time of a text beside one.
func timed(own binary) binary {
	return func(a, b ref.Val) ref.Val {
		switch {
		case a.Type() == types.StringType && isTime(b):
			a = momentOf(a)
		case b.Type() == types.StringType && isTime(a):
			b = momentOf(b)
		}
		return own(a, b)
	}
}

// mixed makes a decimal of a whole number beside one.
func mixed(own binary) binary {
	return timed(func(a, b ref.Val) ref.Val {
		switch {
		case a.Type() == types.DoubleType && isWhole(b):
			b = b.ConvertToType(types.DoubleType)
		case b.Type() == types.DoubleType && isWhole(a):
			a = a.ConvertToType(types.DoubleType)
		}
		return own(a, b)
	})
}

// difference is also that of two times that are texts.
func difference(own binary) binary {
	return mixed(func(a, b ref.Val) ref.Val {
		if a.Type() == types.StringType && b.Type() == types.StringType {
			a, b = momentOf(a), momentOf(b)
		}
		return own(a, b)
	})
}

func isTime(value ref.Val) bool {
	return value.Type() == types.TimestampType || value.Type() == types.DurationType
}

func isWhole(value ref.Val) bool {
	return value.Type() == types.IntType || value.Type() == types.UintType
}

// quotient is a decimal, and none by zero: an infinite number would be above each limit.
func quotient(binary) binary {
	return func(a, b ref.Val) ref.Val {
		x, okX := a.ConvertToType(types.DoubleType).(types.Double)
		y, okY := b.ConvertToType(types.DoubleType).(types.Double)
		switch {
		case !okX || !okY || a.Type() == types.StringType || b.Type() == types.StringType:
			return types.NoSuchOverloadErr()
		case y == 0:
			return types.NewErr("division by zero")
		}
		return x / y
	}
}

// remainder has the sign of its first operand, for decimals as well.
func remainder(own binary) binary {
	return mixed(func(a, b ref.Val) ref.Val {
		x, okX := a.(types.Double)
		y, okY := b.(types.Double)
		switch {
		case !okX || !okY:
			return own(a, b)
		case y == 0:
			return types.NewErr("modulus by zero")
		}
		return types.Double(math.Mod(float64(x), float64(y)))
	})
}
