package xmltext

import (
	"bytes"
	"encoding/xml"
)

// withPlainPatterns returns the text of a schema with patterns that libxml2 reads as they are meant.
func withPlainPatterns(text []byte, root *node) []byte {
	var written bytes.Buffer
	at := 0
	root.patterns(func(n *node, pattern string) {
		plain := plainPattern(pattern)
		if plain == pattern {
			return
		}
		begin, end := AttributeValue(text[n.start:n.open], "value")
		written.Write(text[at : n.start+begin])
		written.WriteByte('"')
		// Writing to a buffer does not fail.
		_ = xml.EscapeText(&written, []byte(plain))
		written.WriteByte('"')
		at = n.start + end
	})
	written.Write(text[at:])
	return written.Bytes()
}

// patterns calls found for each pattern below a node.
func (n *node) patterns(found func(n *node, pattern string)) {
	if pattern, given := n.attribute("value"); given && n.is("pattern") {
		found(n, pattern)
	}
	for _, child := range n.children {
		child.patterns(found)
	}
}
