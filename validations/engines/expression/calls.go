package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// call says the call of a function of what stands before the dot, or of nothing.
func (s *speller) call(of *phrase, name word) phrase {
	outside := s.plain
	s.plain = name.text == "has"
	var args []phrase
	kind := map[string]string{"any": "exists", "all": "all"}[strings.ToLower(name.text)]
	open := s.left[0]
	for s.take(); !s.lost && !s.sees(")"); {
		names := s.names("=>")
		if len(names) == 2 && name.text != "reduce" {
			// The index comes last there, and first here.
			slices.Reverse(names)
			if name.text == "map" {
				name.text = "transformList"
			}
		}
		arg := s.expression()
		if s.sees("for") {
			if arg = s.loop(cmp.Or(kind, "map"), arg); kind != "" && of == nil {
				s.expect(")")
				return arg
			}
		}
		if args = append(append(args, names...), arg); !s.accept(",") {
			break
		}
	}
	s.expect(")")
	s.plain = outside
	if s.lost {
		return phrase{}
	}
	return s.named(of, name, open, args)
}

// named says a function, which other languages may call otherwise, as f(x) or as x.f().
func (s *speller) named(of *phrase, name, open word, args []phrase) phrase {
	if of != nil && len(of.words) == 1 {
		space := strings.ToLower(of.words[0].text)
		if dotted := s.function(space + "." + name.text); strings.Contains(dotted, ".") && s.env.HasFunction(dotted) {
			of.words[0].text, name.text, _ = strings.Cut(dotted, ".")
		} else if slices.Contains(namespaces, space) {
			of = nil
			if space == "re" {
				name.text = "re." + name.text
			}
		}
	}
	if of != nil {
		args = slices.Insert(args, 0, *of)
	}
	key := fmt.Sprint(strings.ToLower(name.text), "/", len(args))
	around, isAnchored := anchored[key]
	switch form, known := forms[key]; {
	case known:
		if key == "at/2" || key == "slice/2" {
			args[1] = s.fromEnd(args[0], args[1])
		}
		if isAnchored {
			args[0].words = s.inText(args[0].words, func(text string) string { return around[0] + text + around[1] })
		}
		return s.say(form, args...)
	case key == "join/2" && of != nil && literal.MatchString(of.words[0].text) && len(of.words) == 1:
		return s.say("$1.join($0)", args...)
	case key == "reduce/5" && len(args[3].words) > 2 && args[3].level == levelPlus:
		// The sum (total, x) => total + f(x).
		if text := textOfWords(args[3].words); strings.HasPrefix(text, args[1].words[0].text+" + ") {
			args[3] = phrase{words: args[3].words[2:], level: levelPlus}
			return s.say("($0.map($2, $3).sum() + $4)", args...)
		}
	}
	name.text = s.function(name.text)
	if slices.Contains(columnar, name.text) && len(args) > 0 {
		args[0] = s.column(args[0])
	}
	function := s.env.Functions()[name.text]
	only := func(member bool) bool {
		return function != nil && !slices.ContainsFunc(function.OverloadDecls(), func(o *decls.OverloadDecl) bool {
			return o.IsMemberFunction() != member
		})
	}
	isMember := len(args) > 0 && (of != nil && !only(false) || only(true))
	said := phrase{level: levelTight, time: name.text == "timestamp" || name.text == "duration"}
	if isMember {
		said.words = append(s.say("$0", args[0]).words, word{".", name.at})
		args = args[1:]
	}
	said.words = slices.Concat(said.words, []word{name, {"(", open.at}}, s.list(",", args).words, []word{{")", s.at}})
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

// column says a path such as lines.amount so that the members of all elements of lists are read.
func (s *speller) column(of phrase) phrase {
	for i, w := range of.words {
		if len(of.words) == 1 || !identifier.MatchString(w.text) && (i%2 == 0 || w.text != ".") {
			return of
		}
	}
	said := one(of.words[0])
	for i := 2; i < len(of.words); i += 2 {
		said = s.say(memberOrSize+"($0, '"+of.words[i].text+"')", said)
	}
	return said
}

// memberOrSize is the function behind x.length: a member of an object, the size of a list or a text. Of a list it also
// has other members, those of its elements.
const memberOrSize = "memberOrSize"

// sizeNames are the members that other languages have for the size of a list or a text.
var sizeNames = []string{"length", "len", "size", "count"}

// IsSize says whether a member stands for the size of what has no members.
func IsSize(name string) bool { return slices.Contains(sizeNames, name) }

// sizeFunction declares memberOrSize.
func sizeFunction() cel.EnvOption {
	return cel.Function(memberOrSize, cel.Overload("member_or_size", []*cel.Type{cel.DynType, cel.StringType},
		cel.DynType, cel.BinaryBinding(memberOf)))
}

func memberOf(value, name ref.Val) ref.Val {
	switch v := value.(type) {
	case traits.Mapper:
		return v.Get(name)
	case traits.Sizer:
		if IsSize(textOf(name)) {
			return v.Size()
		}
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(value)
	}
	var members []ref.Val
	for it := list.Iterator(); it.HasNext() == types.True; {
		found := memberOf(it.Next(), name)
		if types.IsUnknownOrError(found) {
			return found
		}
		if below, isList := found.(traits.Lister); isList {
			for it := below.Iterator(); it.HasNext() == types.True; {
				members = append(members, it.Next())
			}
			continue
		}
		members = append(members, found)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, members)
}

// isForeign says whether CEL can check an expression that means nothing in it, but something in other languages:
// a < b < c, x[-1], x.length and sum(lines.amount).
func isForeign(tree *ast.AST) bool {
	foreign := func(node ast.NavigableExpr) bool {
		switch node.Kind() {
		case ast.SelectKind:
			return IsSize(node.AsSelect().FieldName()) && !node.AsSelect().IsTestOnly()
		case ast.CallKind:
			call := node.AsCall()
			name, args := call.FunctionName(), call.Args()
			switch {
			case isOrder(name):
				return args[0].Kind() == ast.CallKind && isOrder(args[0].AsCall().FunctionName())
			case name == operators.Index:
				position, isLiteral := args[1].AsLiteral().(types.Int)
				return isLiteral && position < 0
			case slices.Contains(columnar, name):
				return slices.ContainsFunc(node.Children(), func(of ast.NavigableExpr) bool {
					return of.Kind() == ast.SelectKind
				})
			}
		default:
		}
		return false
	}
	return len(ast.MatchDescendants(ast.NavigateAST(tree), foreign)) > 0
}

func isOrder(name string) bool {
	return slices.Contains([]string{
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	}, name)
}
