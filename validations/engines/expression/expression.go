// Package expression compiles the CEL expressions of rules, and their messages, within bounds of cost.
package expression

import (
	"context"
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	celoperators "cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Bounds of the parser, and how often an evaluation checks the context.
const (
	maxExpressionDepth = 50
	maxExpressionNodes = 2000
	maxRegexProgram    = 1000
	interruptEvery     = 100
	expectedSize       = 100
	maxComprehensions  = 2
	maxBindings        = 10
	// evaluationCost is what an evaluation costs beside its steps.
	evaluationCost = 10
)

// Expression is a compiled CEL expression and the names it reads of each variable.
type Expression struct {
	program cel.Program
	AST     *cel.Ast
	// most is the limit of one evaluation.
	most uint64
	// loops says that it has a loop, which the end of a context interrupts.
	loops bool
	// cheaper says how to write a rule with loops that costs too much.
	cheaper string
	// advice says what people who know other languages might have meant, where values do not fit.
	advice string
}

var joins = map[string]bool{celoperators.LogicalAnd: true, celoperators.LogicalOr: true, celoperators.LogicalNot: true}

// Members are the members of a variable that an expression uses.
type Members struct {
	Names []string
	// Whole says that the variable is also used other than by a member's name.
	Whole bool
}

// NewEnv declares the variables of one kind of rule. Nothing in it reads a clock or leaves the process, and nothing
// depends on a configuration, so that it fits together always or never.
func NewEnv(limits engine.Limits, variables ...cel.EnvOption) *cel.Env {
	options := slices.Concat(libraryFunctions(limits), []cel.EnvOption{
		cel.ParserExpressionSizeLimit(limits.MaxRuleChars),
		cel.ParserRecursionLimit(maxExpressionDepth),
		cel.CrossTypeNumericComparisons(true),
		cel.ExpressionNodeLimit(maxExpressionNodes),
		cel.RegexProgramSizeLimit(maxRegexProgram),
		cel.ASTValidators(patternValidator{limits}, constantValidator{},
			cel.ValidateComprehensionNestingLimit(maxComprehensions),
			cel.ValidateBindNestingLimit(maxBindings)),
	}, variables)
	env, _ := cel.NewCustomEnv(options...)
	return env
}

// compile checks an expression and what it may cost.
func (c *Rules) compile(env *cel.Env, source string) (*Expression, error) {
	if len(source) > c.Limits.MaxRuleChars {
		return nil, fmt.Errorf("the expression is longer than %d characters", c.Limits.MaxRuleChars)
	}
	checked, found := check(env, source)
	if found != nil {
		return nil, c.mistake(source, found)
	}
	estimate, _ := env.EstimateCost(checked, sizes{}) // What was checked has a cost.
	if estimate.Max > c.Limits.MaxRuleCost {
		return nil, fmt.Errorf("the expression may cost %d units, %d are allowed%s", estimate.Max, c.Limits.MaxRuleCost,
			c.cheaper())
	}
	program, err := c.plan(env, checked)
	if err != nil {
		return nil, fmt.Errorf("plan expression: %w", err)
	}
	e := &Expression{program: program, AST: checked, most: c.Limits.MaxRuleCost}
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(e.look))
	if e.loops {
		e.cheaper = c.cheaper()
	}
	return e, nil
}

// look finds loops, and what people who know other languages might have meant otherwise.
func (e *Expression) look(node ast.Expr) {
	switch node.Kind() {
	case ast.ComprehensionKind:
		e.loops = true
		if loop := node.AsComprehension(); loop.HasIterVar2() {
			e.advice = fmt.Sprintf("; of two names the first is the index: list.all(%s, %s, ...)",
				loop.IterVar(), loop.IterVar2())
		}
	case ast.CallKind:
		isSelect := func(arg ast.Expr) bool { return arg.Kind() == ast.SelectKind }
		if joins[node.AsCall().FunctionName()] && slices.ContainsFunc(node.AsCall().Args(), isSelect) {
			e.advice = "; &&, || and ! are for what is true or false, such as has(x.y) and x.y != ''"
		}
	default:
	}
}

// plan makes a program that keeps within the costs.
func (c *Rules) plan(env *cel.Env, checked *cel.Ast, options ...cel.EvalOption) (cel.Program, error) {
	patterns := matching{c.Limits, map[string]engine.Pattern{}}
	return env.Program(checked, cel.CostLimit(c.Limits.MaxRuleCost), cel.CostTracking(dynamicCosts{}),
		cel.CostTrackerOptions(append(costTrackers(), patterns.trackers()...)...), patterns.compiled(),
		cel.InterruptCheckFrequency(interruptEvery), cel.EvalOptions(options...))
}

