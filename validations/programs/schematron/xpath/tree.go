// Package xpath evaluates expressions of XPath 1.0 on XML documents in memory, within a bounded amount of work.
//
// It has the whole language but the namespace axis and id(), and current() of XSLT. Variables are given by the caller.
// Decision 15 (docs/adr) says why this is not a library.
package xpath

import (
	"strconv"
	"strings"
)

// Kind is what a node of a document is.
type Kind uint8

// The kinds of nodes.
const (
	Root Kind = iota
	Element
	Attribute
	Text
	Comment
	Instruction
)

// Node is a part of a document.
type Node struct {
	Kind Kind
	// order is its place among all nodes of the document, attributes behind their element.
	order int32
	// place is its place among the children of its parent.
	place int32
	// index counts elements of the same name below the same parent from 1.
	index int32
	// Offset is where it begins in the text; that of an attribute is its element's.
	Offset int
	Parent *Node
	name   *name
	// value is the text of all but elements and the root.
	value      string
	children   []*Node
	attributes []*Node
}

// name is what the nodes of one name share.
type name struct {
	local, prefix, namespace string
}

// Document is a tree of nodes.
type Document struct {
	Root *Node
	// size is the number of its nodes.
	size int
}

// Element is the root element.
func (d *Document) Element() *Node {
	for _, n := range d.Root.children {
		if n.Kind == Element {
			return n
		}
	}
	return nil
}

// Path is where a node stands. The index 1 is left out.
func (n *Node) Path() string {
	switch n.Kind {
	case Root:
		return "/"
	case Attribute:
		return n.Parent.Path() + "/@" + n.written()
	default:
		parent := ""
		if n.Parent.Kind != Root {
			parent = n.Parent.Path()
		}
		return parent + "/" + n.step()
	}
}

func (n *Node) step() string {
	step := n.written()
	switch n.Kind {
	case Text:
		step = "text()"
	case Comment:
		step = "comment()"
	case Instruction:
		step = "processing-instruction()"
	default:
	}
	if n.index > 1 {
		step += "[" + strconv.Itoa(int(n.index)) + "]"
	}
	return step
}

// written is the name as the document has it.
func (n *Node) written() string {
	switch {
	case n.name == nil:
		return ""
	case n.name.prefix != "":
		return n.name.prefix + ":" + n.name.local
	default:
		return n.name.local
	}
}

func (n *Node) local() string {
	if n.name == nil {
		return ""
	}
	return n.name.local
}

func (n *Node) namespace() string {
	if n.name == nil {
		return ""
	}
	return n.name.namespace
}

// text is the string value of a node.
func (w Work) text(n *Node) string {
	switch n.Kind {
	case Element, Root:
	default:
		w.Spend(len(n.value))
		return n.value
	}
	if len(n.children) == 1 && n.children[0].Kind == Text {
		return w.text(n.children[0])
	}
	var b strings.Builder
	w.write(&b, n)
	return b.String()
}

func (w Work) write(b *strings.Builder, n *Node) {
	for _, child := range n.children {
		if !w.Spend(1) {
			return
		}
		switch child.Kind {
		case Text:
			if w.Spend(len(child.value)) {
				b.WriteString(child.value)
			}
		case Element:
			w.write(b, child)
		default:
		}
	}
}
