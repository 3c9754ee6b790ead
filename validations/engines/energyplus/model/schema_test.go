package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// modelSchema is the part of an epJSON schema that has facts.
type modelSchema struct {
	Properties map[string]classSchema `json:"properties"`
	Required   []string               `json:"required"`
}

type classSchema struct {
	// PatternProperties has one member: the schema of every object of the class.
	PatternProperties map[string]objectSchema `json:"patternProperties"`
	Name              *fieldSchema            `json:"name"`
	MaxProperties     int                     `json:"maxProperties"`
	LegacyIDD         struct {
		Fields      []string `json:"fields"`
		Extensibles []string `json:"extensibles"`
		Extension   string   `json:"extension"`
	} `json:"legacy_idd"`
}

type objectSchema struct {
	Properties map[string]fieldSchema `json:"properties"`
	Required   []string               `json:"required"`
}

type fieldSchema struct {
	valueSchema

	AnyOf              []valueSchema `json:"anyOf"`
	IsRequired         bool          `json:"is_required"`
	Units              string        `json:"units"`
	Default            any           `json:"default"`
	ObjectList         []string      `json:"object_list"`
	Reference          []string      `json:"reference"`
	ReferenceClassName []string      `json:"reference-class-name"`

	// These are those of a repeated group.
	Items    *objectSchema `json:"items"`
	MinItems int           `json:"minItems"`
	MaxItems int           `json:"maxItems"`
}

type valueSchema struct {
	Type    string       `json:"type"`
	Enum    []any        `json:"enum"`
	Minimum *json.Number `json:"minimum"`
	Maximum *json.Number `json:"maximum"`
	// Draft 4 has true here, draft 7 the bound itself.
	ExclusiveMinimum any `json:"exclusiveMinimum"`
	ExclusiveMaximum any `json:"exclusiveMaximum"`
}

var errForm = errors.New("the schema has an unexpected form")

const labelName = "name"

// convert takes the facts from an epJSON schema.
func convert(content []byte) (*model.Dictionary, error) {
	var schema modelSchema
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	decoder.UseNumber()
	if err := decoder.Decode(&schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	classes := []*model.Class{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		class, err := schema.Properties[name].convert(name)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", name, err)
		}
		class.Required = slices.Contains(schema.Required, name)
		classes = append(classes, class)
	}
	d := model.NewDictionary("", classes)
	version := d.Class("Version")
	if version == nil || len(version.Fields) != 1 || version.Fields[0].Default == "" {
		return nil, fmt.Errorf("%w: it does not say its version", errForm)
	}
	d.Version = version.Fields[0].Default
	return d, nil
}

func (s classSchema) convert(name string) (*model.Class, error) {
	if len(s.PatternProperties) != 1 {
		return nil, fmt.Errorf("%w: %d patterns of names, want 1", errForm, len(s.PatternProperties))
	}
	c := &model.Class{Name: name, Unique: s.MaxProperties == 1}
	names := s.LegacyIDD.Fields
	if s.Name != nil {
		if len(names) == 0 || names[0] != labelName {
			return nil, fmt.Errorf("%w: the name is not the first field", errForm)
		}
		label, err := s.Name.convert(labelName, s.Name.IsRequired)
		if err != nil {
			return nil, err
		}
		c.Label, c.TypeLists = label, s.Name.ReferenceClassName
		names = names[1:]
	}
	for _, object := range s.PatternProperties {
		fields, err := object.convert(names)
		if err != nil {
			return nil, err
		}
		c.Fields = fields
		if s.LegacyIDD.Extension == "" {
			continue
		}
		list := object.Properties[s.LegacyIDD.Extension]
		if list.Items == nil {
			return nil, fmt.Errorf("%w: %s is not a list", errForm, s.LegacyIDD.Extension)
		}
		c.Repeated = &model.Group{Name: s.LegacyIDD.Extension, Least: list.MinItems, Most: list.MaxItems}
		if c.Repeated.Fields, err = list.Items.convert(s.LegacyIDD.Extensibles); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// convert takes the fields in the order of the names.
func (s objectSchema) convert(names []string) ([]*model.FieldSpec, error) {
	fields := []*model.FieldSpec{}
	for _, name := range names {
		schema, ok := s.Properties[name]
		if !ok {
			return nil, fmt.Errorf("%w: the field %s is missing", errForm, name)
		}
		f, err := schema.convert(name, slices.Contains(s.Required, name))
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (s fieldSchema) convert(name string, required bool) (*model.FieldSpec, error) {
	f := &model.FieldSpec{
		Name: name, Required: required, Units: s.Units, Refers: s.ObjectList, Gives: s.Reference,
	}
	if s.Default != nil {
		f.Default = fmt.Sprint(s.Default)
	}
	value := s.valueSchema
	if len(s.AnyOf) > 0 {
		value = s.AnyOf[0]
	}
	kinds := map[string]model.Kind{
		"number": model.Number, "integer": model.Integer, "string": model.Text,
	}
	kind, ok := kinds[value.Type]
	if !ok {
		return nil, fmt.Errorf("%w: the field %s has the type %q", errForm, name, value.Type)
	}
	f.Kind, f.Choices = kind, texts(value.Enum)
	for _, other := range s.AnyOf[min(1, len(s.AnyOf)):] {
		f.Words = append(f.Words, texts(other.Enum)...)
		if other.Enum == nil {
			f.Kind = model.Either
		}
	}
	var err error
	if f.Minimum, err = bound(value.Minimum, value.ExclusiveMinimum); err != nil {
		return nil, err
	}
	if f.Maximum, err = bound(value.Maximum, value.ExclusiveMaximum); err != nil {
		return nil, err
	}
	return f, nil
}

// texts are the values of an enum. A blank one only says that the field is not required.
func texts(enum []any) []string {
	found := []string{}
	for _, value := range enum {
		if text := fmt.Sprint(value); text != "" {
			found = append(found, text)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

func bound(inclusive *json.Number, exclusive any) (model.Bound, error) {
	number := inclusive
	limit, isNumber := exclusive.(json.Number)
	if isNumber {
		number = &limit
	}
	if number == nil {
		return model.Bound{}, nil
	}
	value, err := number.Float64()
	if err != nil {
		return model.Bound{}, fmt.Errorf("%w: bound %s", errForm, *number)
	}
	return model.Bound{Value: value, Exclusive: isNumber || exclusive == true, Set: true}, nil
}
