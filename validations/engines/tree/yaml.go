package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// yamlReader turns nodes into values. It works on nodes because only they know lines, and because decoding would make
// times of dates and accept names that are no strings.
type yamlReader struct {
	limits engine.Limits
	values int
	// repeats counts the values that aliases repeat, and inAlias is above 0 inside of one.
	repeats, maxRepeats, inAlias int
}

// Values that aliases repeat take memory that the size of the document does not show, and by its size a document takes
// from the budget of the process (engines.Weight). So their number is bounded by the size, too.
const (
	// bytesPerRepeat is how much text a document has for each repeated value.
	bytesPerRepeat = 8
	// freeRepeats are allowed in documents of any size.
	freeRepeats = 10_000
)

func parseYAML(text []byte, limits engine.Limits) (*Tree, *engine.ReadError) {
	text = withoutMarks(text)
	if at := engine.BadTextAt(text); at >= 0 {
		message := "the text is not valid UTF-8, or contains NUL"
		return nil, engine.ReadErrorAt("yaml.invalid_utf8", message, at)
	}
	if values := countIndicators(text) / 2; values > limits.MaxValues {
		return nil, &engine.ReadError{Code: "yaml.too_large", Message: tooManyValues(limits)}
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(forParser(text)))
	if err := decoder.Decode(&document); err != nil {
		return nil, yamlFault(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlFault(err)
		}
		return nil, &engine.ReadError{Code: "yaml.documents", Message: "the file contains more than one document"}
	}
	root := document.Content[0]
	numberLines(root, linesOfParser(text))
	r := &yamlReader{limits: limits, maxRepeats: max(freeRepeats, len(text)/bytesPerRepeat)}
	value, err := r.value(root, 0)
	if err != nil {
		if fault, ok := errors.AsType[*engine.ReadError](err); ok {
			return nil, fault
		}
		return nil, yamlFault(err)
	}
	return &Tree{
		Value:  value,
		Lines:  engine.NewLines(text, limits.MaxExcerpt),
		Locate: func(wanted *Spot) { locateYAML(root, wanted) },
	}, nil
}

// countIndicators counts the characters that can begin a value. A value has two of them at most, as in {a: 1, b: 2}.
// The parser makes hundreds of bytes of each value and knows no bound, so a text with too many must not reach it.
func countIndicators(text []byte) int {
	const space = " \t\r\n"
	count := 0
	for i, c := range text {
		switch c {
		case ',', '[', '{':
			count++
		case '-', '?':
			if i+1 == len(text) || strings.IndexByte(space, text[i+1]) >= 0 {
				count++
			}
		case ':':
			// Behind a quote the value follows without a space, as in JSON.
			quoted := i > 0 && (text[i-1] == '"' || text[i-1] == '\'')
			if quoted || i+1 == len(text) || strings.IndexByte(space+",[]{}", text[i+1]) >= 0 {
				count++
			}
		}
	}
	return count
}

func tooManyValues(limits engine.Limits) string {
	return fmt.Sprintf("the document has more than %d values, aliases included", limits.MaxValues)
}

func yamlFault(err error) *engine.ReadError {
	if errors.Is(err, io.EOF) {
		return &engine.ReadError{Code: "yaml.malformed", Message: "the document is empty"}
	}
	at, detail := engine.Position{Line: 1}, err.Error()
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		at, detail = engine.Position{Line: load.Mark.Line, Column: load.Mark.Column}, load.Message
	}
	message := "not valid YAML: " + engine.ClipTo(detail, 2*engine.MaxQuoted)
	return &engine.ReadError{Code: "yaml.malformed", Message: message, At: at}
}

func (r *yamlReader) value(node *yaml.Node, depth int) (any, error) {
	r.values++
	if r.values > r.limits.MaxValues {
		return nil, nodeFault(node, "yaml.too_large", tooManyValues(r.limits))
	}
	if r.inAlias > 0 {
		if err := r.repeat(node); err != nil {
			return nil, err
		}
	}
	if depth > r.limits.MaxDepth {
		return nil, nodeFault(node, "yaml.depth", fmt.Sprintf("nested deeper than %d levels", r.limits.MaxDepth))
	}
	switch node.Kind {
	case yaml.AliasNode:
		r.inAlias++
		defer func() { r.inAlias-- }()
		return r.value(node.Alias, depth+1)
	case yaml.MappingNode:
		return r.mapping(node, depth+1)
	case yaml.SequenceNode:
		items := make([]any, 0, len(node.Content))
		for _, child := range node.Content {
			item, err := r.value(child, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	default:
		return scalar(node)
	}
}

// repeat counts a value that an alias repeats.
func (r *yamlReader) repeat(node *yaml.Node) error {
	r.repeats++
	if r.repeats > r.maxRepeats {
		return nodeFault(node, "yaml.too_large", fmt.Sprintf(
			"aliases repeat more than %d values; a document of this size may repeat no more", r.maxRepeats))
	}
	return nil
}

func (r *yamlReader) mapping(node *yaml.Node, depth int) (any, error) {
	members := make(map[string]any, len(node.Content)/2)
	read := func(p pair) error {
		if _, twice := members[p.name]; twice {
			return duplicateName(p)
		}
		value, err := r.value(p.value, depth)
		members[p.name] = value
		return err
	}
	return members, r.pairs(node, depth, read)
}

func nodeFault(node *yaml.Node, code, message string) *engine.ReadError {
	return &engine.ReadError{Code: code, Message: message, At: engine.Position{Line: node.Line, Column: node.Column}}
}

func locateYAML(node *yaml.Node, wanted *Spot) {
	if wanted == nil {
		return
	}
	wanted.Value = engine.Position{Line: node.Line, Column: node.Column}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if len(wanted.Children) == 0 {
		return
	}
	if node.Kind == yaml.SequenceNode {
		for i, child := range node.Content {
			if below := wanted.child(strconv.Itoa(i)); below != nil {
				below.Name = engine.Position{Line: child.Line, Column: child.Column}
				locateYAML(child, below)
			}
		}
		return
	}
	for _, p := range pairsOf(node) {
		if below := wanted.child(p.name); below != nil {
			below.Name = engine.Position{Line: p.key.Line, Column: p.key.Column}
			locateYAML(p.value, below)
		}
	}
}
