package expression

import (
	"cmp"
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// decimalArithmetic finds a whole number that is calculated with a decimal. CEL does not know the types of a document's
// values, so that such an expression could be saved and never evaluated.
func (c *Rules) decimalArithmetic(checked *cel.Ast, source string) error {
	if c.Decimal == nil {
		return nil
	}
	var found error
	tree := checked.NativeRep()
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(node ast.Expr) {
		if found != nil || node.Kind() != ast.CallKind {
			return
		}
		if problem, remedy := mixedArithmetic(node.AsCall(), c.Decimal); remedy != "" {
			code := scan(source)
			start := tree.SourceInfo().GetStartLocation(node.ID())
			at := offset(code.plain, start.Line(), start.Column())
			found = errors.New(place(code.plain, at) + problem + "; " + remedy)
		}
	}))
	return found
}

// arithmeticHint says the same, when an expression was not evaluated, of operands that may be decimals.
func (e *Expression) arithmeticHint() string {
	hint := ""
	ast.PostOrderVisit(e.AST.NativeRep().Expr(), ast.NewExprVisitor(func(node ast.Expr) {
		if hint != "" || node.Kind() != ast.CallKind {
			return
		}
		if _, remedy := mixedArithmetic(node.AsCall(), e.isValue); remedy != "" {
			hint = "; for decimals " + remedy
		}
	}))
	return hint
}

// isValue reports whether the type of an operand depends on the document.
func (e *Expression) isValue(operand ast.Expr) bool {
	return e.AST.NativeRep().GetType(operand.ID()).IsExactType(types.DynType)
}

// mixedArithmetic says what is wrong with a call whose operands are a decimal and a whole number, and how to write it.
func mixedArithmetic(call ast.CallExpr, isDecimal func(ast.Expr) bool) (string, string) {
	operands := call.Args()
	if len(operands) != 2 {
		return "", ""
	}
	switch call.FunctionName() {
	case operators.Modulo:
		if isDecimal(operands[0]) || isDecimal(operands[1]) {
			return "% takes whole numbers", "write int(x) % 2"
		}
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide:
		sign, _ := operators.FindReverse(call.FunctionName())
		left, right := operands[0], operands[1]
		remedy := cmp.Or(wholeBeside(left, right, isDecimal), wholeBeside(right, left, isDecimal))
		return sign + " does not take a decimal and a whole number", remedy
	}
	return "", ""
}

func wholeBeside(literal, other ast.Expr, isDecimal func(ast.Expr) bool) string {
	if literal.Kind() != ast.LiteralKind || !isDecimal(other) {
		return ""
	}
	number, ok := literal.AsLiteral().(types.Int)
	if !ok {
		return ""
	}
	return fmt.Sprintf("use %d.0 instead of %d", number, number)
}
