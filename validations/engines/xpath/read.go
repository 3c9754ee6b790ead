package xpath

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// nodesPerValue is how many nodes a document may have for each element and attribute that the limits allow.
const nodesPerValue = 2

// builder makes a document of what a reader reads.
type builder struct {
	reader *xmltext.Reader
	limits engine.Limits
	names  map[name]*name
	open   *Node
	size   int
	// text is what has been read of a text that may go on behind a section of CDATA.
	text   []byte
	textAt int
	fault  *engine.ReadError
}

// attributeSpace replaces what XML reads as spaces within attributes.
var attributeSpace = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ", "\r", " ")

// Read reads a text in UTF-8, as xmltext.Decode returns it.
func Read(text []byte, limits engine.Limits) (*Document, *engine.ReadError) {
	root := &Node{Kind: Root}
	b := &builder{
		reader: xmltext.NewReader(text, limits), limits: limits, names: map[name]*name{}, open: root, size: 1,
	}
	b.reader.Visit = b.element
	b.reader.Follow = b.follow
	if fault := b.reader.Read(); fault != nil {
		return nil, fault
	}
	if b.fault != nil {
		return nil, b.fault
	}
	return &Document{Root: root, size: b.size}, nil
}

// element is called for each start tag.
func (b *builder) element(e *xmltext.Element, attributes []xml.Attr) *engine.ReadError {
	b.endText()
	n := b.add(Element, e.Start)
	n.name = b.name(name{e.Name.Local, e.Name.Space, e.Namespace})
	n.index = int32(min(e.Index, b.limits.MaxValues)) //nolint:gosec // The limit is far below 2^31.
	for _, a := range attributes {
		if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
			continue
		}
		namespace := ""
		if a.Name.Space != "" {
			namespace, _ = b.reader.NamespaceOf(a.Name.Space)
		}
		one := &Node{Kind: Attribute, Parent: n, Offset: e.Start, order: b.next()}
		one.name = b.name(name{a.Name.Local, a.Name.Space, namespace})
		one.value = attributeSpace.Replace(a.Value)
		n.attributes = append(n.attributes, one)
	}
	b.open = n
	return b.fault
}

// follow is called behind each token.
func (b *builder) follow(token xml.Token, start int) {
	if b.fault != nil {
		return
	}
	switch t := token.(type) {
	case xml.CharData:
		if b.open.Kind == Root {
			return
		}
		if len(b.text) == 0 {
			b.textAt = start
		}
		b.text = append(b.text, t...)
	case xml.Comment:
		b.endText()
		b.add(Comment, start).value = string(t)
	case xml.ProcInst:
		b.endText()
		n := b.add(Instruction, start)
		n.name, n.value = b.name(name{local: t.Target}), string(t.Inst)
	case xml.EndElement:
		b.endText()
		b.open = b.open.Parent
	}
}

func (b *builder) endText() {
	if len(b.text) == 0 {
		return
	}
	b.add(Text, b.textAt).value = string(b.text)
	b.text = b.text[:0]
}

// add appends a child to the element that is open.
func (b *builder) add(kind Kind, offset int) *Node {
	n := &Node{Kind: kind, Parent: b.open, Offset: offset, order: b.next()}
	n.place = int32(len(b.open.children)) //nolint:gosec // The number of nodes is bounded.
	b.open.children = append(b.open.children, n)
	return n
}

// next returns the order of a new node.
func (b *builder) next() int32 {
	b.size++
	if most := nodesPerValue * b.limits.MaxValues; b.size > most && b.fault == nil {
		message := fmt.Sprintf("the document has more than %d elements, attributes, texts and comments", most)
		b.fault = engine.ReadErrorAt("xml.too_large", message, b.reader.Offset())
	}
	return int32(b.size) //nolint:gosec // The number of nodes is bounded.
}

func (b *builder) name(n name) *name {
	known, ok := b.names[n]
	if !ok {
		known = &n
		b.names[n] = known
	}
	return known
}
