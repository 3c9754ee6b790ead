package expression

import (
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
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
	operators.Divide:   by(traits.Divider.Divide),
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

// equalities are CEL's comparisons and the ids of their overloads, by which their costs are counted.
var equalities = map[string]string{
	operators.Equals: overloads.Equals, operators.NotEquals: overloads.NotEquals,
}

// standardLibrary is CEL's, in which numbers of all types can be calculated with and compared with each other. CEL
// keeps decimals and whole numbers apart, while people write avg(x) / 2 and year % 2 == 0. A whole number beside a
// decimal counts as a decimal; two whole numbers stay whole, so that 7 / 2 is 3.
func standardLibrary() []cel.EnvOption {
	standard := map[string]*decls.FunctionDecl{}
	for _, function := range stdlib.Functions() {
		standard[function.Name()] = function
	}
	subset := env.NewLibrarySubset()
	var options []cel.EnvOption
	for name, calculate := range arithmetic {
		subset.AddExcludedFunctions(env.NewFunction(name))
		of := []cel.FunctionOpt{
			cel.Overload(name+"double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			cel.Overload(name+"int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
			cel.SingletonBinaryBinding(func(a, b ref.Val) ref.Val { return calculate(alike(a, b)) }),
		}
		for _, overload := range standard[name].OverloadDecls() {
			of = append(of, cel.Overload(overload.ID(), overload.ArgTypes(), overload.ResultType()))
		}
		if name == operators.Modulo {
			of = append(of, cel.Overload(name+"double", []*cel.Type{cel.DoubleType, cel.DoubleType}, cel.DoubleType))
		}
		options = append(options, cel.Function(name, of...))
	}
	// An overload for numbers would collide with the one for two values of any type: comparisons take all values here,
	// and comparisonValidator refuses those that are never equal.
	a, b := cel.TypeParamType("A"), cel.TypeParamType("B")
	for name, id := range equalities {
		subset.AddExcludedFunctions(env.NewFunction(name))
		options = append(options, cel.Function(name, cel.Overload(id, []*cel.Type{a, b}, cel.BoolType)))
	}
	return append(options, cel.StdLib(cel.StdLibSubset(subset)))
}

// alike turns the whole one of two numbers into a decimal, if the other is one.
//
//nolint:ireturn // CEL's functions return this interface
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

// remainder has the sign of its first operand, for decimals as well.
//
//nolint:ireturn // CEL's functions return this interface
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

// comparisonValidator refuses to compare values that are never equal, such as a text and a number.
type comparisonValidator struct{}

// Name tells it from CEL's validators.
func (comparisonValidator) Name() string { return "comparisons" }

// Validate looks at the types that are known without a document.
func (comparisonValidator) Validate(_ *cel.Env, _ cel.ValidatorConfig, tree *ast.AST, issues *cel.Issues) {
	for name := range equalities {
		for _, call := range ast.MatchDescendants(ast.NavigateAST(tree), ast.FunctionMatcher(name)) {
			a, b := tree.GetType(call.AsCall().Args()[0].ID()), tree.GetType(call.AsCall().Args()[1].ID())
			if !a.IsAssignableType(b) && !b.IsAssignableType(a) && (!isNumeric(a) || !isNumeric(b)) {
				issues.ReportErrorAtID(call.ID(), "found no matching overload for '%s' applied to '(%s, %s)'",
					name, a, b)
			}
		}
	}
}

func isNumeric(t *cel.Type) bool {
	return t.IsExactType(cel.DoubleType) || t.IsExactType(cel.IntType) || t.IsExactType(cel.UintType)
}
