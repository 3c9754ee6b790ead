package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
)

// specification says what objects it is for, and what they must have.
type specification struct {
	name, identifier, instructions string
	// versions are the schemas that it is written for.
	versions    []string
	cardinality cardinality
	// applicable selects the objects: those that have all of these facets.
	applicable   []facet
	requirements []*requirement
	// key is the check that objects are counted as that must not be there.
	key findings.Key
}

// requirement is a facet that applicable objects must have, may have or must not have.
type requirement struct {
	facet        facet
	cardinality  cardinality
	instructions string
	// key is the check that its findings are counted as.
	key findings.Key
}

// cardinality says whether something must, may or must not be there.
type cardinality string

// The cardinalities.
const (
	required   cardinality = "required"
	optional   cardinality = "optional"
	prohibited cardinality = "prohibited"
)

// Forms that the information about a text must have.
var (
	authorForm = regexp.MustCompile(`^[^@]+@[^.]+\..+$`)
	dateForm   = regexp.MustCompile(`^-?\d{4,}-\d{2}-\d{2}(?:Z|[+-]\d{2}:\d{2})?$`)
)

func (r *reader) readRoot(root *xpath.Node) []*specification {
	r.attributes(root)
	parts := r.parts(root, part{"info", 1, 1}, part{"specifications", 1, 1})
	for _, n := range parts["info"] {
		r.readInfo(n)
	}
	var specifications []*specification
	for _, list := range parts["specifications"] {
		r.attributes(list)
		for _, n := range r.parts(list, part{"specification", 1, many})["specification"] {
			if r.refusals >= maxFaults {
				return nil
			}
			specifications = append(specifications, r.readSpecification(n))
		}
	}
	return specifications
}

func (r *reader) readInfo(n *xpath.Node) {
	r.attributes(n)
	parts := r.parts(n, part{"title", 1, 1}, part{"copyright", 0, 1}, part{"version", 0, 1},
		part{"description", 0, 1}, part{"author", 0, 1}, part{"date", 0, 1}, part{"purpose", 0, 1},
		part{"milestone", 0, 1})
	for name, found := range parts {
		for _, one := range found {
			text := strings.TrimSpace(r.text(one))
			switch {
			case name == "author" && !authorForm.MatchString(text):
				r.refuse(one, faultStructure, "the author %s is not an e-mail address", findings.Quote(text))
			case name == "date" && !dateForm.MatchString(text):
				r.refuse(one, faultStructure, "the date %s is not written as 2026-01-31", findings.Quote(text))
			}
		}
	}
}

func (r *reader) readSpecification(n *xpath.Node) *specification {
	values := r.attributes(n, "name", "ifcVersion", "identifier", "description", "instructions")
	s := &specification{
		name: oneLine(values["name"]), identifier: oneLine(values["identifier"]),
		instructions: oneLine(values["instructions"]), versions: strings.Fields(values["ifcVersion"]),
	}
	if _, named := values["name"]; !named {
		r.refuse(n, faultStructure, "<specification> needs the attribute name")
	}
	s.key = s.check("ids.prohibited", "")
	r.readVersions(n, s)
	parts := r.parts(n, part{"applicability", 1, 1}, part{"requirements", 0, 1})
	if len(parts["applicability"]) == 0 {
		return s
	}
	applicability := parts["applicability"][0]
	s.cardinality = r.readOccurs(applicability)
	facets := r.parts(applicability, part{"entity", 0, 1}, part{"partOf", 0, many}, part{"classification", 0, many},
		part{"attribute", 0, many}, part{"property", 0, many}, part{"material", 0, many})
	classes := r.everyClass()
	for _, name := range facetNames() {
		for _, one := range facets[name] {
			f := r.readFacet(one, nil)
			s.applicable = append(s.applicable, f)
			if e, ok := f.(*entityFacet); ok && e.name != nil {
				classes = r.classesOf(e)
			}
			r.audit(one, f, classes)
		}
	}
	for _, requirements := range parts["requirements"] {
		r.readRequirements(requirements, s, classes)
	}
	return s
}

// readVersions reads the schemas that a specification is for.
func (r *reader) readVersions(n *xpath.Node, s *specification) {
	r.versions = nil
	if len(s.versions) == 0 {
		r.refuse(n, faultStructure, "<specification> needs the attribute ifcVersion: one or more of %s",
			strings.Join(ifc.Names(), ", "))
	}
	for _, name := range s.versions {
		if !slices.Contains(ifc.Names(), name) {
			r.refuse(n, faultStructure, "the version %s is %s; the known ones are %s",
				findings.Quote(name), findings.NotAllowed(name, ifc.Names()), strings.Join(ifc.Names(), ", "))
			continue
		}
		schema, err := r.schemas[name]()
		if err != nil {
			r.refuse(n, faultStructure, "the facts of %s cannot be read: %s", name, err)
			continue
		}
		r.versions = append(r.versions, schema)
	}
}

// readOccurs reads how many objects must be applicable. The defaults are those of XML Schema.
func (r *reader) readOccurs(n *xpath.Node) cardinality {
	values := r.attributes(n, "minOccurs", "maxOccurs")
	least, given := values["minOccurs"]
	if !given {
		least = "1"
	}
	switch most := values["maxOccurs"]; {
	case least == "1" && most == "unbounded":
		return required
	case least == "0" && most == "unbounded":
		return optional
	case least == "0" && most == "0":
		return prohibited
	}
	r.refuse(n, faultCardinality, `minOccurs and maxOccurs of <applicability> must be 1 and unbounded (required), `+
		`0 and unbounded (optional) or 0 and 0 (prohibited); maxOccurs must be written`)
	return required
}

func (r *reader) readRequirements(n *xpath.Node, s *specification, classes []classSet) {
	r.attributes(n, "description")
	if s.cardinality == prohibited && len(r.elements(n)) > 0 {
		r.refuse(n, faultCardinality, "a prohibited specification must not have requirements, because the objects "+
			"that it applies to must not exist")
		return
	}
	if len(r.elements(n)) == 0 {
		r.refuse(n, faultStructure, "<requirements> has no requirement: leave the element out, or add a requirement")
	}
	for _, child := range r.elements(n) {
		if child.Namespace() != namespaceText || !slices.Contains(facetNames(), child.Local()) {
			var parts []part
			for _, name := range facetNames() {
				parts = append(parts, part{name: name})
			}
			r.refuseUnknown(child, n, parts)
			continue
		}
		one := &requirement{cardinality: required}
		one.facet = r.readFacet(child, one)
		one.key = s.check("ids."+strings.ToLower(child.Local()), ": "+one.facet.words())
		s.requirements = append(s.requirements, one)
		r.audit(child, one.facet, classes)
		r.auditCardinality(child, one)
	}
}

// oneLine is a text with its white space collapsed.
func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// check is what findings of a code are counted as.
func (s *specification) check(code, what string) findings.Key {
	return findings.Key{Code: code, Group: s.label() + what, Severity: findings.SeverityError}
}

// label is what findings call a specification.
func (s *specification) label() string {
	if s.identifier != "" && s.name != "" {
		return s.identifier + " " + s.name
	}
	return s.identifier + s.name
}

// id is what findings refer to.
func (s *specification) id() string {
	if s.identifier != "" {
		return s.identifier
	}
	return s.name
}
