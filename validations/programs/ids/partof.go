package main

func (f *partOfFacet) holds(c *check, object int, as cardinality) bool {
	whole, found := c.findWhole(f, object)
	switch {
	case as == prohibited && found:
		return c.explains && c.fails("is part of %s, which is prohibited", c.describe(whole))
	case as != prohibited && !found:
		return c.explains && c.fails("is not %s", f.words())
	}
	return true
}

// findWhole looks for a whole that a facet asks for, from the nearest ones on.
func (c *check) findWhole(f *partOfFacet, object int) (int, bool) {
	kinds := partKinds(f.relation)
	seen := []int{object}
	known := map[int]bool{object: true}
	for i := 0; i < len(seen); i++ {
		for _, kind := range kinds {
			for _, e := range c.from(kind, seen[i]) {
				whole := int(e.to)
				if !c.work.spend(costOfLookup) {
					return 0, false
				}
				if known[whole] {
					continue
				}
				if f.whole.holds(&check{model: c.model}, whole, required) {
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
