package main

import (
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
)

// classSet has the classes of one schema that objects may be of.
type classSet struct {
	schema  *ifc.Schema
	classes []*ifc.Class
}

// maxAudit bounds what the audit of a text costs, in names that are compared and bytes that patterns read.
const maxAudit = 50_000_000

// everyClass has the classes of all objects, for each version of the specification.
func (r *reader) everyClass() []classSet {
	return r.classesOf(&entityFacet{name: &constraint{}})
}

// classesOf has the classes that a facet asks for and that objects can be of.
func (r *reader) classesOf(f *entityFacet) []classSet {
	sets, known := r.classes[f]
	if known {
		return sets
	}
	for _, schema := range r.versions {
		set := classSet{schema: schema}
		for _, c := range r.named(f.name, schema) {
			if !c.Abstract {
				set.classes = append(set.classes, c)
			}
		}
		for _, m := range schema.Mapped() {
			if f.name.matchesText(r.work, m.Name) && !slices.Contains(set.classes, m.Occurrence) {
				set.classes = append(set.classes, m.Occurrence)
			}
		}
		sets = append(sets, set)
	}
	r.classes[f] = sets
	return sets
}

// named are the classes whose names will do.
func (r *reader) named(name *constraint, schema *ifc.Schema) []*ifc.Class {
	var found []*ifc.Class
	if name.isList() {
		for _, l := range name.values {
			if c := schema.Class(l.text); c != nil && r.work.Spend(1+len(found)) && !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
		return found
	}
	for _, c := range schema.Classes {
		if name.matchesText(r.work, c.Name) {
			found = append(found, c)
		}
	}
	return found
}

// audit looks for what makes a facet of objects of these classes meaningless.
func (r *reader) audit(n *xpath.Node, f facet, classes []classSet) {
	if r.refusals >= maxFaults {
		return
	}
	switch f := f.(type) {
	case *entityFacet:
		r.auditEntity(n, f)
		r.auditOverlap(n, f, classes)
	case *partOfFacet:
		if f.relation != "" && !slices.Contains(model.Relations(), f.relation) {
			r.refuse(n, faultValue, "the relation %s is %s; the known ones are %s", findings.Quote(f.relation),
				findings.NotAllowed(f.relation, model.Relations()), strings.Join(model.Relations(), ", "))
		}
		r.auditEntity(n, f.whole)
		r.auditParts(n, f, classes)
	case *attributeFacet:
		r.auditAttribute(n, f, classes)
	case *propertyFacet:
		r.auditProperty(n, f)
	}
	if r.work.Err() != nil {
		r.work = model.NewWork(maxAudit)
		r.refusals = maxFaults
		r.faults = append(r.faults, port.Fault{
			Pointer: "/ids", Code: "ids.too_large", Detail: "checking the IDS takes too much work",
		})
	}
}

// auditEntity looks for names that no object can have.
func (r *reader) auditEntity(n *xpath.Node, f *entityFacet) {
	if f.name == nil || r.refusals >= maxFaults {
		return
	}
	sets := r.classesOf(f)
	for i, schema := range r.versions {
		for _, name := range f.name.values {
			r.auditName(n, name.text, schema)
		}
		if len(f.name.values) == 0 && len(sets[i].classes) == 0 {
			r.refuse(n, faultClass, "%s has no class %s", schema.Name, f.name)
		}
		if f.predefined != nil && len(sets[i].classes) > 0 {
			r.auditPredefined(n, f, sets[i])
		}
	}
}

func (r *reader) auditName(n *xpath.Node, name string, schema *ifc.Schema) {
	if r.refusals >= maxFaults {
		return
	}
	class := schema.Class(name)
	isMapped := slices.ContainsFunc(schema.Mapped(), func(m ifc.Mapping) bool { return m.Name == name })
	switch {
	case isMapped:
	case class == nil && schema.Class(strings.ToUpper(name)) != nil:
		r.refuse(n, faultClass, "the class %s must be written in upper case", findings.Quote(name))
	case class == nil:
		var names []string
		for _, c := range schema.Classes {
			names = append(names, c.Name)
		}
		detail := ""
		if meant := findings.Nearest(name, names); meant != "" {
			detail = "; did you mean " + meant + "?"
		}
		r.refuse(n, faultClass, "%s has no class %s%s", schema.Name, findings.Quote(name), detail)
	case class.Abstract:
		r.refuse(n, faultClass, "no object is of the class %s itself, as it is abstract in %s: name its subclasses",
			name, schema.Name)
	}
}

// auditPredefined looks for predefined types that the classes do not have.
func (r *reader) auditPredefined(n *xpath.Node, f *entityFacet, set classSet) {
	var values []string
	for _, c := range set.classes {
		values = append(values, predefinedValues(set.schema, c)...)
	}
	if len(values) == 0 {
		r.refuse(n, faultClass, "the class %s of %s has no predefined types", f.name, set.schema.Name)
		return
	}
	if slices.Contains(values, model.UserDefined) {
		return
	}
	for _, l := range f.predefined.values {
		if !slices.Contains(values, l.text) {
			r.refuse(n, faultClass, "the class %s of %s has no predefined type %s and allows no user-defined one",
				f.name, set.schema.Name, findings.Quote(l.text))
		}
	}
}

// predefinedValues are the predefined types of a class, or of the types of its objects.
func predefinedValues(schema *ifc.Schema, c *ifc.Class) []string {
	var values []string
	classes := []*ifc.Class{c, schema.Class(c.Name + "TYPE"), schema.Class(c.Name + "STYLE")}
	for _, m := range schema.Mapped() {
		if m.Occurrence == c {
			classes = append(classes, m.Type)
		}
	}
	for _, c := range classes {
		if c == nil {
			continue
		}
		if at := c.Find("PredefinedType"); at >= 0 {
			if t := schema.Type(strings.ToUpper(c.Attributes[at].Type)); t != nil {
				values = append(values, t.Of...)
			}
		}
	}
	return values
}

// auditOverlap looks for a requirement that no applicable object can meet.
func (r *reader) auditOverlap(n *xpath.Node, f *entityFacet, classes []classSet) {
	if f.name == nil {
		return
	}
	for i, set := range r.classesOf(f) {
		isApplicable := func(c *ifc.Class) bool { return slices.Contains(classes[i].classes, c) }
		if len(set.classes) > 0 && !slices.ContainsFunc(set.classes, isApplicable) {
			r.refuse(n, faultClass, "no applicable object can be of the class %s", f.name)
			return
		}
	}
}

// auditParts looks for classes whose objects are neither wholes nor parts.
func (r *reader) auditParts(n *xpath.Node, f *partOfFacet, classes []classSet) {
	if f.whole.name == nil {
		return
	}
	isObject := func(c *ifc.Class) bool { return c.Is("IFCOBJECTDEFINITION") }
	for i, set := range r.classesOf(f.whole) {
		switch {
		case len(set.classes) > 0 && !slices.ContainsFunc(set.classes, isObject):
			r.refuse(n, faultClass, "nothing can be part of the class %s of %s", f.whole.name, set.schema.Name)
		case len(classes[i].classes) > 0 && !slices.ContainsFunc(classes[i].classes, isObject):
			r.refuse(n, faultClass, "no applicable object of %s can be part of another", set.schema.Name)
		}
	}
}

// auditAttribute looks for names that the classes do not have, and values that do not fit.
func (r *reader) auditAttribute(n *xpath.Node, f *attributeFacet, classes []classSet) {
	if f.name == nil {
		return
	}
	var types []valueType
	for _, set := range classes {
		found := r.attributeTypes(f.name, set)
		if len(found) == 0 && len(set.classes) > 0 {
			r.refuseName(n, f.name, set)
		}
		types = append(types, found...)
	}
	if f.value != nil && len(types) > 0 {
		r.auditValue(n, "the attribute "+f.name.String(), f.value, types)
	}
}

// attributeTypes are the types of the attributes that a name is for.
func (r *reader) attributeTypes(name *constraint, set classSet) []valueType {
	var types []valueType
	seen := map[string]bool{}
	for _, c := range set.classes {
		for _, a := range c.Attributes {
			key := a.Name + " " + a.Type
			if a.Derived || seen[key] || !r.work.Spend(1) {
				continue
			}
			seen[key] = true
			if name.matchesText(r.work, a.Name) {
				types = append(types, valueType{a.Type, set.schema.Base(a)})
			}
		}
	}
	return types
}

func (r *reader) refuseName(n *xpath.Node, name *constraint, set classSet) {
	of, detail := set.schema.Name, ""
	if len(set.classes) == 1 {
		of = set.classes[0].Name + " of " + of
	}
	if len(name.values) == 1 {
		var names []string
		for _, a := range set.classes[0].Attributes {
			names = append(names, a.Name)
		}
		if meant := findings.Nearest(name.values[0].text, names); meant != "" {
			detail = "; did you mean " + meant + "?"
		}
	}
	r.refuse(n, faultAttribute, "%s has no attribute %s that has a value in files%s", of, name, detail)
}

// valueType is what the values of an attribute or a property are.
type valueType struct {
	name string
	base ifc.Base
}

// bases are the bases of restrictions for values of a type, the first one that of the IDS standard. None are where
// values cannot be compared.
func (t valueType) bases() []string {
	switch t.base {
	case ifc.BaseText:
		if own := map[string]string{
			"IFCDATE": baseDate, "IFCTIME": baseTime, "IFCDATETIME": baseDateTime, "IFCDURATION": baseDuration,
		}[strings.ToUpper(t.name)]; own != "" {
			return []string{own, baseText}
		}
		return []string{baseText}
	case ifc.BaseEnumeration, ifc.BaseLogical:
		return []string{baseText}
	case ifc.BaseReal:
		return []string{baseReal, baseInteger}
	case ifc.BaseInteger:
		return []string{baseInteger, baseReal}
	case ifc.BaseBoolean:
		return []string{baseBoolean}
	default:
		return nil
	}
}

// auditValue refuses a value that no type can have.
func (r *reader) auditValue(n *xpath.Node, what string, value *constraint, types []valueType) {
	names := []string{}
	isCompared := false
	for _, t := range types {
		bases := t.bases()
		names = append(names, t.name)
		isCompared = isCompared || len(bases) > 0
		if len(bases) == 0 || value.base != "" && !slices.Contains(bases, value.base) {
			continue
		}
		misfit := func(l literal) bool { return !isWritten(l.text, bases[0]) }
		if !slices.ContainsFunc(value.values, misfit) {
			return
		}
	}
	slices.Sort(names)
	of := strings.Join(slices.Compact(names), ", ")
	switch {
	case !isCompared:
		r.refuse(n, faultValue, "%s refers to objects or lists (%s), whose values are not compared", what, of)
	case value.base != "":
		r.refuse(n, faultValue, "%s is of the type %s, to which the restriction of %s (%s) does not fit",
			what, of, value.base, value)
	default:
		r.refuse(n, faultValue, "%s is of the type %s, of which %s is not a value", what, of, value)
	}
}

func (r *reader) auditProperty(n *xpath.Node, f *propertyFacet) {
	if f.dataType == "" {
		if f.value != nil {
			r.refuse(n, faultDataType, "a property with a value needs the attribute dataType, such as IFCLABEL")
		}
		return
	}
	for _, schema := range r.versions {
		base := schema.BaseOf(f.dataType)
		simple := base != ifc.BaseUnknown && base != ifc.BaseObject && base != ifc.BaseSelect && base != ifc.BaseMany
		if schema.Type(f.dataType) == nil || !simple {
			r.refuse(n, faultDataType, "%s has no type %s for values of properties, written in upper case",
				schema.Name, findings.Quote(f.dataType))
			continue
		}
		if f.value != nil {
			r.auditValue(n, "the property "+f.name.String(), f.value, []valueType{{f.dataType, base}})
		}
	}
}

// auditCardinality looks for requirements that can never fail, and for others that the standard does not have.
func (r *reader) auditCardinality(n *xpath.Node, q *requirement) {
	switch q.cardinality {
	case required:
	case optional:
		r.auditOptional(n, q.facet)
	case prohibited:
		if f, ok := q.facet.(*propertyFacet); ok && f.dataType != "" {
			r.refuse(n, faultCardinality, "a prohibited <property> must not have a dataType: the property must "+
				"be absent, whatever its type")
		}
	default:
		r.refuse(n, faultCardinality, "the cardinality %s is not one of required, optional and prohibited",
			findings.Quote(string(q.cardinality)))
	}
}

func (r *reader) auditOptional(n *xpath.Node, f facet) {
	switch f := f.(type) {
	case *partOfFacet:
		r.refuse(n, faultCardinality, "<partOf> is required or prohibited, never optional")
	case *propertyFacet:
		if f.dataType == "" {
			r.refuse(n, faultCardinality, "an optional <property> needs the attribute dataType, or it can never fail")
		}
	default:
		if !hasValue(f) {
			r.refuse(n, faultCardinality, "an optional <%s> needs a <value>, or it can never fail", n.Local())
		}
	}
}

// hasValue says whether a facet asks for a value.
func hasValue(f facet) bool {
	switch f := f.(type) {
	case *attributeFacet:
		return f.value != nil
	case *classificationFacet:
		return f.value != nil
	case *materialFacet:
		return f.value != nil
	default:
		return false
	}
}
