package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	// SchemaPath is where the schema of workflow files is served.
	SchemaPath = "/docs/workflow-file.schema.json"

	yamlIndent = 2
)

// YAML returns the file as YAML that a Parser reads back as the same. Editors find the schema at the address.
func (f File) YAML(schemaAddress string) ([]byte, error) {
	return f.Annotated(schemaAddress, nil)
}

// Annotated is YAML with comments on values, by their JSON pointers.
func (f File) Annotated(schemaAddress string, comments map[string]string) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("write a workflow file: %w", err)
	}
	root, err := readNode(jsontext.NewDecoder(bytes.NewReader(text)))
	if err != nil {
		return nil, fmt.Errorf("write a workflow file: %w", err)
	}
	annotate(root, "", comments)
	file, err := writeNode(root)
	if err != nil || schemaAddress == "" {
		return file, err
	}
	return append([]byte("# yaml-language-server: $schema="+schemaAddress+"\n"), file...), nil
}

// writeNode writes a file whose lines are not wrapped.
func writeNode(root *yaml.Node) ([]byte, error) {
	file, err := yaml.Dump(root, yaml.WithV3Defaults(), yaml.WithIndent(yamlIndent), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("write a workflow file: %w", err)
	}
	return file, nil
}

// annotate puts comments on the values below a node. A comment is one line, whatever the values are that it quotes.
func annotate(node *yaml.Node, at string, comments map[string]string) {
	if comment := comments[at]; comment != "" {
		node.LineComment = "# " + strings.Join(strings.FieldsFunc(comment, func(r rune) bool {
			return !unicode.IsPrint(r)
		}), " ")
	}
	for i := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode:
			annotate(node.Content[i], at+engines.Pointer(strconv.Itoa(i)), comments)
		case i%2 == 1:
			annotate(node.Content[i], at+engines.Pointer(node.Content[i-1].Value), comments)
		}
	}
}

// readNode reads the next JSON value as a node. It works on nodes because maps would lose the order of members, and
// numbers their digits.
func readNode(d *jsontext.Decoder) (*yaml.Node, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return readNodes(d, yaml.MappingNode, '}')
	case '[':
		return readNodes(d, yaml.SequenceNode, ']')
	case '"':
		return textNode(token.String()), nil
	case '0':
		return numberNode(token.String()), nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: token.String()}, nil
	}
}

func readNodes(d *jsontext.Decoder, kind yaml.Kind, end jsontext.Kind) (*yaml.Node, error) {
	node := &yaml.Node{Kind: kind}
	for d.PeekKind() != end {
		child, err := readNode(d)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err := d.ReadToken()
	return node, err
}

// textNode writes a text of several lines as a block where that is sure to keep every character, in quotes otherwise.
// A number that is too large for a float is a text to the writer, and a mistake to our reader unless it is quoted.
func textNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	_, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) || strings.Contains(text, "\n") && !isBlock(text) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// isBlock reports whether every line of a text begins and ends with a visible character, or is empty.
func isBlock(text string) bool {
	if strings.HasPrefix(text, "\n") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != line || strings.ContainsFunc(line, func(r rune) bool {
			return !strconv.IsPrint(r)
		}) {
			return false
		}
	}
	return true
}

// numberNode names the type of a number that YAML would not take for one: what is too large for a float.
func numberNode(literal string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: literal}
	if _, err := strconv.ParseFloat(literal, 64); err != nil {
		node.Tag = "!!float"
	}
	return node
}
