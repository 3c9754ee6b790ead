package tree

import (
	"bytes"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// linesOfParser returns where the lines of the parser begin, or nothing where they are those of editors, which end with
// a line feed. The parser, one of YAML 1.1, also ends lines at a carriage return alone and at NEL, LS and PS.
func linesOfParser(text []byte) []engine.Position {
	const breaks = "\u0085\u2028\u2029"
	alone := bytes.Count(text, []byte("\r")) > bytes.Count(text, []byte("\r\n"))
	if !alone && !bytes.ContainsAny(text, breaks) {
		return nil
	}
	at := engine.Position{Line: 1}
	starts := []engine.Position{at}
	for i, c := range string(text) {
		at.Column++
		switch {
		case c == '\n':
			at = engine.Position{Line: at.Line + 1}
			starts = append(starts, at)
		case c == '\r' && !bytes.HasPrefix(text[i:], []byte("\r\n")), c == '\u0085', c == '\u2028', c == '\u2029':
			starts = append(starts, at)
		}
	}
	return starts
}

// numberLines gives a node and those below it their lines and columns in an editor.
func numberLines(node *yaml.Node, starts []engine.Position) {
	if node.Line < 1 || node.Line > len(starts) {
		return
	}
	start := starts[node.Line-1]
	node.Line, node.Column = start.Line, start.Column+node.Column
	for _, child := range node.Content {
		numberLines(child, starts)
	}
}
