package expression

import (
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// stepCost is what one value costs that is compared or added, in CEL's units.
const stepCost = 4

// costTrackers count what CEL's own count takes for one step although it goes through whole values.
func costTrackers() []cost.TrackerOption {
	trackers := []cost.TrackerOption{}
	for _, overload := range []string{
		overloads.Equals, overloads.NotEquals, overloads.InList, "sum_list", "min_list", "max_list",
	} {
		trackers = append(trackers, cost.OverloadTracker(overload, func(args []ref.Val, _ ref.Val) *uint64 {
			total := uint64(1)
			for _, arg := range args {
				total += stepCost * weight(arg)
			}
			return &total
		}))
	}
	return trackers
}

// weight is the number of values in a value, itself not included: of a tree's own or of those that CEL makes.
func weight(value any) uint64 {
	total := uint64(0)
	switch v := value.(type) {
	case map[string]any:
		for _, child := range v {
			total += 1 + weight(child)
		}
	case []any:
		for _, child := range v {
			total += 1 + weight(child)
		}
	case map[ref.Val]ref.Val:
		for _, child := range v {
			total += 1 + weight(child)
		}
	case []ref.Val:
		for _, child := range v {
			total += 1 + weight(child)
		}
	case ref.Val:
		// What is below a list or an object is reached through its own value.
		if v.Type() == types.ListType || v.Type() == types.MapType {
			return weight(v.Value())
		}
	}
	return total
}
