package main

func (f *partOfFacet) holds(c *check, object int, as cardinality) bool {
	whole, found := c.FindWhole(object, f.relation, func(whole int) bool {
		return f.whole.holds(&check{run: c.run}, whole, required)
	})
	switch {
	case as == prohibited && found:
		return c.explains && c.fails("is part of %s, which is prohibited", c.Describe(whole))
	case as != prohibited && !found:
		return c.explains && c.fails("is not %s", f.words())
	}
	return true
}
