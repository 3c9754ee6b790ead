// Package dictionary has the facts of EnergyPlus' data dictionaries: the classes of each version and their fields.
//
// The facts come from the epJSON schemas that EnergyPlus ships. The program generate writes them into tables.gz.
package dictionary

import (
	"slices"
	"strings"
)

// Dictionary has the classes of one version of EnergyPlus.
type Dictionary struct {
	// Version is the version as "23.2".
	Version string
	Classes []*Class
	byKey   map[string]*Class
}

// Class describes the objects of one class.
type Class struct {
	Name string
	// Unique classes have at most one object in a model, Required ones at least one.
	Unique, Required bool
	// Label is the field with the name of an object, nil where objects have no names. It is the first field in an IDF.
	Label *Field
	// TypeLists are the reference lists that the name of the class itself is in.
	TypeLists []string
	// Fields are in the order of the IDF, without the label and the repeated ones.
	Fields []*Field
	// Repeated has the fields at the end that repeat as a group, nil where none do.
	Repeated *Group
}

// Group has fields that repeat together, such as the coordinates of a vertex.
type Group struct {
	// Name is the member of an epJSON object that lists the groups.
	Name   string
	Fields []*Field
	// Least and Most are numbers of groups, 0 where the dictionary gives none.
	Least, Most int
}

// Field describes one field.
type Field struct {
	// Name is the field's name in epJSON.
	Name string
	Kind Kind
	// Required fields may not be blank.
	Required bool
	// Choices are the only values that the field takes. A blank field is allowed unless it is required.
	Choices []string
	// Words are the texts that a number may be replaced by, such as Autosize.
	Words            []string
	Minimum, Maximum Bound
	// Units are those of the value, such as "W/m2-K"; empty where it has none.
	Units string
	// Default is the value of a blank field; empty where there is none.
	Default string
	// Refers are the reference lists of which one must have the value. Gives are those that the value is added to.
	Refers, Gives []string
}

// Kind is the type of a field's value.
type Kind byte

// The kinds of values.
const (
	Number  Kind = 'n'
	Integer Kind = 'i'
	Text    Kind = 't'
	// Either is a number or a text.
	Either Kind = 'e'
)

// Bound is one end of a range.
type Bound struct {
	Value float64
	// Exclusive bounds are not part of the range.
	Exclusive bool
	// Set says that there is a bound.
	Set bool
}

// New returns the dictionary of a version that has these classes.
func New(version string, classes []*Class) *Dictionary {
	d := &Dictionary{Version: version, Classes: classes, byKey: make(map[string]*Class, len(classes))}
	for _, class := range classes {
		d.byKey[strings.ToLower(class.Name)] = class
	}
	return d
}

// Class returns the class of a name in any case, nil where the version has no such class.
func (d *Dictionary) Class(name string) *Class {
	return d.byKey[strings.ToLower(name)]
}

// Field returns the field of this name, outside of the repeated group, or nil.
func (c *Class) Field(name string) *Field {
	return find(c.Fields, name)
}

// Field returns the field of this name, or nil.
func (g *Group) Field(name string) *Field {
	return find(g.Fields, name)
}

func find(fields []*Field, name string) *Field {
	at := slices.IndexFunc(fields, func(f *Field) bool { return f.Name == name })
	if at < 0 {
		return nil
	}
	return fields[at]
}
