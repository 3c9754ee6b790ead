package tableschema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Field is a field of a Table Schema, as a configuration has it.
type Field struct {
	Name        string      `json:"name"`
	Type        string      `json:"type,omitempty"`
	Format      string      `json:"format,omitempty"`
	DecimalChar string      `json:"decimalChar,omitempty"` //nolint:tagliatelle // Table Schema's own name
	GroupChar   string      `json:"groupChar,omitempty"`   //nolint:tagliatelle // Table Schema's own name
	BareNumber  *bool       `json:"bareNumber,omitempty"`  //nolint:tagliatelle // Table Schema's own name
	TrueValues  []string    `json:"trueValues,omitempty"`  //nolint:tagliatelle // Table Schema's own name
	FalseValues []string    `json:"falseValues,omitempty"` //nolint:tagliatelle // Table Schema's own name
	Constraints Constraints `json:"constraints,omitzero"`
	// ItemType and Delimiter are of lists, Categories of strings and integers.
	ItemType      string        `json:"itemType,omitempty"` //nolint:tagliatelle // Table Schema's own name
	Delimiter     string        `json:"delimiter,omitempty"`
	Categories    []labeled     `json:"categories,omitempty"`
	MissingValues MissingValues `json:"missingValues,omitempty"` //nolint:tagliatelle // Table Schema's own name

	Further Further `json:",embed"`
}

// Further are the members that an object of a schema has besides those of its struct.
type Further map[string]json.RawMessage

// labeled is a value, or an object with a value and its label.
type labeled json.RawMessage

// UnmarshalJSON takes the value of an object.
func (l *labeled) UnmarshalJSON(text []byte) error {
	var object struct {
		Value json.RawMessage `json:"value"`
	}
	*l = slices.Clone(text)
	if json.Unmarshal(text, &object) == nil && object.Value != nil {
		*l = labeled(object.Value)
	}
	return nil
}

// MissingValues are the texts that mean no value.
type MissingValues []labeled

func (m MissingValues) texts() []string {
	return engine.Each(m, func(value labeled) string { return scalarText(json.RawMessage(value)) })
}

// Constraints are those of a field.
type Constraints struct {
	Required         bool              `json:"required,omitzero"`
	Unique           bool              `json:"unique,omitzero"`
	Minimum          json.RawMessage   `json:"minimum,omitempty"`
	Maximum          json.RawMessage   `json:"maximum,omitempty"`
	ExclusiveMinimum json.RawMessage   `json:"exclusiveMinimum,omitempty"` //nolint:tagliatelle // of Table Schema
	ExclusiveMaximum json.RawMessage   `json:"exclusiveMaximum,omitempty"` //nolint:tagliatelle // of Table Schema
	MinLength        *int              `json:"minLength,omitempty"`        //nolint:tagliatelle // of Table Schema
	MaxLength        *int              `json:"maxLength,omitempty"`        //nolint:tagliatelle // of Table Schema
	Pattern          string            `json:"pattern,omitempty"`
	Enum             []json.RawMessage `json:"enum,omitempty"`
	JSONSchema       json.RawMessage   `json:"jsonSchema,omitempty"` //nolint:tagliatelle // of Table Schema
	// Level says to some programs how grave a violation is; it checks nothing.
	Level json.RawMessage `json:"level,omitempty"`
}

// Words say what a field demands of its values.
func (f Field) Words() string {
	words := []string{f.Type}
	if f.Type == "" {
		words[0] = "any value"
	}
	c := f.Constraints
	for _, part := range []struct {
		there bool
		words string
	}{
		{c.Required, "never empty"},
		{c.Unique, "each value once"},
		{len(c.Minimum) > 0, "at least " + engine.Plain(c.Minimum)},
		{len(c.Maximum) > 0, "at most " + engine.Plain(c.Maximum)},
		{len(c.ExclusiveMinimum) > 0, "more than " + engine.Plain(c.ExclusiveMinimum)},
		{len(c.ExclusiveMaximum) > 0, "less than " + engine.Plain(c.ExclusiveMaximum)},
		{c.Pattern != "", "like " + c.Pattern},
	} {
		if part.there {
			words = append(words, part.words)
		}
	}
	if len(c.Enum) > 0 {
		words = append(words, "one of "+strings.Join(engine.Each(c.Enum, engine.Plain), ", "))
	}
	return strings.Join(words, ", ")
}
