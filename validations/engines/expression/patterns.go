package expression

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// PatternCost is what the work of a pattern costs in units of expressions.
func PatternCost(work int64) uint64 {
	const share = 16
	return 1 + uint64(max(0, work))/share
}

// matching is the function matches behind a bound on the work of each pattern.
type matching struct {
	limits engine.Limits
	// known are the patterns that are written as texts, compiled once.
	known map[string]engine.Pattern
}

// declared compiles the patterns that are only known when an expression is evaluated.
func (m matching) declared() cel.EnvOption {
	texts := []*cel.Type{cel.StringType, cel.StringType}
	binding := cel.SingletonBinaryBinding(func(text, pattern ref.Val) ref.Val {
		if pattern.Type() != types.StringType {
			return types.MaybeNoSuchOverloadErr(pattern)
		}
		compiled, err := engine.CompilePattern(textOf(pattern), m.limits)
		if err != nil {
			return types.WrapErr(err)
		}
		return m.match(compiled, text)
	})
	return cel.Function(overloads.Matches, cel.Overload(overloads.Matches, texts, cel.BoolType),
		cel.MemberOverload(overloads.MatchesString, texts, cel.BoolType), binding)
}

func (m matching) match(pattern engine.Pattern, value ref.Val) ref.Val {
	text, ok := value.(types.String)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(value)
	case pattern.Work(string(text)) > m.limits.MaxPatternWork:
		return types.NewErr("the pattern costs too much on a text of this length")
	}
	return types.Bool(pattern.RE.MatchString(string(text)))
}

// compiled compiles the other patterns with their expression.
func (m matching) compiled() cel.ProgramOption {
	return cel.OptimizeRegex(&interpreter.RegexOptimization{
		Function: overloads.Matches, RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, source string) (interpreter.InterpretableCall, error) {
			pattern, err := engine.CompilePattern(source, m.limits)
			m.known[source] = pattern
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
				func(args ...ref.Val) ref.Val { return m.match(pattern, args[0]) }), err
		},
	})
}

// trackers count the work of patterns: that of the largest one for those that were not compiled before.
func (m matching) trackers() []cost.TrackerOption {
	worst := tracked(func(args []ref.Val) uint64 {
		text := textOf(args[0])
		work := maxRegexProgram * int64(len(text)+1)
		if pattern, known := m.known[textOf(args[1])]; known {
			work = pattern.Work(text)
		}
		return PatternCost(work)
	})
	return []cost.TrackerOption{
		cost.OverloadTracker(overloads.Matches, worst), cost.OverloadTracker(overloads.MatchesString, worst),
	}
}
