package workflows

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	// maxFormColumns and maxFormTables bound the forms for the columns of tables. Larger ones are edited as YAML.
	maxFormColumns = 60
	maxFormTables  = 3
	maxFormBytes   = 256 << 10
)

// columnsForm is the form for the columns of a table step.
type columnsForm struct {
	// Name is the prefix of the names of its fields.
	Name    string
	Title   string
	Columns []columnForm
	Types   []string
}

// columnForm is a row of the form. The last row is empty, for a new column.
type columnForm struct {
	// Prefix is that of the names of its fields.
	Prefix string
	// Was is the name that the column has in the YAML; "" for a new one.
	Was                           string
	Type                          string
	Required                      bool
	Minimum, Maximum, Enum, Regex string
}

// Other reports whether the column has a type that the form does not offer.
func (c columnForm) Other() bool { return c.Type != "" && !slices.Contains(columnTypes(), c.Type) }

// columnTypes are the types that the form offers.
func columnTypes() []string {
	return []string{
		"string", "number", "integer", "boolean", "date", "datetime", "time", "year", "yearmonth", "any",
	}
}

// readColumns returns the forms for the tables of a text that is YAML, and nothing for one that is not.
func readColumns(text string) []columnsForm {
	if len(text) > maxFormBytes {
		return nil
	}
	document, err := parseNodes(text)
	if err != nil {
		return nil
	}
	var forms []columnsForm
	for i, fields := range tableFields(document.Content[0]) {
		if len(forms) == maxFormTables || len(fields.list.Content) > maxFormColumns {
			continue
		}
		form := columnsForm{Name: "t" + strconv.Itoa(i), Title: fields.title, Types: columnTypes()}
		for j, field := range fields.list.Content {
			limits := memberOf(field, "constraints")
			form.Columns = append(form.Columns, columnForm{
				Prefix: form.Name + "." + strconv.Itoa(j) + ".", Was: scalarOf(field, "name"),
				Type:     scalarOf(field, "type"),
				Required: scalarOf(limits, "required") == "true",
				Minimum:  scalarOf(limits, "minimum"), Maximum: scalarOf(limits, "maximum"),
				Enum: enumOf(limits), Regex: scalarOf(limits, "pattern"),
			})
		}
		form.Columns = append(form.Columns, columnForm{Prefix: form.Name + ".new.", Type: "string"})
		forms = append(forms, form)
	}
	return forms
}

var errColumnsMoved = errors.New("the YAML has other columns than the form")

// writeColumns returns the text with the columns as the form has them. Everything else stays as it is, comments too.
func writeColumns(text string, form url.Values) (string, error) {
	document, err := parseNodes(text)
	if err != nil {
		return "", err
	}
	for i, fields := range tableFields(document.Content[0]) {
		name := "t" + strconv.Itoa(i)
		if err := writeTable(fields.list, name, form); err != nil {
			return "", err
		}
	}
	var file bytes.Buffer
	encoder := yaml.NewEncoder(&file)
	encoder.SetIndent(yamlIndent)
	if err := errors.Join(encoder.Encode(document), encoder.Close()); err != nil {
		return "", fmt.Errorf("write the columns: %w", err)
	}
	return file.String(), nil
}

func writeTable(list *yaml.Node, name string, form url.Values) error {
	var kept []*yaml.Node
	for j, field := range list.Content {
		prefix := name + "." + strconv.Itoa(j) + "."
		if !form.Has(prefix + "was") {
			kept = append(kept, field)
			continue
		}
		if form.Get(prefix+"was") != scalarOf(field, "name") || field.Kind != yaml.MappingNode {
			return errColumnsMoved
		}
		if form.Get(prefix+"remove") == "" {
			writeColumn(field, prefix, form)
			kept = append(kept, field)
		}
	}
	if prefix := name + ".new."; form.Get(prefix+"name") != "" {
		field := &yaml.Node{Kind: yaml.MappingNode}
		writeColumn(field, prefix, form)
		kept = append(kept, field)
		list.Style = 0 // A list in one line would become too long.
	}
	list.Content = kept
	return nil
}

