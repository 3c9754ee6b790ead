package spelling

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// call says the call of a function of what stands before the dot, or of nothing.
func (s *speller) call(of *phrase, name word) phrase {
	open := s.take()
	s.plain = name.text == "has"
	args := s.arguments(&name, of == nil)
	s.plain = false
	s.expect(")")
	if s.lost {
		return phrase{}
	}
	if of != nil && len(of.words) == 1 {
		switch space := of.words[0].text; {
		case space == "re":
			name.text, of = "re."+name.text, nil
		case slices.Contains(namespaces, space):
			of = nil
		}
	}
	if of != nil {
		args = slices.Insert(args, 0, *of)
	}
	if said, known := s.filled(name.text, args); known {
		return said
	}
	return s.called(of != nil, name, open, args)
}

// arguments reads those of a function, with loops and functions of one or two names among them.
func (s *speller) arguments(name *word, global bool) []phrase {
	var args []phrase
	kind, quantified := map[string]string{"any": "exists", "all": "all"}[strings.ToLower(name.text)]
	for !s.lost && !s.sees(")") {
		names := s.names("=>")
		if len(names) == 2 && name.text != "reduce" {
			// The index comes last there, and first here.
			slices.Reverse(names)
			name.text = strings.Replace(name.text, "map", "transformList", 1)
		}
		arg := s.expression()
		switch {
		case s.sees("for") && quantified && global:
			name.text = "list"
			arg = s.loop(kind, arg)
		case s.sees("for"):
			arg = s.loop("map", arg)
		}
		args = append(append(args, names...), arg)
		if !s.accept(",") {
			break
		}
	}
	return args
}

// filled says a call by its form, if it has one.
func (s *speller) filled(name string, args []phrase) (phrase, bool) {
	key := fmt.Sprint(strings.ToLower(name), "/", len(args))
	form, known := forms[key]
	switch {
	case anchors[key] != "":
		args[0] = s.inText(args[0], func(text string) string { return "^(?:" + text + anchors[key] })
	case key == "at/2" || key == "slice/2":
		args[1] = s.fromEnd(args[0], args[1])
	case key == "join/2" && isLiteral(args[0]):
		return s.say("$1.join($0)", args...), true
	case key == "reduce/5" && len(args[3].words) > 2 && args[3].level == levelPlus:
		// The sum (total, x) => total + f(x).
		rest := phrase{words: args[3].words[2:], level: levelPlus}
		form, known = "($0.map($2, $3).sum() + $4)", args[3].words[:2].String() == args[1].words.String()+"+ "
		args[3] = rest
	}
	said := s.say(form, args...)
	if key == "set/1" {
		said.kind = kindSet
	}
	return said, known
}

// called says a call by the name that the function has here, as f(x) or as x.f().
func (s *speller) called(member bool, name, open word, args []phrase) phrase {
	name.text = s.function(name.text)
	function := s.env.Functions()[name.text]
	isMacro := slices.ContainsFunc(s.env.Macros(), func(m cel.Macro) bool { return m.Function() == name.text })
	only := func(asMember bool) bool {
		other := func(o *decls.OverloadDecl) bool { return o.IsMemberFunction() != asMember }
		return function != nil && !isMacro && !slices.ContainsFunc(function.OverloadDecls(), other)
	}
	said := phrase{level: levelTight}
	if name.text == "timestamp" || name.text == "duration" {
		said.kind = kindTime
	}
	if len(args) > 0 && (member && !only(false) || only(true)) {
		said.words = slices.Concat(s.say("$0", args[0]).words, []word{{".", name.at}})
		args = args[1:]
	}
	said.words = slices.Concat(said.words, []word{name, open}, s.list(args...).words, []word{{")", s.at}})
	return said
}

// function is what rules call a function that other languages have by this name, or in other case.
func (s *speller) function(name string) string {
	if spelled, known := spellings[strings.ToLower(name)]; known && !s.env.HasFunction(name) {
		return spelled
	}
	for known := range s.env.Functions() {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	for _, macro := range s.env.Macros() {
		if strings.EqualFold(macro.Function(), name) {
			return macro.Function()
		}
	}
	return name
}

// length is the member that JavaScript has for the size of a list or a text.
const length = "length"

// IsForeign says whether CEL takes an expression that means nothing in it, but something in other languages:
// a < b < c, x[-1] and x.length.
func IsForeign(tree *ast.AST) bool {
	foreign := false
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(node ast.Expr) {
		switch node.Kind() {
		case ast.SelectKind:
			foreign = foreign || node.AsSelect().FieldName() == length && !node.AsSelect().IsTestOnly() &&
				tree.GetType(node.AsSelect().Operand().ID()).Kind() != types.MapKind
		case ast.CallKind:
			args := node.AsCall().Args()
			if node.AsCall().FunctionName() == operators.Index && args[1].Kind() == ast.LiteralKind {
				position, isInt := args[1].AsLiteral().(types.Int)
				foreign = foreign || isInt && position < 0
			}
			foreign = foreign || isOrder(node) && isOrder(args[0])
		default:
		}
	}))
	return foreign
}

func isOrder(node ast.Expr) bool {
	return node.Kind() == ast.CallKind && slices.Contains([]string{
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	}, node.AsCall().FunctionName())
}
