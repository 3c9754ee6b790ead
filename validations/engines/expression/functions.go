package expression

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// The versions of cel-go's libraries are fixed, so that an update of cel-go changes no stored rule.
const (
	stringsVersion  = 5
	mathVersion     = 3
	listsVersion    = 5
	setsVersion     = 1
	loopsVersion    = 1
	bindingsVersion = 1
)

// libraryFunctions are those that all expressions have beside the standard ones. What this package declares after a
// library replaces functions of the library whose memory or time would have no bound.
func libraryFunctions(limits engine.Limits) ([]cel.EnvOption, error) {
	texts, err := textFunctions(limits)
	if err != nil {
		return nil, err
	}
	return slices.Concat(standardLibrary(), []cel.EnvOption{
		ext.Strings(ext.StringsVersion(stringsVersion)),
		ext.Math(ext.MathVersion(mathVersion)),
		ext.Lists(ext.ListsVersion(listsVersion), ext.ListsMaxRangeSize(int64(limits.MaxValues))),
		ext.Sets(ext.SetsVersion(setsVersion)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(loopsVersion)),
		ext.Bindings(ext.BindingsVersion(bindingsVersion)),
	}, texts, listFunctions(), timeFunctions(), shareFunctions(), costModels()), nil
}

func shareFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("percent", cel.Overload("percent_int_int", []*cel.Type{cel.IntType, cel.IntType}, cel.StringType,
			cel.BinaryBinding(percent))),
		cel.Function("share", cel.Overload("share_int_int", []*cel.Type{cel.IntType, cel.IntType}, cel.DoubleType,
			cel.BinaryBinding(share))),
	}
}

// share is the part of a whole; of nothing it is 0, since an empty table breaks no limit.
//
//nolint:ireturn // CEL's functions return this interface
func share(part, whole ref.Val) ref.Val {
	a, okA := part.(types.Int)
	b, okB := whole.(types.Int)
	if !okA || !okB {
		return types.MaybeNoSuchOverloadErr(part)
	}
	if b == 0 {
		return types.Double(0)
	}
	return types.Double(float64(a) / float64(b))
}

// percent is share as a text with one decimal.
//
//nolint:ireturn // CEL's functions return this interface
func percent(part, whole ref.Val) ref.Val {
	ratio, ok := share(part, whole).(types.Double)
	if !ok {
		return types.MaybeNoSuchOverloadErr(part)
	}
	return types.String(fmt.Sprintf("%.1f", 100*float64(ratio)))
}
