package expression

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// hints are what to write instead of what people know from other languages. They are looked for in CEL's message and,
// on its second line, the expression.
var hints = []struct {
	found *regexp.Regexp
	words string
}{
	{hint(`input '(like|regexp|rlike)'|reference to 're'`), "write x.matches('^[A-Z]+$$')"},
	{hint(`reference to 'reduce'`), "use list.sum(i, x), or min, max, avg, all or exists"},
	{hint(`reference to 'isnumber'`), "write type(x) == double, or x.matches('^[0-9]+$$') of a text"},
	{hint(`\b(count|sum|average)ifs?\(`), "use list.filter(i, x) and size, sum or avg of it"},
	{hint(`duration, (int|double)\)`), "compare a duration with one, such as duration('30d')"},
	{hint(`reference to '(now|today|current_\w+)'`), "a rule has no clock; write timestamp('2026-03-01T06:00:00Z')"},
	{
		hint(`reference to '(all|exists|filter|map|where)'|(input|identifier:|input|at) '?for\b`),
		"a loop is x.all(i, i > 1), x.exists(i, i > 1), x.filter(i, i > 1) or x.map(i, i * 2)",
	},
	{hint(`(input|identifier:|reference to) '?(if|then|else|when)\b`), "write condition ? a : b"},
	{hint(`error at: '\^|input '\*'`), "for powers write x * x"},
	{hint(`error at: '[=&|]`), "use == to compare, && and || to join"},
}

func hint(found string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + found)
}

// mistake says what CEL finds wrong with an expression, and where.
func (c *Rules) mistake(source string, found *cel.Error) error {
	// The parser lists all that it would take instead, and the name of a container that expressions do not have.
	words, _, _ := strings.Cut(found.Message, " expecting {")
	words, _, _ = strings.Cut(words, " (in container")
	if strings.Contains(words, "nesting limit") {
		words += c.cheaper()
	}
	advice := []string{words}
	for _, h := range hints {
		text := found.Message + "\n" + source
		if at := h.found.FindStringSubmatchIndex(text); at != nil {
			advice = append(advice, string(h.found.ExpandString(nil, h.words, text, at)))
		}
	}
	words = engine.ClipTo(strings.Join(advice, "; "), 4*engine.MaxQuoted)
	line, column := found.Location.Line(), found.Location.Column()+1
	switch {
	case line < 1 || column < 1:
		// What is wrong with the expression as a whole has no place.
		return errors.New(words)
	case strings.Contains(source, "\n"):
		return fmt.Errorf("line %d, column %d: %s", line, column, words)
	default:
		return fmt.Errorf("column %d: %s", column, words)
	}
}

// errCost is in the words of CEL's own limit.
var errCost = errors.New("cost limit exceeded")

// reason says why an expression cannot be evaluated.
func (e *Expression) reason(message string) string {
	switch {
	case strings.Contains(message, "cost limit"):
		return "it costs too much" + e.cheaper
	case strings.Contains(message, "no such overload"):
		return "it does not fit the types of the values, or a value is missing" + e.advice
	case strings.Contains(message, "no such key"):
		message += "; ask whether it is there with has(x.name)" + e.advice
	}
	return engine.ClipTo(message, 2*engine.MaxQuoted)
}

// patternValidator refuses patterns that RE2 does not have, and says why, which CEL's own validator does not.
type patternValidator struct {
	limits engine.Limits
}

// Name is that of CEL's validator, which it replaces.
func (patternValidator) Name() string { return cel.ValidateRegexLiterals().Name() }

// Validate looks at the patterns that are written as texts.
func (v patternValidator) Validate(_ *cel.Env, _ cel.ValidatorConfig, tree *ast.AST, issues *cel.Issues) {
	for _, call := range ast.MatchDescendants(ast.NavigateAST(tree), ast.FunctionMatcher(overloads.Matches)) {
		args := call.AsCall().Args()
		if len(args) == 0 || args[0].Kind() != ast.LiteralKind {
			continue
		}
		pattern, ok := args[0].AsLiteral().Value().(string)
		if !ok {
			continue
		}
		if _, err := engine.CompilePattern(pattern, v.limits); err != nil {
			issues.ReportErrorAtID(args[0].ID(), "%s", strings.Replace(err.Error(), "error parsing regexp: ", "", 1))
		}
	}
}

// constantValidator refuses calls that cannot be evaluated whatever the document, such as a time that is none.
type constantValidator struct{}

// Name tells it from CEL's validators.
func (constantValidator) Name() string { return "constants" }

// Validate evaluates the largest parts that read nothing of a document.
func (constantValidator) Validate(env *cel.Env, _ cel.ValidatorConfig, tree *ast.AST, issues *cel.Issues) {
	largest := func(node ast.NavigableExpr) bool {
		parent, below := node.Parent()
		return node.Kind() == ast.CallKind && isConstant(node) && (!below || !isConstant(parent))
	}
	for _, part := range ast.MatchDescendants(ast.NavigateAST(tree), largest) {
		program, err := env.PlanProgram(ast.NewAST(part, ast.NewSourceInfo(nil)))
		if err == nil {
			_, _, err = program.Eval(cel.NoVars())
		}
		if err != nil {
			issues.ReportErrorAtID(part.ID(), "%s", err.Error())
		}
	}
}

func isConstant(node ast.NavigableExpr) bool {
	varies := func(child ast.NavigableExpr) bool { return !isConstant(child) }
	return node.Kind() == ast.LiteralKind ||
		node.Kind() == ast.CallKind && !slices.ContainsFunc(node.Children(), varies)
}
