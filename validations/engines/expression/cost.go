package expression

import (
	"iter"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Costs in CEL's units: stepCost of one value that is compared or added, partCost of reading a text as a time. Of
// comparing texts, which is faster than anything else, charsOfValue characters cost as much as a value.
const (
	stepCost     = 4
	partCost     = 8
	charsOfValue = 64
)

// setOverloads compare each element of a list with each of another.
var setOverloads = []string{
	"list_sets_contains_list", "list_sets_equivalent_list", "list_sets_intersects_list", "list_hasOnly_list",
	"list_hasAny_list", "list_hasAll_list", "list_hasExactly_list",
}

// costModels are what functions cost, by the lengths of their lists, when a rule is saved. Those of the libraries that
// are replaced here assume the worst, which would refuse most of their uses: what they really cost is counted.
func costModels() []cel.EnvOption {
	target, result := cost.Length(cost.Target()), cost.Length(cost.Result())
	models := []cost.OverloadModel{
		cost.Overload("lists_range", calling(result), cost.ResultSize(cost.AtMost(cost.Const(expectedSize)))),
		cost.MemberOverload("list_distinct", calling(cost.Scale(target, stepCost)),
			cost.ResultSize(cost.AtMost(target))),
		cost.MemberOverload("list_flatten", calling(result),
			cost.ResultSize(cost.AtMost(cost.Scale(target, stepCost)))),
	}
	for _, id := range setOverloads {
		first, second := cost.Arg(0), cost.Arg(1)
		model := cost.Overload
		if strings.HasPrefix(id, "list_has") {
			first, second, model = cost.Target(), cost.Arg(0), cost.MemberOverload
		}
		both := cost.Sum(cost.Length(first), cost.Length(second))
		models = append(models, model(id, calling(cost.Scale(both, stepCost))))
	}
	for _, id := range []string{"sum_list", "min_list", "max_list", "avg_list", "mean_list", "percentile_list_dyn"} {
		models = append(models, cost.Overload(id, calling(cost.Scale(cost.Length(cost.Arg(0)), stepCost))))
	}
	for _, name := range timeParts {
		for _, id := range []string{"string_" + name, "string_" + name + "_with_tz"} {
			models = append(models, cost.MemberOverload(id, cost.EvalCost(cost.Const(partCost))))
		}
	}
	return []cel.EnvOption{cel.CostModel(models...)}
}

// calling is the cost of a call beside that of the work in it.
func calling(work cost.QuantityExpr) cost.OverloadModelOption {
	return cost.EvalCost(cost.Sum(cost.Const(cost.CallCost), work))
}

// costTrackers count what CEL's own count takes for one step although it goes through whole values.
func costTrackers() []cost.TrackerOption {
	trackers := []cost.TrackerOption{
		cost.OverloadTracker("list_distinct", tracked(distinctCost)),
		// Texts that are put together take memory for each of their characters.
		cost.OverloadTracker(overloads.AddString, tracked(func(args []ref.Val) uint64 {
			return uint64(len(textOf(args[0])) + len(textOf(args[1])))
		})),
	}
	for _, overload := range []string{overloads.Equals, overloads.NotEquals, overloads.InList, "list_contains"} {
		trackers = append(trackers, cost.OverloadTracker(overload, tracked(func(args []ref.Val) uint64 {
			total := uint64(1)
			for _, arg := range args {
				total += stepCost * weight(arg)
			}
			return total
		})))
	}
	for _, overload := range setOverloads {
		trackers = append(trackers, cost.OverloadTracker(overload, tracked(pairsCost)))
	}
	return trackers
}

// dynamicCosts count calls whose overload is only known when the values are, because a document may hold any type. CEL
// takes each of them for one step.
type dynamicCosts struct{}

// CallCost answers nothing for calls whose overload is known; those have trackers.
func (dynamicCosts) CallCost(function, overloadID string, args []ref.Val, _ ref.Val) *uint64 {
	if overloadID != "" {
		return nil
	}
	total := uint64(1)
	switch function {
	case operators.Add:
		total += uint64(len(textOf(args[0])) + len(textOf(args[1])))
	case operators.In:
		if _, isList := args[1].(traits.Lister); isList {
			total += stepCost * (weight(args[0]) + weight(args[1]))
		}
	case "sort", "@sortByAssociatedKeys":
		n := length(args[0])
		total += stepCost * n * uint64(max(0, bits.Len64(n)))
	case "reverse", "math.@min", "math.@max", "contains":
		total += stepCost * weight(args[0])
	default:
		return nil
	}
	return &total
}

func tracked(total func(args []ref.Val) uint64) cost.FunctionTracker {
	return func(args []ref.Val, _ ref.Val) *uint64 {
		sum := total(args)
		return &sum
	}
}

// pairsCost is what it costs to compare each element of a list with each of another.
func pairsCost(args []ref.Val) uint64 {
	a, b := args[0], args[1]
	return 1 + stepCost*min(length(a)*weight(b), length(b)*weight(a))
}

// distinctCost is what distinct costs: it compares only the lists and objects with each other.
func distinctCost(args []ref.Val) uint64 {
	looked, compared, below := uint64(1), uint64(0), uint64(0)
	for it := listOf(args[0]).Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		if _, simple := lookupKey(item); simple {
			looked += 1 + weight(item)
			continue
		}
		compared++
		below += 1 + weight(item)
	}
	return stepCost * (looked + compared*below)
}

func length(value ref.Val) uint64 { return uint64(max(0, count(value))) }

func count(value ref.Val) int {
	if sized, ok := value.(traits.Sizer); ok {
		n, _ := sized.Size().(types.Int)
		return int(n)
	}
	return 0
}

// weight is the number of values in a value, itself not included: of a tree's own or of those that CEL makes. Long
// texts count as several.
func weight(value any) uint64 {
	switch v := value.(type) {
	case string:
		return uint64(len(v) / charsOfValue)
	case types.String:
		return uint64(len(v) / charsOfValue)
	case map[string]any:
		return weightOf(maps.Values(v))
	case []any:
		return weightOf(slices.Values(v))
	case map[ref.Val]ref.Val:
		return weightOf(maps.Values(v))
	case []ref.Val:
		return weightOf(slices.Values(v))
	case []string:
		return weightOf(slices.Values(v))
	case []int:
		return uint64(len(v))
	case ref.Val:
		// What is below a list or an object is reached through its own value.
		if v.Type() == types.ListType || v.Type() == types.MapType {
			return weight(v.Value())
		}
	}
	return 0
}

func weightOf[T any](children iter.Seq[T]) uint64 {
	total := uint64(0)
	for child := range children {
		total += 1 + weight(child)
	}
	return total
}
