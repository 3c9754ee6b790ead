package xmltext

import (
	"encoding/xml"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Namespace is that of the elements of XML Schema.
const namespaceSchema = "http://www.w3.org/2001/XMLSchema"

// NamespaceInstance is that of the attribute xsi:type.
const NamespaceInstance = namespaceSchema + "-instance"

// node is an element of a schema, with the offsets of its tags in the text.
type node struct {
	name       xml.Name
	schema     bool
	attributes []xml.Attr
	// The start tag is text[start:open], the end tag text[close:end]. Both are one if the element is closed at once.
	start, open, close, end int
	parent                  *node
	children                []*node
}

// is reports whether a node is an element of XML Schema with one of the names.
func (n *node) is(names ...string) bool {
	return n.schema && slices.Contains(names, n.name.Local)
}

// attribute returns an attribute without a prefix.
func (n *node) attribute(name string) (string, bool) {
	for _, a := range n.attributes {
		if a.Name.Space == "" && a.Name.Local == name {
			return strings.TrimSpace(a.Value), true
		}
	}
	return "", false
}

// parts are the children that are no annotations.
func (n *node) parts() []*node {
	return slices.DeleteFunc(slices.Clone(n.children), func(child *node) bool { return child.is("annotation") })
}

// namespaceOf returns the namespace that a prefix stands for at a node.
func (n *node) namespaceOf(prefix string) string {
	for at := n; at != nil; at = at.parent {
		if namespace, declared := declaredPrefixes(at.attributes)[prefix]; declared {
			return namespace
		}
	}
	return ""
}

// readTree returns the root element of a well-formed text.
func readTree(text []byte, limits engine.Limits) (*node, *engine.ReadError) {
	top := &node{}
	open := top
	r := NewReader(text, limits)
	r.Visit = func(e *Element, attributes []xml.Attr) *engine.ReadError {
		n := &node{
			name: e.Name, schema: e.Namespace == namespaceSchema, attributes: attributes,
			start: e.Start, open: e.End, close: e.Start, end: e.End, parent: open,
		}
		open.children = append(open.children, n)
		open = n
		return nil
	}
	r.Follow = func(token xml.Token, start int) {
		if _, ends := token.(xml.EndElement); !ends {
			return
		}
		// The decoder makes up an end tag where the start tag is one as well.
		if r.Offset() > start {
			open.close, open.end = start, r.Offset()
		}
		open = open.parent
	}
	if fault := r.Read(); fault != nil {
		return nil, fault
	}
	return top.children[0], nil
}
