package main

import (
	"iter"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
)

// setGroup is the property sets of one name that an object has: its own, then those of its type.
type setGroup struct {
	name string
	sets []int
}

func (f *propertyFacet) holds(c *check, object int, as cardinality) bool {
	groups := c.propertySets(f, object)
	if as == required && len(groups) == 0 {
		return c.explains && c.fails("has no property set %s, where the %s is required", f.set, f.words())
	}
	for _, group := range groups {
		found, ok := f.holdsIn(c, group, as)
		if !ok {
			return false
		}
		if as == required && !found {
			return c.explains && c.fails("has no property %s in %s%s", f.name, findings.Quote(group.name),
				expected(f.value))
		}
	}
	return true
}

// holdsIn checks the properties in the sets of one name. It says whether there are any, and whether they are as the
// cardinality asks for.
func (f *propertyFacet) holdsIn(c *check, group setGroup, as cardinality) (bool, bool) {
	found := false
	for p := range c.visible(f, group) {
		found = true
		if as == prohibited {
			return true, c.explains && c.fails("has the property %s in %s, which is prohibited",
				findings.Quote(p.Name), findings.Quote(group.name))
		}
		if !f.accepts(c, p, group.name) {
			return true, false
		}
	}
	return found, true
}

// visible are the properties that a facet names. One of the object hides that of its type.
func (r *run) visible(f *propertyFacet, group setGroup) iter.Seq[model.Property] {
	return func(yield func(model.Property) bool) {
		var seen []string
		for _, set := range group.sets {
			above := len(seen)
			for p := range r.Properties(set) {
				if !f.name.matchesText(r.work, p.Name) || slices.Contains(seen[:above], p.Name) {
					continue
				}
				seen = append(seen, p.Name)
				if !yield(p) {
					return
				}
			}
		}
	}
}

// accepts says whether one of the values of a property will do.
func (f *propertyFacet) accepts(c *check, p model.Property, set string) bool {
	if p.Values == nil {
		return c.explains && c.fails("has the property %s in %s as %s, whose values are not compared",
			findings.Quote(p.Name), findings.Quote(set), p.Class)
	}
	for v := range p.Values {
		if !c.work.Spend(1) {
			return false
		}
		typed := f.dataType == "" || v.TypeName() == f.dataType
		if typed && !c.IsEmpty(v) &&
			(f.value == nil || f.value.matches(c.work, c.scalar(v))) {
			return true
		}
	}
	return c.explains && f.explain(c, p, findings.Quote(p.Name)+" in "+findings.Quote(set))
}

// explain records why no value of a property matches, and returns false.
func (f *propertyFacet) explain(c *check, p model.Property, where string) bool {
	var values, types []string
	for v := range p.Values {
		if c.IsEmpty(v) {
			continue
		}
		types = append(types, v.TypeName())
		if f.dataType == "" || v.TypeName() == f.dataType {
			values = append(values, written(v.Value)+c.convertedNote(v))
		}
	}
	switch {
	case len(types) == 0:
		return c.fails("has the property %s without a value%s", where, expected(f.value))
	case len(values) == 0:
		slices.Sort(types)
		return c.fails("has the property %s of the type %s; required: %s",
			where, listed(slices.Compact(types)), f.dataType)
	default:
		return c.fails("has the property %s with the value %s; required: %s", where, listed(values), f.value)
	}
}

// propertySets are the sets that a facet names, by their names.
func (r *run) propertySets(f *propertyFacet, object int) []setGroup {
	var groups []setGroup
	for set, name := range r.PropertySets(object) {
		if !f.set.matchesText(r.work, name) {
			continue
		}
		at := slices.IndexFunc(groups, func(g setGroup) bool { return g.name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, setGroup{name: name})
		}
		groups[at].sets = append(groups[at].sets, set)
	}
	return groups
}
