package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

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
	if at := engine.BadTextAt(text); at >= 0 {
		message := "the text is not valid UTF-8, or holds NUL"
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
		return nil, &engine.ReadError{Code: "yaml.documents", Message: "the file holds more than one document"}
	}
	root := document.Content[0]
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

// faultLine is the place in the text of the parser's errors.
var faultLine = regexp.MustCompile(`line (\d+): `)

// yamlFault takes the line from the parser's text, which is the only place where it is given.
func yamlFault(err error) *engine.ReadError {
	if errors.Is(err, io.EOF) {
		return &engine.ReadError{Code: "yaml.malformed", Message: "the document is empty"}
	}
	fault := &engine.ReadError{Code: "yaml.malformed", At: engine.Position{Line: 1}}
	detail := strings.TrimPrefix(err.Error(), "yaml: ")
	if found := faultLine.FindStringSubmatch(detail); found != nil {
		detail = strings.Replace(detail, found[0], "", 1)
		if line, err := strconv.Atoi(found[1]); err == nil {
			fault.At.Line = line
		}
		// For these the parser gives the line before the one it means.
		if strings.HasPrefix(detail, "did not find expected") {
			fault.At.Line++
		}
	}
	if strings.HasPrefix(detail, "unknown anchor") {
		fault.At = engine.Position{Line: engine.LineUnknown}
	}
	fault.Message = "not valid YAML: " + engine.ClipTo(detail, 2*engine.MaxQuoted)
	return fault
}

func (r *yamlReader) value(node *yaml.Node, depth int) (any, error) {
	r.values++
	if r.values > r.limits.MaxValues {
		return nil, nodeFault(node, "yaml.too_large", tooManyValues(r.limits))
	}
	if r.inAlias > 0 {
		r.repeats++
	}
	if r.repeats > r.maxRepeats {
		return nil, nodeFault(node, "yaml.too_large", fmt.Sprintf(
			"aliases repeat more than %d values; a document of this size may repeat no more", r.maxRepeats))
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

func (r *yamlReader) mapping(node *yaml.Node, depth int) (any, error) {
	members := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		name, ok := memberName(key)
		if !ok {
			return nil, nodeFault(key, "yaml.name", "a name must be a plain value; merge keys are not supported")
		}
		if _, twice := members[name]; twice {
			return nil, nodeFault(key, "yaml.duplicate_name", "the name "+engine.Quote(name)+" occurs twice")
		}
		value, err := r.value(node.Content[i+1], depth)
		if err != nil {
			return nil, err
		}
		members[name] = value
	}
	return members, nil
}

// memberName takes names such as 1 or true as they are written, since JSON knows only strings there.
func memberName(key *yaml.Node) (string, bool) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	return key.Value, key.Kind == yaml.ScalarNode && key.ShortTag() != "!!merge"
}

func scalar(node *yaml.Node) (any, error) {
	switch node.ShortTag() {
	case "!!null":
		return nil, nil //nolint:nilnil // null is a value
	case "!!bool":
		var truth bool
		if err := node.Decode(&truth); err != nil {
			return nil, nodeFault(node, "yaml.malformed", engine.Quote(node.Value)+" is neither true nor false")
		}
		return truth, nil
	case "!!int", "!!float":
		literal, ok := numberLiteral(node)
		if !ok {
			message := engine.Quote(node.Value) + " is no number that JSON can hold"
			return nil, nodeFault(node, "yaml.number_range", message)
		}
		return json.Number(literal), nil
	default:
		return node.Value, nil
	}
}

// numberLiteral writes a number as JSON does. A literal that JSON allows is kept, with all its digits.
func numberLiteral(node *yaml.Node) (string, bool) {
	plain := strings.TrimPrefix(strings.ReplaceAll(node.Value, "_", ""), "+")
	if json.Valid([]byte(plain)) {
		return plain, engine.NumberInRange(plain)
	}
	if whole, ok := new(big.Int).SetString(plain, 0); ok && len(plain) <= engine.MaxNumberChars {
		return whole.String(), engine.NumberInRange(whole.String())
	}
	number, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
		return "", false
	}
	return strconv.FormatFloat(number, 'g', -1, 64), true
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
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		name, _ := memberName(key)
		if below := wanted.child(name); below != nil {
			below.Name = engine.Position{Line: key.Line, Column: key.Column}
			locateYAML(node.Content[i+1], below)
		}
	}
}