// writeColumn writes what the form has into a column. What is the same stays as it was written.
func writeColumn(field *yaml.Node, prefix string, form url.Values) {
	kind := form.Get(prefix + "type")
	setText(field, "name", form.Get(prefix+"name"), false)
	if scalarOf(field, "type") != "" || kind != "string" {
		setText(field, "type", kind, false)
	}
	limits := memberOf(field, "constraints")
	if limits == nil {
		limits = &yaml.Node{Kind: yaml.MappingNode}
	}
	isNumber := slices.Contains([]string{"number", "integer", "year"}, kind)
	if (form.Get(prefix+"required") != "") != (scalarOf(limits, "required") == "true") {
		required := ""
		if form.Get(prefix+"required") != "" {
			required = "true"
		}
		setText(limits, "required", required, true)
	}
	setText(limits, "minimum", form.Get(prefix+"minimum"), isNumber)
	setText(limits, "maximum", form.Get(prefix+"maximum"), isNumber)
	if values := form.Get(prefix + "enum"); values != enumOf(limits) {
		setMember(limits, "enum", enumNode(values, isNumber))
	}
	setText(limits, "pattern", form.Get(prefix+"pattern"), false)
	switch {
	case len(limits.Content) == 0:
		setMember(field, "constraints", nil)
	case memberOf(field, "constraints") == nil:
		setMember(field, "constraints", limits)
	}
}

// enumNode is the list of the values between commas; nil for none.
func enumNode(values string, isNumber bool) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for value := range strings.SplitSeq(values, ",") {
		if value = strings.TrimSpace(value); value != "" {
			list.Content = append(list.Content, valueNode(value, isNumber))
		}
	}
	if len(list.Content) == 0 {
		return nil
	}
	return list
}

func enumOf(limits *yaml.Node) string {
	list := memberOf(limits, "enum")
	if list == nil {
		return ""
	}
	values := make([]string, len(list.Content))
	for i, value := range list.Content {
		values[i] = value.Value
	}
	return strings.Join(values, ", ")
}

// valueNode writes a value as a number, or as a text that YAML takes for nothing else.
func valueNode(value string, plain bool) *yaml.Node {
	if plain {
		if _, err := strconv.ParseFloat(value, 64); err == nil || value == "true" {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: value}
		}
	}
	return textNode(value)
}

// setText sets a member to a text, or removes it for the empty text.
func setText(object *yaml.Node, name, value string, plain bool) {
	if value == scalarOf(object, name) {
		return
	}
	if value == "" {
		setMember(object, name, nil)
		return
	}
	setMember(object, name, valueNode(value, plain))
}

// setMember sets a member of a mapping, or removes it for nil.
func setMember(object *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value != name {
			continue
		}
		if value == nil {
			object.Content = slices.Delete(object.Content, i, i+2)
			return
		}
		value.LineComment = object.Content[i+1].LineComment
		object.Content[i+1] = value
		return
	}
	if value != nil {
		object.Content = append(object.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
	}
}

// tableList is the list of the columns of a table step.
type tableList struct {
	title string
	list  *yaml.Node
}

// tableFields finds the columns of the tables. Aliases are left alone: what they name may be used elsewhere, too.
func tableFields(root *yaml.Node) []tableList {
	var found []tableList
	steps := memberOf(root, "steps")
	if steps == nil || steps.Kind != yaml.SequenceNode {
		return nil
	}
	for _, step := range steps.Content {
		list := memberOf(memberOf(memberOf(step, "config"), "schema"), "fields")
		if scalarOf(step, "type") == engines.KindTable && list != nil && list.Kind == yaml.SequenceNode {
			found = append(found, tableList{scalarOf(step, "name"), list})
		}
	}
	return found
}

// memberOf returns a member of a mapping, or nil.
func memberOf(object *yaml.Node, name string) *yaml.Node {
	if object == nil || object.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return object.Content[i+1]
		}
	}
	return nil
}

func scalarOf(object *yaml.Node, name string) string {
	if value := memberOf(object, name); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// parseNodes reads YAML with its comments.
func parseNodes(text string) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, fmt.Errorf("read YAML: %w", err)
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, errors.New("read YAML: not one document")
	}
	return &document, nil
}
