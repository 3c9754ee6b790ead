package ids

import (
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
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
			return c.explains && c.fails("has no property %s in %s%s", f.name, engine.Quote(group.name), expected(f.value))
		}
	}
	return true
}

// holdsIn checks the properties in the sets of one name. It says whether there are any, and whether they are as the
// cardinality asks for.
func (f *propertyFacet) holdsIn(c *check, group setGroup, as cardinality) (bool, bool) {
	found := false
	var seen []string
	for _, set := range group.sets {
		begun := len(seen)
		for p := range c.properties(set) {
			if !c.work.spend(costOfLookup) {
				return false, false
			}
			if !f.name.matchesText(c.work, p.name) {
				continue
			}
			// A property of the object hides that of its type.
			if slices.Contains(seen[:begun], p.name) {
				continue
			}
			seen = append(seen, p.name)
			found = true
			if as == prohibited {
				return true, c.explains && c.fails("has the property %s in %s, which is prohibited",
					engine.Quote(p.name), engine.Quote(group.name))
			}
			if !f.accepts(c, p, group.name) {
				return true, false
			}
		}
	}
	return found, true
}

// accepts says whether one of the values of a property will do.
func (f *propertyFacet) accepts(c *check, p property, set string) bool {
	where := engine.Quote(p.name) + " in " + engine.Quote(set)
	if p.values == nil {
		return c.explains && c.fails("has the property %s as %s, whose values are not compared", where, p.form)
	}
	filled, typed := false, false
	var values, types []string
	for v := range p.values {
		if !c.work.spend(1) {
			return false
		}
		if c.isEmpty(v.value, v.of) {
			continue
		}
		filled = true
		of := v.typeName()
		if f.dataType != "" && of != f.dataType {
			if c.explains {
				types = append(types, of)
			}
			continue
		}
		typed = true
		if f.value == nil || f.value.matches(c.work, c.scalar(v.value, v.of, v.unit)) {
			return true
		}
		if c.explains {
			values = append(values, written(v.value)+c.convertedNote(v.value, v.of, v.unit))
		}
	}
	switch {
	case !filled:
		return c.explains && c.fails("has the property %s without a value%s", where, expected(f.value))
	case !typed:
		slices.Sort(types)
		return c.explains && c.fails("has the property %s of the type %s, and %s is required",
			where, listed(slices.Compact(types)), f.dataType)
	default:
		return c.explains && c.fails("has the property %s with the value %s, and %s is required", where, listed(values), f.value)
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
