package main

func (f *entityFacet) holds(c *check, object int, _ cardinality) bool {
	if !c.isOfClass(f, object) {
		return c.explains && c.fails("is not of the class %s", f.name)
	}
	if f.predefined == nil {
		return true
	}
	types := c.PredefinedTypes(object)
	for _, name := range types {
		if f.predefined.matchesText(c.work, name) {
			return true
		}
	}
	if len(types) == 0 {
		return c.explains && c.fails("has no predefined type; required: %s", f.predefined)
	}
	return c.explains && c.fails("has the predefined type %s; required: %s", types[0], f.predefined)
}

// isOfClass says whether an object is of a class that a facet is for, by its own class or by that of its type.
func (r *run) isOfClass(f *entityFacet, object int) bool {
	set := r.classes[f]
	class := r.Class(object).Number
	if set.own[class] {
		return true
	}
	if len(set.mapped) == 0 {
		return false
	}
	for _, mapping := range set.mapped {
		if mapping.Occurrence.Number == class && r.HasType(object, mapping.Type) {
			return true
		}
	}
	return false
}
