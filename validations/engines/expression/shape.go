package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// memberOrSize is the function behind x.length: a member of an object, the size of a list or a text. Its name is for
// messages.
const memberOrSize = "member or size"

// sizeNames are the members that other languages have for the size of a list or a text.
var sizeNames = []string{"length", "len", "size", "count"}

// IsSize says whether a member stands for the size of what has no members.
func IsSize(name string) bool { return slices.Contains(sizeNames, name) }

// sizeFunction declares memberOrSize.
func sizeFunction() cel.EnvOption {
	return cel.Function(memberOrSize, cel.Overload("member_or_size", []*cel.Type{cel.DynType, cel.StringType},
		cel.DynType, cel.BinaryBinding(func(value, name ref.Val) ref.Val {
			switch v := value.(type) {
			case traits.Mapper:
				return v.Get(name)
			case traits.Sizer:
				return v.Size()
			}
			return types.MaybeNoSuchOverloadErr(value)
		})))
}

// shaping gives an expression the shape that CEL wants.
type shaping struct {
	ast.ExprFactory
	functions map[string]*decls.FunctionDecl
	last      int64
}

func shape(env *cel.Env, tree *ast.AST) {
	s := &shaping{ast.NewExprFactory(), env.Functions(), ast.MaxID(tree)}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(s.visit))
}

func (s *shaping) id() int64 {
	s.last++
	return s.last
}

func (s *shaping) visit(node ast.Expr) {
	switch node.Kind() {
	case ast.SelectKind:
		of, name := node.AsSelect().Operand(), node.AsSelect().FieldName()
		switch part := s.part(name, of); {
		case node.AsSelect().IsTestOnly():
		case IsSize(name) && !isOptional(of):
			node.SetKindCase(s.NewCall(node.ID(), memberOrSize, of, s.NewLiteral(s.id(), types.String(name))))
		case part != nil && of.Kind() == ast.CallKind &&
			slices.Contains([]string{overloads.TypeConvertTimestamp, operators.Subtract}, of.AsCall().FunctionName()):
			node.SetKindCase(part)
		}
	case ast.CallKind:
		if shaped := s.call(node.AsCall()); shaped != nil {
			node.SetKindCase(shaped)
		}
	default:
	}
}

// isOptional says whether a member is read of what may be missing, as in x.?y.z.
func isOptional(of ast.Expr) bool {
	for of.Kind() == ast.SelectKind {
		of = of.AsSelect().Operand()
	}
	return of.Kind() == ast.CallKind &&
		slices.Contains([]string{operators.OptSelect, operators.OptIndex}, of.AsCall().FunctionName())
}

// part is a part of a time, or the whole days of a duration, or nil.
func (s *shaping) part(name string, of ast.Expr) ast.Expr {
	read := func(function string) ast.Expr { return s.NewMemberCall(s.id(), function, of) }
	switch name {
	case "year":
		return read(overloads.TimeGetFullYear)
	case "month":
		return s.NewCall(s.id(), operators.Add, read(overloads.TimeGetMonth), s.NewLiteral(s.id(), types.IntOne))
	case "day":
		return read(overloads.TimeGetDate)
	case "days":
		hours := s.NewLiteral(s.id(), types.Double(24)) //nolint:mnd // those of a day
		return s.NewCall(s.id(), "math.floor",
			s.NewCall(s.id(), operators.Divide, read(overloads.TimeGetHours), hours))
	}
	return nil
}

// call returns what a call should be, or nil: one of a x.f(y) that is written as f(x, y) or the reverse, and both
// comparisons of a < x < b.
func (s *shaping) call(call ast.CallExpr) ast.Expr {
	name, args := call.FunctionName(), call.Args()
	switch {
	case call.IsMemberFunction() && name == "join" && call.Target().Kind() == ast.LiteralKind && len(args) == 1:
		return s.NewMemberCall(s.id(), name, args[0], call.Target())
	case call.IsMemberFunction() && s.only(name, false):
		return s.NewCall(s.id(), name, slices.Concat([]ast.Expr{call.Target()}, args)...)
	case call.IsMemberFunction() || len(args) == 0:
	case s.only(name, true):
		return s.NewMemberCall(s.id(), name, args[0], args[1:]...)
	case len(args) == 1 && s.functions[name] == nil:
		return s.part(strings.ToLower(name), args[0])
	case isOrder(name) && args[0].Kind() == ast.CallKind && isOrder(args[0].AsCall().FunctionName()):
		middle := s.CopyExpr(args[0].AsCall().Args()[1])
		middle.RenumberIDs(func(int64) int64 { return s.id() })
		return s.NewCall(s.id(), operators.LogicalAnd, args[0], s.NewCall(s.id(), name, middle, args[1]))
	}
	return nil
}

func isOrder(name string) bool {
	return slices.Contains([]string{
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	}, name)
}

// only says whether all overloads of a function are called as members, or none.
func (s *shaping) only(name string, member bool) bool {
	function := s.functions[name]
	return function != nil && !slices.ContainsFunc(function.OverloadDecls(), func(overload *decls.OverloadDecl) bool {
		return overload.IsMemberFunction() != member
	})
}