// Work is what the expressions of one run may cost together.
type Work struct{ most, spent uint64 }

// NewWork returns the work that the rules of one step may take.
func NewWork(limits engine.Limits) *Work {
	return &Work{most: limits.MaxStepCost}
}

// Allow adds units of work to those that may be taken.
func (w *Work) Allow(units uint64) { w.most += units }

// Spend counts units of work. Its error says that the check has used up its share.
func (w *Work) Spend(units uint64) error {
	if w.spent += units; w.spent > w.most {
		return &engine.ExhaustedError{Reason: fmt.Sprintf("needed more than %d units of work for its rules", w.most)}
	}
	return nil
}

// Holds evaluates a condition. The reason is set where it could not be evaluated; the error is that of the context or
// of the work.
func (e *Expression) Holds(ctx context.Context, work *Work, variables map[string]any) (bool, string, error) {
	value, _, reason, err := e.value(ctx, work, variables)
	if err != nil || reason != "" {
		return false, reason, err
	}
	truth, ok := value.(types.Bool)
	if !ok {
		return false, "the expression is neither true nor false", nil
	}
	return bool(truth), "", nil
}

// value evaluates the expression. The results are those of Holds. It watches the context only where there is a loop: to
// do so takes longer than most conditions on a row, and CEL looks at it in loops only.
func (e *Expression) value(
	ctx context.Context, work *Work, variables map[string]any,
) (ref.Val, *cel.EvalDetails, string, error) {
	var value ref.Val
	var details *cel.EvalDetails
	var err error
	if e.loops {
		value, details, err = e.program.ContextEval(ctx, variables)
	} else {
		value, details, err = e.program.Eval(variables)
	}
	if spent := details.ActualCost(); spent != nil {
		if overspent := work.Spend(evaluationCost + min(*spent, e.most)); overspent != nil {
			return nil, nil, "", overspent
		}
	}
	switch {
	case err == nil:
		return value, details, "", nil
	case ctx.Err() != nil:
		return nil, nil, "", fmt.Errorf("evaluate rule: %w", ctx.Err())
	default:
		return nil, nil, e.reason(err.Error()), nil
	}
}

// Reads returns what the expression uses of a variable: v.name and v["name"] read one member.
func (e *Expression) Reads(variable string) Members {
	return e.reads(func(node ast.Expr) bool { return isIdent(node, variable) })
}

// ReadsBelow returns what the expression uses of one member of a variable.
func (e *Expression) ReadsBelow(variable, member string) Members {
	return e.reads(func(node ast.Expr) bool {
		of, name, ok := Selected(node)
		return ok && isIdent(of, variable) && name == member
	})
}

// reads returns the members that the expression uses of what is meant.
func (e *Expression) reads(isMeant func(node ast.Expr) bool) Members {
	found := Members{}
	all := 0
	ast.PostOrderVisit(e.AST.NativeRep().Expr(), ast.NewExprVisitor(func(node ast.Expr) {
		if isMeant(node) {
			all++
		}
		if of, name, ok := Selected(node); ok && isMeant(of) {
			found.Names = append(found.Names, name)
		}
	}))
	found.Whole = all > len(found.Names)
	return found
}

// Selected returns what a node selects a member of, and the name of the member: of v.name and v["name"].
func Selected(node ast.Expr) (ast.Expr, string, bool) {
	switch node.Kind() {
	case ast.SelectKind:
		return node.AsSelect().Operand(), node.AsSelect().FieldName(), true
	case ast.CallKind:
		args := node.AsCall().Args()
		if node.AsCall().FunctionName() == celoperators.Index && len(args) == 2 && args[1].Kind() == ast.LiteralKind {
			name, ok := args[1].AsLiteral().(types.String)
			return args[0], string(name), ok
		}
	default:
	}
	return nil, "", false
}

func isIdent(node ast.Expr, name string) bool {
	return node.Kind() == ast.IdentKind && node.AsIdent() == name
}

// sizes gives the cost estimate the expected sizes of texts, lists and objects. They are those of ordinary documents,
// so that two lists can be joined: the estimate is for clear messages, the limit at run time bounds what is larger.
type sizes struct{}

// EstimateSize returns the size of values that are not literals of the expression.
func (sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	if node.ComputedSize() != nil {
		return nil
	}
	return &cost.SizeEstimate{Max: expectedSize}
}

// EstimateCallCost leaves functions to their models.
//
//nolint:gocritic // the signature is CEL's
func (sizes) EstimateCallCost(_, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	return nil
}
