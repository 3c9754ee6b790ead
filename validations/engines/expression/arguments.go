package expression

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/simplevalidations/simplevalidations/validations/engines/expression/spelling"
)

// wholeNumber is the function that makes a whole number of a decimal without decimals. Its name is for messages.
const wholeNumber = "whole number"

// converted are the functions of which CEL wants the arguments as one type of numbers, from this one on. They need not
// be called by what stands before the dot.
var converted = map[string]map[string]int{
	wholeNumber: {
		"substring": 0, "charAt": 0, "indexOf": 1, "lastIndexOf": 1, "replace": 2, "split": 1, "slice": 0, "flatten": 0,
		"lists.range": 0, "bitAnd": 0, "bitOr": 0, "bitXor": 0, "bitNot": 0, "bitShiftLeft": 0, "bitShiftRight": 0,
	},
	overloads.TypeConvertDouble: {
		"math.round": 0, "math.floor": 0, "math.ceil": 0, "math.trunc": 0, "math.abs": 0, "math.sqrt": 0,
		"math.isNaN": 0, "math.isInf": 0, "math.isFinite": 0, "near": 0, "share": 0, "percent": 0,
	},
}

// argumentConversions let numbers of all types be arguments: those of documents are decimals, even 3, and sizes are
// whole.
func argumentConversions() []cel.EnvOption {
	macros := listCalls()
	for to, functions := range converted {
		for name, first := range functions {
			member := name[strings.LastIndexByte(name, '.')+1:]
			convert := func(h cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
				for i := first; i < len(args); i++ {
					args[i] = h.NewCall(to, args[i])
				}
				if target == nil {
					return h.NewCall(name, args...), nil
				}
				return h.NewMemberCall(member, target, args...), nil
			}
			macros = append(macros, cel.GlobalVarArgMacro(member, convert), cel.ReceiverVarArgMacro(member, convert))
		}
	}
	return []cel.EnvOption{
		cel.Macros(macros...),
		cel.Function(wholeNumber,
			cel.Overload("whole_int", []*cel.Type{cel.IntType}, cel.IntType,
				cel.UnaryBinding(func(value ref.Val) ref.Val { return value })),
			cel.Overload("whole_double", []*cel.Type{cel.DoubleType}, cel.IntType, cel.UnaryBinding(whole))),
	}
}

// listCalls let functions on a list of numbers be written as list.max(), list.max(i, x) and max(x, y).
func listCalls() []cel.Macro {
	macros := []cel.Macro{cel.ReceiverMacro("find", 2, found)}
	for _, name := range []string{"sum", "min", "max", "avg", "mean", "percentile"} {
		macros = append(macros, cel.ReceiverVarArgMacro(name,
			func(h cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
				var err *cel.Error
				if len(args) == 2 {
					target, err = cel.MapMacro.Expander()(h, target, args)
					args = nil
				}
				return h.NewCall(name, slices.Insert(args, 0, target)...), err
			}), cel.GlobalVarArgMacro(name,
			func(h cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
				if len(args) < 2 || name == "percentile" {
					return nil, nil
				}
				return h.NewCall(name, h.NewList(args...)), nil
			}))
	}
	return macros
}

// found is the macro list.find(i, x): the first element for which x is true.
func found(h cel.MacroExprFactory, of ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if args[0].Kind() != ast.IdentKind {
		return nil, h.NewError(args[0].ID(), "argument must be a simple name")
	}
	sought := h.NewCall(operators.Equals, h.NewAccuIdent(), h.NewList())
	longer := h.NewCall(operators.Add, h.NewAccuIdent(), h.NewList(h.NewIdent(args[0].AsIdent())))
	loop := h.NewComprehension(of, args[0].AsIdent(), h.AccuIdentName(), h.NewList(), sought,
		h.NewCall(operators.Conditional, args[1], longer, h.NewAccuIdent()), h.NewAccuIdent())
	return h.NewCall(operators.Index, loop, h.NewLiteral(types.IntZero)), nil
}

func whole(value ref.Val) ref.Val {
	number, _ := value.(types.Double)
	if number != types.Double(math.Trunc(float64(number))) {
		return types.NewErr("%v is not a whole number; int(x) leaves out its decimals", number)
	}
	return value.ConvertToType(types.IntType)
}

// unlike is what CEL says of two values of different types, where one needs to be like the other.
var unlike = regexp.MustCompile(`for '(?:_[=!]=_|_\?_:_|@in)' applied to '\((?:bool, |dyn, )?(.*), (.*)\)'`)

// decimalTypes turns types of whole numbers, also within lists, into decimals.
var decimalTypes = strings.NewReplacer("uint", "double", "int", "double")

// check checks an expression as it is written and, where CEL does not know it, in its words.
func check(env *cel.Env, source string) (*cel.Ast, *cel.Error) {
	checked, found := checkWords(env, source)
	if found == nil && !spelling.IsForeign(checked.NativeRep()) {
		return checked, nil
	}
	words, understood := spelling.Respell(env, source)
	if !understood {
		return checked, found
	}
	spelled, wrong := checkWords(env, words.String())
	switch {
	case wrong == nil:
		return spelled, nil
	case found == nil:
		return checked, nil
	}
	wrong.Location = words.Locate(source, wrong.Location)
	return nil, wrong
}

// checkWords checks an expression. Where CEL refuses to compare a whole number with a decimal, or to have one of each
// in the branches of a condition, it is left to the evaluation, which knows how.
func checkWords(env *cel.Env, source string) (*cel.Ast, *cel.Error) {
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, issues.Errors()[0]
	}
	for {
		checked, issues := env.Check(parsed)
		if issues.Err() == nil {
			return checked, nil
		}
		first := issues.Errors()[0]
		found := unlike.FindStringSubmatch(first.Message)
		if found == nil {
			return nil, first
		}
		a, b := decimalTypes.Replace(found[1]), decimalTypes.Replace(found[2])
		if a != b && b != "list("+a+")" {
			return nil, first
		}
		tree, factory := parsed.NativeRep(), ast.NewExprFactory()
		id := ast.MaxID(tree)
		ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(node ast.Expr) {
			if node.ID() != first.ExprID {
				return
			}
			args := node.AsCall().Args()
			for i := range args {
				args[i] = factory.NewCall(id+int64(i)+1, overloads.TypeConvertDyn, args[i])
			}
			node.SetKindCase(factory.NewCall(first.ExprID, node.AsCall().FunctionName(), args...))
		}))
	}
}
