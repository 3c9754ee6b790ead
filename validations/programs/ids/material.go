package main

import "github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

func (f *materialFacet) holds(c *check, object int, as cardinality) bool {
	materials := c.Materials(object)
	fits, names := f.find(c, materials)
	switch {
	case fits != (as == prohibited), as == optional && len(materials) == 0:
		return true
	case fits:
		return c.explains && c.fails("has a material%s, which is prohibited", quoteAll(names))
	case len(materials) == 0:
		return c.explains && c.fails("has no material%s", expected(f.value))
	default:
		return c.explains && c.fails("has a material%s; required: %s", quoteAll(names), f.value)
	}
}

// find says whether one of the materials will do, and returns its name, or all of their names.
func (f *materialFacet) find(c *check, materials []int) (bool, []string) {
	if f.value == nil {
		for _, material := range materials {
			return true, c.MaterialNames(material)
		}
		return false, nil
	}
	var names []string
	for _, material := range materials {
		for _, name := range c.MaterialNames(material) {
			if f.value.matchesText(c.work, name) {
				return true, []string{name}
			}
			names = append(names, name)
		}
	}
	return false, names
}

// quoteAll are the names of a material for messages.
func quoteAll(names []string) string {
	if len(names) == 0 {
		return " without a name"
	}
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, findings.Quote(name))
	}
	return " named " + listed(quoted)
}
