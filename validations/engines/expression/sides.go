package expression

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// comparisons are the words between the two sides of a comparison that fails.
var comparisons = map[string]string{
	operators.Equals: " is not ", operators.Less: " is not less than ", operators.LessEquals: " is more than ",
	operators.Greater: " is not more than ", operators.GreaterEquals: " is less than ", operators.In: " is not in ",
	operators.NotEquals: " equals ", "near": " is not near ",
}

// conjuncts are the parts of a condition that must all be true.
func conjuncts(node ast.Expr) []ast.Expr {
	if node.Kind() != ast.CallKind || node.AsCall().FunctionName() != operators.LogicalAnd {
		return []ast.Expr{node}
	}
	var parts []ast.Expr
	for _, arg := range node.AsCall().Args() {
		parts = append(parts, conjuncts(arg)...)
	}
	return parts
}

// sides says what the first comparison that is false compares, after a colon, or "".
func (e *Expression) sides(details *cel.EvalDetails) string {
	for _, part := range conjuncts(e.AST.NativeRep().Expr()) {
		if found, known := details.State().Value(part.ID()); !known || found != types.False {
			continue
		}
		words := comparisons[part.AsCall().FunctionName()]
		if words == "" {
			return ""
		}
		args := part.AsCall().Args()
		a, b := side(args[0], details), side(args[1], details)
		place := ""
		if words == comparisons[operators.Equals] {
			place, a, b = differing(a, b)
		}
		return ": " + place + shownSide(a) + words + shownSide(b)
	}
	return ""
}

// differing returns the first elements in which two lists of one length differ and their place, or what it gets.
func differing(a, b ref.Val) (string, ref.Val, ref.Val) {
	as, okA := a.(traits.Lister)
	bs, okB := b.(traits.Lister)
	if !okA || !okB || count(as) != count(bs) {
		return "", a, b
	}
	for i := range count(as) {
		x, y := as.Get(types.Int(i)), bs.Get(types.Int(i))
		if x.Equal(y) != types.True {
			return fmt.Sprintf("element %d, ", i), x, y
		}
	}
	return "", a, b
}

func side(node ast.Expr, details *cel.EvalDetails) ref.Val {
	if value, known := details.State().Value(node.ID()); known {
		return value
	}
	return node.AsLiteral()
}

func shownSide(value ref.Val) string {
	if value == types.NullValue {
		return "null"
	}
	return showValue(value, engine.Quote)
}
