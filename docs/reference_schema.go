package docs

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// field describes a value by its schema. Inside of itself a type is only named: inside holds those around the value.
func (r *reader) field(name string, schema *yaml.Node, inside []*yaml.Node) Field {
	whole := r.follow(schema)
	f := Field{Name: name, Description: r.text(whole, "description")}
	// A description beside a reference says what the type is there for.
	if own := member(schema, "description"); own != nil {
		f.Description = strings.TrimSpace(own.Value)
		if r.member(whole, "enum") != nil && r.text(whole, "description") != "" && schema != whole {
			f.Description += "\n\n" + r.text(whole, "description")
		}
	}
	f.Type = r.typeOf(whole)
	f.Limits = r.limitsOf(whole)
	f.Values = r.valuesOf(whole)
	if whole == nil || slices.Contains(inside, whole) {
		return f
	}
	f.Fields = r.fieldsOf(whole, append(slices.Clone(inside), whole))
	return f
}

// fieldsOf lists the members of an object, of the items of a list, or of the first of several types that has some.
func (r *reader) fieldsOf(schema *yaml.Node, inside []*yaml.Node) []Field {
	var fields []Field
	required := r.words(schema, "required")
	properties := r.member(schema, "properties")
	if properties != nil && r.member(schema, "type") != nil {
		for i := 0; i+1 < len(properties.Content); i += 2 {
			name := properties.Content[i].Value
			f := r.field(name, properties.Content[i+1], inside)
			f.Required = slices.Contains(required, name)
			fields = append(fields, f)
		}
		return fields
	}
	if items := member(schema, "items"); items != nil {
		return r.field("", items, inside).Fields
	}
	for _, way := range []string{"anyOf", "oneOf"} {
		for _, choice := range r.list(schema, way) {
			if found := r.field("", choice, inside).Fields; len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// typeOf names a type: "string (uuid) or null", "array of objects".
func (r *reader) typeOf(schema *yaml.Node) string {
	var names []string
	for _, way := range []string{"anyOf", "oneOf"} {
		for _, choice := range r.list(schema, way) {
			names = append(names, r.typeOf(choice))
		}
	}
	declared := r.words(schema, "type")
	if one := r.text(schema, "type"); one != "" {
		declared = []string{one}
	}
	for _, name := range declared {
		switch {
		case name == "array":
			names = append(names, r.listOf(schema))
		case name == "string" && r.text(schema, "format") == "binary":
			names = append(names, "file")
		case name == "string" && r.text(schema, "format") != "":
			names = append(names, "string ("+r.text(schema, "format")+")")
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "any value"
	}
	slices.SortStableFunc(names, func(a, b string) int { return nullLast(a) - nullLast(b) })
	return strings.Join(slices.Compact(names), " or ")
}

func nullLast(name string) int {
	if name == "null" {
		return 1
	}
	return 0
}

func (r *reader) listOf(schema *yaml.Node) string {
	of := r.typeOf(r.member(schema, "items"))
	if of == "any value" {
		return "array"
	}
	if strings.Contains(of, " ") {
		return "array of " + of
	}
	return "array of " + of + "s"
}

// valuesOf lists the values of an enumeration, but for null.
func (r *reader) valuesOf(schema *yaml.Node) []string {
	var values []string
	for _, value := range r.list(schema, "enum") {
		if value.Tag != "!!null" && value.Value != "" {
			values = append(values, value.Value)
		}
	}
	if constant := r.member(schema, "const"); constant != nil {
		values = append(values, constant.Value)
	}
	return values
}

// limitsOf says what a value must keep to, in the order in which people ask.
func (r *reader) limitsOf(schema *yaml.Node) string {
	var limits []string
	add := func(name, before, behind string) {
		if value := r.text(schema, name); value != "" {
			limits = append(limits, before+value+behind)
		}
	}
	if least, most := r.text(schema, "minimum"), r.text(schema, "maximum"); least != "" && most != "" {
		limits = append(limits, least+" to "+most)
	} else {
		add("minimum", "at least ", "")
		add("maximum", "at most ", "")
	}
	if least := r.text(schema, "minLength"); least != "" && least != "1" {
		limits = append(limits, "at least "+least+" characters")
	}
	add("maxLength", "at most ", " characters")
	add("maxItems", "at most ", " items")
	add("default", "default ", "")
	return strings.Join(limits, ", ")
}
