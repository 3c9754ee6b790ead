package main

import (
	"iter"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
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
				findings.Quote(p.name), findings.Quote(group.name))
		}
		if !f.accepts(c, p, group.name) {
			return true, false
		}
	}
	return found, true
}

// visible are the properties that a facet names. One of the object hides that of its type.
func (m *model) visible(f *propertyFacet, group setGroup) iter.Seq[property] {
	return func(yield func(property) bool) {
		var seen []string
		for _, set := range group.sets {
			above := len(seen)
			for p := range m.properties(set) {
				if !m.work.spend(costOfLookup) {
					return
				}
				if !f.name.matchesText(m.work, p.name) || slices.Contains(seen[:above], p.name) {
					continue
				}
				seen = append(seen, p.name)
				if !yield(p) {
					return
				}
			}
		}
	}
}

// accepts says whether one of the values of a property will do.
func (f *propertyFacet) accepts(c *check, p property, set string) bool {
	if p.values == nil {
		return c.explains && c.fails("has the property %s in %s as %s, whose values are not compared",
			findings.Quote(p.name), findings.Quote(set), p.form)
	}
	for v := range p.values {
		if !c.work.spend(1) {
			return false
		}
		typed := f.dataType == "" || v.typeName() == f.dataType
		if typed && !c.isEmpty(v.value, v.of) &&
			(f.value == nil || f.value.matches(c.work, c.scalar(v.value, v.of, v.unit))) {
			return true
		}
	}
	return c.explains && f.explain(c, p, findings.Quote(p.name)+" in "+findings.Quote(set))
}

// explain records why no value of a property matches, and returns false.
func (f *propertyFacet) explain(c *check, p property, where string) bool {
	var values, types []string
	for v := range p.values {
		if c.isEmpty(v.value, v.of) {
			continue
		}
		types = append(types, v.typeName())
		if f.dataType == "" || v.typeName() == f.dataType {
			values = append(values, written(v.value)+c.convertedNote(v.value, v.of, v.unit))
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
func (m *model) propertySets(f *propertyFacet, object int) []setGroup {
	var groups []setGroup
	add := func(object, kind int) {
		for _, e := range m.from(kind, object) {
			set := int(e.to)
			name := m.text(set, "Name")
			if !f.set.matchesText(m.work, name) {
				continue
			}
			at := slices.IndexFunc(groups, func(g setGroup) bool { return g.name == name })
			if at < 0 {
				at = len(groups)
				groups = append(groups, setGroup{name: name})
			}
			groups[at].sets = append(groups[at].sets, set)
		}
	}
	add(object, ofSet)
	add(object, ofExtension)
	if above, ok := m.typeOf(object); ok {
		add(above, ofSet)
	}
	return groups
}
