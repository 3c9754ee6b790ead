package model

// The relations of parts.
const (
	relationAggregates = "IFCRELAGGREGATES"
	relationGroup      = "IFCRELASSIGNSTOGROUP"
	relationContained  = "IFCRELCONTAINEDINSPATIALSTRUCTURE"
	relationNests      = "IFCRELNESTS"
	relationVoids      = "IFCRELVOIDSELEMENT IFCRELFILLSELEMENT"
)

// Relations are those that make an object part of another, each as the names of its classes.
func Relations() []string {
	return []string{relationAggregates, relationGroup, relationContained, relationNests, relationVoids}
}

// FindWhole looks for a whole that suits among those that an object is part of by a relation, or by any where it is
// empty. It goes from the nearest ones on.
func (m *Model) FindWhole(object int, relation string, suits func(whole int) bool) (int, bool) {
	kinds := partKinds(relation)
	seen := []int{object}
	known := map[int]bool{object: true}
	for i := 0; i < len(seen); i++ {
		for _, kind := range kinds {
			for _, e := range m.from(kind, seen[i]) {
				whole := int(e.to)
				if !m.work.Spend(costOfLookup) {
					return 0, false
				}
				if known[whole] {
					continue
				}
				if suits(whole) {
					return whole, true
				}
				known[whole] = true
				seen = append(seen, whole)
			}
		}
	}
	return 0, false
}

// partKinds are the kinds of edges that a relation has.
func partKinds(relation string) []int {
	switch relation {
	case relationAggregates:
		return []int{ofAggregate}
	case relationGroup:
		return []int{ofGroup}
	case relationContained:
		return []int{ofContainer}
	case relationNests:
		return []int{ofNest}
	case relationVoids:
		return []int{ofVoid, ofFill}
	default:
		return []int{ofAggregate, ofGroup, ofContainer, ofNest, ofVoid, ofFill}
	}
}
