package main

import (
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// assigned is a classification that an object has: its system, and the codes from its own to the most general one.
type assigned struct {
	system string
	codes  []string
}

func (f *classificationFacet) holds(c *check, object int, as cardinality) bool {
	classifications := c.classifications(object)
	at := slices.IndexFunc(classifications, func(a assigned) bool { return f.isOfSystem(c, a) && f.accepts(c, a) })
	switch {
	case (at >= 0) != (as == prohibited), as == optional && len(classifications) == 0:
		return true
	case as == prohibited:
		a := classifications[at]
		return c.explains && c.fails("is classified by %s%s, which is prohibited",
			findings.Quote(a.system), codesNote(a.codes))
	default:
		return c.explains && f.explain(c, classifications)
	}
}

// explain records why no classification matches, and returns false.
func (f *classificationFacet) explain(c *check, classifications []assigned) bool {
	var codes []string
	inSystem := false
	for _, a := range classifications {
		if f.isOfSystem(c, a) {
			inSystem = true
			codes = append(codes, a.codes...)
		}
	}
	if !inSystem {
		return c.fails("has no %s", f.words())
	}
	return c.fails("is classified by %s%s; required: %s", f.system, codesNote(codes), f.value)
}

func (f *classificationFacet) isOfSystem(c *check, a assigned) bool {
	return a.system != "" && f.system.matchesText(c.work, a.system)
}

// accepts says whether one of the codes of a classification will do.
func (f *classificationFacet) accepts(c *check, a assigned) bool {
	return f.value == nil ||
		slices.ContainsFunc(a.codes, func(code string) bool { return f.value.matchesText(c.work, code) })
}

func codesNote(codes []string) string {
	if len(codes) == 0 {
		return " without a code"
	}
	var quoted []string
	for _, code := range codes {
		quoted = append(quoted, findings.Quote(code))
	}
	return " as " + listed(quoted)
}

// classifications are those of an object, and those of its type by systems that the object does not use.
func (m *model) classifications(object int) []assigned {
	var found []assigned
	for _, e := range m.from(ofClassification, object) {
		found = append(found, m.assigned(int(e.to)))
	}
	above, ok := m.typeOf(object)
	if !ok {
		return found
	}
	own := len(found)
	for _, e := range m.from(ofClassification, above) {
		inherited := m.assigned(int(e.to))
		if !slices.ContainsFunc(found[:own], func(a assigned) bool { return a.system == inherited.system }) {
			found = append(found, inherited)
		}
	}
	return found
}

// maxLevels is how many references lead from an object to its classification system at most.
const maxLevels = 100

// assigned walks from a reference to its system. The name is empty where the way does not lead there.
func (m *model) assigned(reference int) assigned {
	a := assigned{}
	for range maxLevels {
		if m.class(reference).Is("IFCCLASSIFICATION") {
			a.system = m.text(reference, "Name")
			return a
		}
		for _, attribute := range []string{"Identification", "ItemReference"} {
			if code := m.text(reference, attribute); code != "" {
				a.codes = append(a.codes, code)
			}
		}
		source, ok := m.object(reference, m.named(reference, "ReferencedSource"))
		if !ok {
			return a
		}
		reference = source
	}
	return a
}
