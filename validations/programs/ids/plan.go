package main

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
)

// classes are the objects that a facet for classes is for.
type classes struct {
	// own says it of each class by its number.
	own []bool
	// mapped are classes that IFC2X3 knows by the class of the type.
	mapped []ifc.Mapping
}

// plan says which classes of objects specifications need of a model.
type plan struct {
	model *model
	kept  []bool
}

// newPlan returns for each class, by its number, whether its objects are kept.
func newPlan(m *model, all []*specification) []bool {
	p := &plan{model: m, kept: make([]bool, len(m.schema.Classes))}
	p.keep("IFCRELDEFINESBYTYPE", "IFCTYPEOBJECT")
	for _, s := range all {
		isForAll := true
		for _, f := range s.applicable {
			p.need(f)
			if e, ok := f.(*entityFacet); ok {
				p.keepClasses(e)
				isForAll = false
			}
		}
		if isForAll {
			for i := range p.kept {
				p.kept[i] = true
			}
		}
		for _, q := range s.requirements {
			p.need(q.facet)
		}
	}
	return p.kept
}

// keep adds classes and what inherits from them.
func (p *plan) keep(names ...string) {
	for _, c := range p.model.schema.Classes {
		for _, name := range names {
			if c.Is(name) {
				p.kept[c.Number] = true
			}
		}
	}
}

// keepClasses adds the classes that a facet is for.
func (p *plan) keepClasses(f *entityFacet) {
	set := p.model.classes[f]
	for i, is := range set.own {
		p.kept[i] = p.kept[i] || is
	}
	for _, mapping := range set.mapped {
		p.kept[mapping.Occurrence.Number] = true
	}
}

// need adds what a facet looks at.
func (p *plan) need(f facet) {
	switch f := f.(type) {
	case *entityFacet:
		p.model.prepareClasses(f)
	case *attributeFacet:
		p.model.prepareAttributes(f)
		p.keepUnits()
	case *propertyFacet:
		p.keep("IFCRELDEFINESBYPROPERTIES", "IFCPROPERTYSETDEFINITION", "IFCPROPERTY", "IFCPHYSICALQUANTITY",
			"IFCPROPERTYENUMERATION", "IFCEXTENDEDPROPERTIES", "IFCMATERIALPROPERTIES", "IFCPROFILEPROPERTIES")
		p.keepUnits()
	case *classificationFacet:
		p.keep("IFCRELASSOCIATESCLASSIFICATION", "IFCEXTERNALREFERENCERELATIONSHIP", "IFCCLASSIFICATION",
			"IFCCLASSIFICATIONREFERENCE")
	case *materialFacet:
		p.keep("IFCRELASSOCIATESMATERIAL")
		for _, c := range p.model.schema.Classes {
			isProperties := c.Is("IFCMATERIALPROPERTIES") || strings.HasSuffix(c.Name, "RELATIONSHIP")
			if strings.HasPrefix(c.Name, "IFCMATERIAL") && !isProperties {
				p.kept[c.Number] = true
			}
		}
	case *partOfFacet:
		p.model.prepareClasses(f.whole)
		p.keep(partRelations(f.relation)...)
		// Wholes are objects, and so are the parts between an object and its whole.
		p.keep("IFCOBJECTDEFINITION")
	}
}

func (p *plan) keepUnits() {
	p.keep("IFCPROJECT", "IFCUNITASSIGNMENT", "IFCNAMEDUNIT", "IFCDERIVEDUNIT", "IFCDERIVEDUNITELEMENT",
		"IFCMEASUREWITHUNIT")
}

// partRelations are the classes of relations that a facet follows.
func partRelations(relation string) []string {
	if relation == "" {
		relation = strings.Join(relations(), " ")
	}
	return strings.Fields(relation)
}

// prepareClasses finds the classes that a facet is for.
func (m *model) prepareClasses(f *entityFacet) {
	set := &classes{own: make([]bool, len(m.schema.Classes))}
	for _, c := range m.schema.Classes {
		set.own[c.Number] = f.name.matchesText(m.work, c.Name)
	}
	for _, mapping := range m.schema.Mapped() {
		if f.name.matchesText(m.work, mapping.Name) {
			set.mapped = append(set.mapped, mapping)
		}
	}
	m.classes[f] = set
}

// prepareAttributes finds the places of the attributes that a facet asks for.
func (m *model) prepareAttributes(f *attributeFacet) {
	places := make([][]int, len(m.schema.Classes))
	matched := map[string]bool{}
	for _, c := range m.schema.Classes {
		for i, a := range c.Attributes {
			is, known := matched[a.Name]
			if !known {
				is = f.name.matchesText(m.work, a.Name)
				matched[a.Name] = is
			}
			if is && !a.Derived {
				places[c.Number] = append(places[c.Number], i)
			}
		}
	}
	m.attributes[f] = places
}
