package expression

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

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
		return ": " + shownSide(args[0], details) + words + shownSide(args[1], details)
	}
	return ""
}

func shownSide(side ast.Expr, details *cel.EvalDetails) string {
	value, known := details.State().Value(side.ID())
	if !known {
		value = side.AsLiteral()
	}
	if value == types.NullValue {
		return "null"
	}
	return showValue(value, engine.Quote)
}
