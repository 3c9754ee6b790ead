package docs

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"
)

// lineWidth is how long a list or an object may be to stand on one line.
const lineWidth = 60

// writeJSON writes a value with its members in the order of the document. A short one stands on one line.
func (r *reader) writeJSON(to *strings.Builder, node *yaml.Node, indent string) {
	if line := r.onOneLine(node); node.Kind == yaml.ScalarNode || len(line) <= lineWidth && indent != "" {
		to.WriteString(line)
		return
	}
	opening, closing := "{", "}"
	if node.Kind == yaml.SequenceNode {
		opening, closing = "[", "]"
	}
	if len(node.Content) == 0 {
		to.WriteString(opening + closing)
		return
	}
	to.WriteString(opening)
	deeper, step := indent+"  ", 1
	if node.Kind == yaml.MappingNode {
		// A name and its value follow each other.
		step = 2
	}
	for i := 0; i < len(node.Content); i += step {
		if i > 0 {
			to.WriteByte(',')
		}
		to.WriteString("\n" + deeper)
		if node.Kind == yaml.MappingNode {
			to.WriteString(r.quoted(node.Content[i].Value) + ": ")
		}
		r.writeJSON(to, r.follow(node.Content[i+step-1]), deeper)
	}
	to.WriteString("\n" + indent + closing)
}

// onOneLine writes a value without line breaks.
func (r *reader) onOneLine(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		var parts []string
		for name, value := range r.members(node) {
			parts = append(parts, r.quoted(name)+": "+r.onOneLine(value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		parts := make([]string, len(node.Content))
		for i, item := range node.Content {
			parts[i] = r.onOneLine(r.follow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.AliasNode, yaml.DocumentNode, yaml.ScalarNode, yaml.StreamNode:
	}
	if node.Tag == "!!str" || node.Tag == "!!timestamp" {
		return r.quoted(node.Value)
	}
	if node.Tag == "!!null" {
		return "null"
	}
	return node.Value
}

func (r *reader) quoted(text string) string {
	var written strings.Builder
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil && r.err == nil {
		r.err = err
	}
	return strings.TrimSuffix(written.String(), "\n")
}
