package expression

import (
	"errors"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// guards are functions of the libraries whose result may be much longer than what they are given, or which compare each
// element of a list with each of another: a few characters in an expression could make a text of many gigabytes, or
// keep a processor busy for hours. Each counts what it would make or compare before it calls the library's.
var guards = map[string]func(limits engine.Limits, args []ref.Val) error{
	"replace": makes, "join": makes, "split": makes, "format": makes,
	"sets.contains": compares, "sets.equivalent": compares, "sets.intersects": compares,
	"hasOnly": compares, "hasAny": compares, "hasAll": compares, "hasExactly": compares, "distinct": compares,
}

func makes(limits engine.Limits, args []ref.Val) error {
	if madeSize(args) > limits.MaxTreeBytes {
		return errors.New("the text would be too long")
	}
	return nil
}

func compares(limits engine.Limits, args []ref.Val) error {
	total := distinctCost
	if len(args) > 1 {
		total = pairsCost
	}
	if total(args) > limits.MaxRuleCost {
		return errCost
	}
	return nil
}

// guarded are the functions of the libraries behind their guards.
func guarded(limits engine.Limits) []cel.EnvOption {
	var options []cel.EnvOption
	for name, guard := range guards {
		function := unguarded().Functions()[name]
		bindings, _ := function.Bindings() // Those of the libraries are without contradictions.
		calls := map[string]*functions.Overload{}
		for _, binding := range bindings {
			calls[binding.Operator] = binding
		}
		var overloads []cel.FunctionOpt
		for _, overload := range function.OverloadDecls() {
			call := calls[overload.ID()]
			declare, binding := cel.Overload, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				if err := guard(limits, args); err != nil {
					return types.WrapErr(err)
				}
				return called(call, args)
			})
			if overload.IsMemberFunction() {
				declare = cel.MemberOverload
			}
			overloads = append(overloads, declare(overload.ID(), overload.ArgTypes(), overload.ResultType(), binding))
		}
		options = append(options, cel.Function(name, overloads...))
	}
	return options
}

func called(call *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case call.Unary != nil:
		return call.Unary(args[0])
	case call.Binary != nil:
		return call.Binary(args[0], args[1])
	default:
		return call.Function(args...)
	}
}

// unguarded has the functions of the libraries, which always fit together.
//
//nolint:gochecknoglobals // It is a constant that takes a while to make.
var unguarded = sync.OnceValue(func() *cel.Env {
	library, _ := cel.NewCustomEnv(libraries(engine.Limits{})...)
	return library
})

// madeSize is about how many bytes a function makes of texts: its arguments, and the last text for each place where it
// is put, or the header of a text for each place where a text is split.
func madeSize(args []ref.Val) int64 {
	const header = 16
	text, isText := args[0].(types.String)
	size, places, inserted := int64(0), int64(count(args[0])), int64(header)
	for i, arg := range args {
		size += textSize(arg)
		if put, ok := arg.(types.String); ok && i > 0 && (i > 1 || !isText) {
			inserted = int64(len(put))
		}
	}
	if isText && len(args) > 1 {
		places = int64(strings.Count(string(text), textOf(args[1]))) + 1
	}
	return size + places*inserted
}

func textOf(value ref.Val) string {
	text, _ := value.(types.String)
	return string(text)
}

// textSize is about how many bytes a value has as a text.
func textSize(value ref.Val) int64 {
	const other = 24
	switch v := value.(type) {
	case types.String:
		return int64(len(v))
	case traits.Mapper:
		size := int64(0)
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			size += textSize(key) + textSize(v.Get(key))
		}
		return size
	case traits.Lister:
		size := int64(0)
		for it := v.Iterator(); it.HasNext() == types.True; {
			size += textSize(it.Next())
		}
		return size
	default:
		return other
	}
}
