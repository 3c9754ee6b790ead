package main

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
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
	run  *run
	kept []bool
}

// newPlan returns for each class, by its number, whether its objects are kept.
func newPlan(r *run, all []*specification) []bool {
	p := &plan{run: r, kept: make([]bool, len(r.schema.Classes))}
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
	for _, c := range p.run.schema.Classes {
		for _, name := range names {
			if c.Is(name) {
				p.kept[c.Number] = true
			}
		}
	}
}

// keepClasses adds the classes that a facet is for.
func (p *plan) keepClasses(f *entityFacet) {
	set := p.run.classes[f]
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
		p.run.prepareClasses(f)
	case *attributeFacet:
		p.run.prepareAttributes(f)
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
		for _, c := range p.run.schema.Classes {
			isProperties := c.Is("IFCMATERIALPROPERTIES") || strings.HasSuffix(c.Name, "RELATIONSHIP")
			if strings.HasPrefix(c.Name, "IFCMATERIAL") && !isProperties {
				p.kept[c.Number] = true
			}
		}
	case *partOfFacet:
		p.run.prepareClasses(f.whole)
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
		relation = strings.Join(model.Relations(), " ")
	}
	return strings.Fields(relation)
}

// prepareClasses finds the classes that a facet is for.
func (r *run) prepareClasses(f *entityFacet) {
	set := &classes{own: make([]bool, len(r.schema.Classes))}
	for _, c := range r.schema.Classes {
		set.own[c.Number] = f.name.matchesText(r.work, c.Name)
	}
	for _, mapping := range r.schema.Mapped() {
		if f.name.matchesText(r.work, mapping.Name) {
			set.mapped = append(set.mapped, mapping)
		}
	}
	r.classes[f] = set
}

// prepareAttributes finds the places of the attributes that a facet asks for.
func (r *run) prepareAttributes(f *attributeFacet) {
	places := make([][]int, len(r.schema.Classes))
	matched := map[string]bool{}
	for _, c := range r.schema.Classes {
		for i, a := range c.Attributes {
			is, known := matched[a.Name]
			if !known {
				is = f.name.matchesText(r.work, a.Name)
				matched[a.Name] = is
			}
			if is && !a.Derived {
				places[c.Number] = append(places[c.Number], i)
			}
		}
	}
	r.attributes[f] = places
}
