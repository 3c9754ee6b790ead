// Package ifc has the facts of the published schemas of IFC: classes with their attributes, and types.
//
// They come from the EXPRESS schemas of buildingSMART. The program generate writes them into tables.gz. Rules and
// functions of the schemas are not part of them.
package ifc

import (
	"slices"
	"strings"
)

// Schema has the classes and types of one version of IFC.
type Schema struct {
	// Name is that of the version: IFC2X3, IFC4 or IFC4X3_ADD2.
	Name string
	// Classes are sorted by their names.
	Classes []*Class

	classes map[string]*Class
	types   map[string]*Type
	mapped  []Mapping
}

// Class describes the objects of one class.
type Class struct {
	// Name is in upper case, as files have it; Title is as people write it.
	Name, Title string
	// Number is the place among the classes of the schema.
	Number   uint16
	Parent   *Class
	Abstract bool
	// Attributes are all that objects have, inherited ones first, in the order of files.
	Attributes []Attribute

	parent  string
	own     []Attribute
	derived []string
}

// Attribute is one value of an object.
type Attribute struct {
	Name string
	// Type is the name of a type, of a class, or of a basic type such as REAL.
	Type string
	// Many says that the value is a list.
	Many bool
	// Derived attributes follow from others, so that files have no value for them.
	Derived bool
}

// Type is a type that has a name.
type Type struct {
	Name string
	Form Form
	// Of has the type that this one is made of, the values of an enumeration, or what may be selected.
	Of []string
}

// Form says what a type is.
type Form byte

// The forms of types.
const (
	Defined     Form = 'T'
	Enumeration Form = 'E'
	Select      Form = 'S'
	Many        Form = 'L'
)

// Base is what values of a type are in the end.
type Base uint8

// The bases of types.
const (
	BaseUnknown Base = iota
	BaseText
	BaseReal
	BaseInteger
	BaseBoolean
	BaseLogical
	BaseBinary
	BaseEnumeration
	BaseSelect
	BaseMany
	BaseObject
)

// newSchema connects classes and types, which come in any order.
func newSchema(name string, classes []*Class, types []*Type) *Schema {
	s := &Schema{Name: name, Classes: classes, classes: map[string]*Class{}, types: map[string]*Type{}}
	slices.SortFunc(s.Classes, func(a, b *Class) int { return strings.Compare(a.Name, b.Name) })
	for i, c := range s.Classes {
		c.Number = uint16(i)
		s.classes[c.Name] = c
	}
	for _, t := range types {
		s.types[strings.ToUpper(t.Name)] = t
	}
	for _, c := range s.Classes {
		c.Parent = s.classes[strings.ToUpper(c.parent)]
	}
	for _, c := range s.Classes {
		s.inherit(c)
	}
	s.mapped = mapOccurrences(s)
	return s
}

// inherit gives a class all its attributes.
func (s *Schema) inherit(c *Class) {
	if c.Attributes != nil {
		return
	}
	c.Attributes = []Attribute{}
	if c.Parent != nil {
		s.inherit(c.Parent)
		c.Attributes = append(c.Attributes, c.Parent.Attributes...)
	}
	c.Attributes = append(c.Attributes, c.own...)
	for i := range c.Attributes {
		if slices.Contains(c.derived, c.Attributes[i].Name) {
			c.Attributes[i].Derived = true
		}
	}
}

// Class returns the class of a name in upper case, nil where the schema has none.
func (s *Schema) Class(name string) *Class {
	return s.classes[name]
}

// Type returns the type of a name in upper case, nil where the schema has none.
func (s *Schema) Type(name string) *Type {
	return s.types[name]
}

// Is says whether a class is the one of a name in upper case, or inherits from it.
func (c *Class) Is(name string) bool {
	for ; c != nil; c = c.Parent {
		if c.Name == name {
			return true
		}
	}
	return false
}

// Find returns the place of the attribute with a name, -1 where the class has none.
func (c *Class) Find(name string) int {
	return slices.IndexFunc(c.Attributes, func(a Attribute) bool { return a.Name == name })
}

// Own are the attributes that a class does not inherit from the one of a name.
func (c *Class) Own(above string) []Attribute {
	for p := c; p != nil; p = p.Parent {
		if p.Name == above {
			return c.Attributes[len(p.Attributes):]
		}
	}
	return c.Attributes
}

// Base says what the values of an attribute are.
func (s *Schema) Base(a Attribute) Base {
	if a.Many {
		return BaseMany
	}
	return s.BaseOf(a.Type)
}

// maxAliases is more than how many types stand between a type and its basic one.
const maxAliases = 10

// basicBase is the base of a type that EXPRESS itself has.
func basicBase(name string) Base {
	switch name {
	case "STRING":
		return BaseText
	case "REAL", "NUMBER":
		return BaseReal
	case "INTEGER":
		return BaseInteger
	case "BOOLEAN":
		return BaseBoolean
	case "LOGICAL":
		return BaseLogical
	case "BINARY":
		return BaseBinary
	default:
		return BaseUnknown
	}
}

// BaseOf says what the values of a type are, or that the name is that of a class.
func (s *Schema) BaseOf(name string) Base {
	name = strings.ToUpper(name)
	for range maxAliases {
		if base := basicBase(name); base != BaseUnknown {
			return base
		}
		t := s.types[name]
		switch {
		case t == nil && s.classes[name] != nil:
			return BaseObject
		case t == nil:
			return BaseUnknown
		case t.Form == Enumeration:
			return BaseEnumeration
		case t.Form == Select:
			return BaseSelect
		case t.Form == Many:
			return BaseMany
		}
		name = strings.ToUpper(t.Of[0])
	}
	return BaseUnknown
}

// Measure returns the type of measures that a type is one of: IFCLENGTHMEASURE for IFCPOSITIVELENGTHMEASURE.
func (s *Schema) Measure(name string) string {
	name = strings.ToUpper(name)
	for range maxAliases {
		t := s.types[name]
		if t == nil || t.Form != Defined || s.types[strings.ToUpper(t.Of[0])] == nil {
			break
		}
		name = strings.ToUpper(t.Of[0])
	}
	return name
}
