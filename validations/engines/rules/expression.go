package rules

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// The variables of expressions on trees: the whole document, and the value at the rule's path.
const (
	variableDoc   = "doc"
	variableValue = "value"
)

// treeExpression is an expression with the places of the document that it needs.
type treeExpression struct {
	*expression.Expression
	readsValue bool
	needs      []need
}

// need is a chain of names that an expression reads of a variable.
type need struct {
	variable string
	names    []string
}

func newTreeEnv(limits engine.Limits) *cel.Env {
	registry, _ := types.NewRegistry() // It has no types, so they fit.
	return expression.NewEnv(limits,
		cel.Function("each", cel.Overload("each_dyn", []*cel.Type{cel.DynType}, cel.ListType(cel.DynType),
			cel.UnaryBinding(listed))),
		cel.CustomTypeAdapter(treeAdapter{registry}),
		cel.OptionalTypes(),
		cel.Variable(variableDoc, cel.DynType),
		cel.Variable(variableValue, cel.DynType),
	)
}

func newTreeExpression(e *expression.Expression) *treeExpression {
	value := e.Reads(variableValue)
	t := &treeExpression{Expression: e, readsValue: value.Whole || len(value.Names) > 0}
	tested := []need{}
	ast.PostOrderVisit(e.AST.NativeRep().Expr(), ast.NewExprVisitor(func(node ast.Expr) {
		chain, ok := chainOf(node)
		switch {
		case !ok || len(chain.names) == 0:
		case node.Kind() == ast.SelectKind && node.AsSelect().IsTestOnly():
			tested = append(tested, chain)
		default:
			t.needs = append(t.needs, chain)
		}
	}))
	// What the expression asks for before it reads it may well be missing.
	t.needs = slices.DeleteFunc(t.needs, func(n need) bool {
		return slices.ContainsFunc(tested, n.below)
	})
	return t
}

// chainOf returns the names that lead from a variable to what the node reads.
func chainOf(node ast.Expr) (need, bool) {
	if node.Kind() == ast.IdentKind {
		name := node.AsIdent()
		return need{variable: name}, name == variableDoc || name == variableValue
	}
	of, name, ok := expression.Selected(node)
	if !ok {
		return need{}, false
	}
	chain, ok := chainOf(of)
	chain.names = append(chain.names, name)
	return chain, ok
}

func (n need) below(other need) bool {
	return n.variable == other.variable && len(n.names) >= len(other.names) &&
		slices.Equal(n.names[:len(other.names)], other.names)
}

// explain names what is missing where that is why the expression could not be evaluated.
func (e *treeExpression) explain(at *ruleSpot, reason string) string {
	for _, n := range e.needs {
		base, value := []string(nil), at.run.document.Value
		if n.variable == variableValue {
			base, value = at.place.tokens, at.place.value
		}
		for i, name := range n.names {
			next, known := engine.Member(value, name)
			if !known && hasSize(value) && name == "length" {
				break
			}
			if !known {
				missing := engine.Pointer(slices.Concat(base, n.names[:i+1])...)
				missing = engine.ClipTo(missing, 2*engine.MaxQuoted)
				return "needs " + missing + ", which is missing" + hint(value, n, i)
			}
			value = next
		}
	}
	return reason
}

func hasSize(value any) bool {
	switch value.(type) {
	case []any, string:
		return true
	}
	return false
}

// hint helps users who ask for the size of a list or a text as in other languages, or who read a member of a list as if
// it were one of its elements.
func hint(value any, n need, i int) string {
	name := n.names[i]
	if hasSize(value) && slices.Contains([]string{"len", "size", "count"}, name) {
		return "; use size(x) for the length of a list or a text"
	}
	list, _ := value.([]any)
	if len(list) == 0 {
		return ""
	}
	if _, known := engine.Member(list[0], name); !known {
		return ""
	}
	written := strings.Join(append([]string{n.variable}, n.names[:i]...), ".")
	return fmt.Sprintf("; of a list write %s.map(i, i.%s)", engine.ClipTo(written, engine.MaxQuoted),
		engine.ClipTo(name, engine.MaxQuoted))
}
