package main

import (
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

// facet describes something that objects have.
type facet interface {
	// words say what it asks for, for people.
	words() string
	// holds says whether an object has what the facet asks for, as its cardinality says. It notes the reason where not.
	holds(c *check, object int, as cardinality) bool
}

// facetNames are the elements of facets, in the order that they have in an applicability.
func facetNames() []string {
	return []string{"entity", "partOf", "classification", "attribute", "property", "material"}
}

// entityFacet asks for a class, and for a predefined type of it.
type entityFacet struct {
	name, predefined *constraint
}

// attributeFacet asks for attributes that have a value.
type attributeFacet struct {
	name, value *constraint
}

// classificationFacet asks for a reference to a classification system.
type classificationFacet struct {
	system, value *constraint
}

// propertyFacet asks for properties or quantities.
type propertyFacet struct {
	set, name, value *constraint
	// dataType is the type of the value in upper case; empty where any will do.
	dataType string
}

// materialFacet asks for a material.
type materialFacet struct {
	value *constraint
}

// partOfFacet asks for a whole that the object belongs to, directly or not.
type partOfFacet struct {
	// relation is one of model.Relations(); empty where any will do.
	relation string
	whole    *entityFacet
}

func (f *entityFacet) words() string {
	if f.predefined == nil {
		return "class " + f.name.String()
	}
	return "class " + f.name.String() + " with the predefined type " + f.predefined.String()
}

func (f *attributeFacet) words() string {
	return "attribute " + f.name.String() + valued(f.value)
}

func (f *classificationFacet) words() string {
	return "classification by " + f.system.String() + valued(f.value)
}

func (f *propertyFacet) words() string {
	typed := ""
	if f.dataType != "" {
		typed = " of the type " + f.dataType
	}
	return "property " + f.name.String() + " in " + f.set.String() + typed + valued(f.value)
}

func (f *materialFacet) words() string {
	return "material" + valued(f.value)
}

func (f *partOfFacet) words() string {
	words := "part of " + f.whole.words()
	if f.relation != "" {
		words += " by " + f.relation
	}
	return words
}

func valued(value *constraint) string {
	if value == nil {
		return ""
	}
	return " with the value " + value.String()
}

// readFacet reads a facet of an applicability, or of requirements where a requirement is given to be filled.
//
//nolint:ireturn // which facet it is depends on the element
func (r *reader) readFacet(n *xpath.Node, to *requirement) facet {
	r.facets++
	if r.facets == maxFacets+1 {
		r.refuse(n, "ids.too_large", "the IDS has more than %d facets", maxFacets)
	}
	var known []string
	switch n.Local() {
	case "property":
		known = append(known, "dataType")
	case "partOf":
		known = append(known, "relation")
	}
	if to != nil {
		known = append(known, "instructions")
		if n.Local() != "entity" {
			known = append(known, "cardinality")
		}
		if slices.Contains([]string{"classification", "property", "material"}, n.Local()) {
			known = append(known, "uri")
		}
	}
	values := r.attributes(n, known...)
	if to != nil {
		to.instructions = oneLine(values["instructions"])
		if written, given := values["cardinality"]; given {
			to.cardinality = cardinality(written)
		}
	}
	return r.readParts(n, values)
}

//nolint:ireturn // which facet it is depends on the element
func (r *reader) readParts(n *xpath.Node, values map[string]string) facet {
	one := func(parts map[string][]*xpath.Node, name string) *constraint {
		if len(parts[name]) == 0 {
			return nil
		}
		return r.readConstraint(parts[name][0])
	}
	switch n.Local() {
	case "entity":
		return r.readEntity(n)
	case "attribute":
		parts := r.parts(n, part{"name", 1, 1}, part{"value", 0, 1})
		return &attributeFacet{one(parts, "name"), one(parts, "value")}
	case "classification":
		parts := r.parts(n, part{"value", 0, 1}, part{"system", 1, 1})
		return &classificationFacet{one(parts, "system"), one(parts, "value")}
	case "property":
		parts := r.parts(n, part{"propertySet", 1, 1}, part{"baseName", 1, 1}, part{"value", 0, 1})
		return &propertyFacet{
			one(parts, "propertySet"), one(parts, "baseName"), one(parts, "value"), values["dataType"],
		}
	case "material":
		return &materialFacet{one(r.parts(n, part{"value", 0, 1}), "value")}
	default:
		f := &partOfFacet{relation: strings.Join(strings.Fields(values["relation"]), " "), whole: &entityFacet{}}
		for _, whole := range r.parts(n, part{"entity", 1, 1})["entity"] {
			r.attributes(whole)
			f.whole = r.readEntity(whole)
		}
		return f
	}
}

func (r *reader) readEntity(n *xpath.Node) *entityFacet {
	parts := r.parts(n, part{"name", 1, 1}, part{"predefinedType", 0, 1})
	f := &entityFacet{}
	for _, name := range parts["name"] {
		f.name = r.readConstraint(name)
	}
	for _, predefined := range parts["predefinedType"] {
		f.predefined = r.readConstraint(predefined)
	}
	return f
}
