package model

import (
	"slices"
	"strings"
)

// Dictionary has the classes of one version of EnergyPlus.
type Dictionary struct {
	// Version is the version as "23.2".
	Version string
	Classes []*Class

	byKey map[string]*Class
	// givers are the classes whose objects add names to a list, types those whose own name is in it. Lists are in lower
	// case.
	givers, types map[string][]*Class
}

// Class describes the objects of one class.
type Class struct {
	Name string `json:"name"`
	// Unique classes have at most one object in a model, Required ones at least one.
	Unique   bool `json:"unique,omitempty"`
	Required bool `json:"required,omitempty"`
	// Label is the field with the name of an object, nil where objects have no names. It is the first field in an IDF.
	Label *FieldSpec `json:"label,omitempty"`
	// TypeLists are the reference lists that the name of the class itself is in.
	TypeLists []string `json:"types,omitempty"`
	// Fields are in the order of the IDF, without the label and the repeated ones.
	Fields []*FieldSpec `json:"fields,omitempty"`
	// Repeated has the fields at the end that repeat as a group, nil where none do.
	Repeated *Group `json:"repeated,omitempty"`
}

// Group has fields that repeat together, such as the coordinates of a vertex.
type Group struct {
	// Name is the member of an epJSON object that lists the groups.
	Name   string       `json:"name"`
	Fields []*FieldSpec `json:"fields"`
	// Least and Most are numbers of groups, 0 where the dictionary gives none.
	Least int `json:"least,omitempty"`
	Most  int `json:"most,omitempty"`
}

// FieldSpec describes one field.
type FieldSpec struct {
	// Name is the field's name in epJSON.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Required fields may not be blank.
	Required bool `json:"required,omitempty"`
	// Choices are the only values that the field takes. A blank field is allowed unless it is required.
	Choices []string `json:"choices,omitempty"`
	// Words are the texts that a number may be replaced by, such as Autosize.
	Words   []string `json:"words,omitempty"`
	Minimum Bound    `json:"minimum,omitzero"`
	Maximum Bound    `json:"maximum,omitzero"`
	// Units are those of the value, such as "W/m2-K"; empty where it has none.
	Units string `json:"units,omitempty"`
	// Default is the value of a blank field, or empty.
	Default string `json:"default,omitempty"`
	// Refers are the reference lists of which one must have the value. Gives are those that the value is added to.
	Refers []string `json:"refers,omitempty"`
	Gives  []string `json:"gives,omitempty"`
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
	Value float64 `json:"value"`
	// Exclusive bounds are not part of the range.
	Exclusive bool `json:"exclusive,omitempty"`
	// Set says that there is a bound.
	Set bool `json:"set"`
}

// NewDictionary returns the dictionary of a version that has these classes.
func NewDictionary(version string, classes []*Class) *Dictionary {
	d := &Dictionary{
		Version: version, Classes: classes, byKey: make(map[string]*Class, len(classes)),
		givers: map[string][]*Class{}, types: map[string][]*Class{},
	}
	for _, class := range classes {
		d.byKey[strings.ToLower(class.Name)] = class
		for _, list := range class.TypeLists {
			d.types[strings.ToLower(list)] = append(d.types[strings.ToLower(list)], class)
		}
		for _, f := range class.all() {
			for _, list := range f.Gives {
				key := strings.ToLower(list)
				if !slices.Contains(d.givers[key], class) {
					d.givers[key] = append(d.givers[key], class)
				}
			}
		}
	}
	return d
}

// all are the label and all fields of a class.
func (c *Class) all() []*FieldSpec {
	all := slices.Clone(c.Fields)
	if c.Label != nil {
		all = append(all, c.Label)
	}
	if c.Repeated != nil {
		all = append(all, c.Repeated.Fields...)
	}
	return all
}

// Givers are the classes whose objects add a name to a reference list.
func (d *Dictionary) Givers(list string) []*Class {
	return d.givers[strings.ToLower(list)]
}

// Types are the classes whose own names are in a reference list.
func (d *Dictionary) Types(list string) []*Class {
	return d.types[strings.ToLower(list)]
}

// Class returns the class of a name in any case, nil where the version has no such class.
func (d *Dictionary) Class(name string) *Class {
	return d.byKey[strings.ToLower(name)]
}

// FindField returns the index of the field with a name, or -1.
func FindField(fields []*FieldSpec, name string) int {
	return slices.IndexFunc(fields, func(f *FieldSpec) bool { return f.Name == name })
}
