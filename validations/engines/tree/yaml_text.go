package tree

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// YAMLText is a YAML document as JSON text, whose members keep the order in which they are written, and the places of
// its values. It is for files that people write for the product itself, such as workflows.
type YAMLText struct {
	JSON json.RawMessage
	// Document is the text as nodes with their comments, for programs that change it and write it again.
	Document *yaml.Node
	root     *yaml.Node
	content  []byte
}

// ReadYAML reads a document within the limits of trees. The finding, if any, says why it cannot be read.
func ReadYAML(content []byte, limits engine.Limits) (YAMLText, *engine.Finding) {
	// The tree is read for its checks alone: depth, size, duplicates, aliases that multiply.
	_, finding, err := Read(engine.NewDocument(content, "application/yaml", ""), limits)
	if finding != nil {
		return YAMLText{}, finding
	}
	var document yaml.Node
	if err == nil {
		err = yaml.Unmarshal(forParser(withoutMarks(content)), &document)
	}
	var text bytes.Buffer
	if err == nil {
		err = nodeWriter{jsontext.NewEncoder(&text), limits.MaxTreeBytes}.node(document.Content[0])
	}
	if err != nil {
		malformed := engine.Failure("yaml.malformed", engine.Clip(err.Error()))
		return YAMLText{}, &malformed
	}
	written := bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	return YAMLText{JSON: written, Document: &document, root: document.Content[0], content: content}, nil
}

// Place returns the line and the column of the value that a JSON pointer leads to, or of the nearest value around it
// if that does not exist. Both count from 1.
func (t YAMLText) Place(at string) (int, int) {
	node := t.node(at)
	return node.Line, node.Column
}

// PlaceInside returns the line and the column of a place in the text that a JSON pointer leads to. It answers false
// where the text is not written line by line, as it is in a block behind |.
func (t YAMLText) PlaceInside(at string, line, column int) (int, int, bool) {
	node := aliased(t.node(at))
	inside := strings.Split(node.Value, "\n")
	lines := bytes.Split(t.content, []byte("\n"))
	// The first line of the text is the one behind the mark of the block.
	number := node.Line + line
	if node.Style&yaml.LiteralStyle == 0 || line < 1 || line > len(inside) || number > len(lines) {
		return 0, 0, false
	}
	written := strings.TrimSuffix(string(lines[number-1]), "\r")
	indent, isThere := strings.CutSuffix(written, inside[line-1])
	if !isThere || strings.TrimLeft(indent, " ") != "" {
		return 0, 0, false
	}
	if column < 1 {
		column = 1 + len(inside[line-1]) - len(strings.TrimLeft(inside[line-1], " \t"))
	}
	return number, len(indent) + column, true
}

// node returns the value that a JSON pointer leads to, or the nearest one around it.
func (t YAMLText) node(at string) *yaml.Node {
	node := t.root
	for token := range jsontext.Pointer(at).Tokens() {
		below := childNode(node, token)
		if below == nil {
			break
		}
		node = below
	}
	return node
}

// childNode returns the member or the item of that name, or nil.
func childNode(node *yaml.Node, token string) *yaml.Node {
	node = aliased(node)
	if node.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i]
		}
		return nil
	}
	for _, p := range pairsOf(node) {
		if p.name == token {
			return p.value
		}
	}
	return nil
}

// nodeWriter writes nodes that Read has found to be values as JSON text.
type nodeWriter struct {
	*jsontext.Encoder
	// limit is the length of the text: an alias repeats what it names, however long that is.
	limit int64
}

func (w nodeWriter) node(node *yaml.Node) error {
	if w.OutputOffset() > w.limit {
		return errors.New("with its aliases written out the document is too long")
	}
	switch node.Kind {
	case yaml.AliasNode:
		return w.node(node.Alias)
	case yaml.SequenceNode:
		err := w.WriteToken(jsontext.BeginArray)
		for i := 0; i < len(node.Content) && err == nil; i++ {
			err = w.node(node.Content[i])
		}
		return cmp.Or(err, w.WriteToken(jsontext.EndArray))
	case yaml.MappingNode:
		err := w.WriteToken(jsontext.BeginObject)
		for _, p := range pairsOf(node) {
			if err = cmp.Or(err, w.WriteToken(jsontext.String(p.name))); err == nil {
				err = w.node(p.value)
			}
		}
		return cmp.Or(err, w.WriteToken(jsontext.EndObject))
	default:
		value, err := scalar(node)
		encoded, failed := json.Marshal(value)
		if err != nil || failed != nil {
			return cmp.Or(err, failed)
		}
		return w.WriteValue(encoded)
	}
}
