package tree

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// Names in the tree of an XML document that no element can have.
const (
	attributeMark = "@"
	textName      = "#text"
)

// parseXML reads a document as values. The root element is the one member of an object. An element with neither
// attributes nor elements inside is its text; any other is an object with its elements, its attributes as "@name" and
// its text as "#text". Elements of one name with one parent are a list where there are several. Names are as written,
// with their prefixes; declarations of namespaces are left out, and so is white space around texts.
func parseXML(text []byte, limits engine.Limits) (*Tree, *engine.ReadError) {
	root := &xmlNode{members: map[string]any{}}
	b := &xmlBuilder{open: []*xmlNode{root}}
	reader := xmltext.NewReader(text, limits)
	reader.Follow = b.follow
	if fault := reader.Read(); fault != nil {
		return nil, fault
	}
	return &Tree{
		Value:   root.members,
		Textual: true,
		Lines:   engine.NewLines(text, limits.MaxExcerpt),
		Locate:  func(wanted *Spot) { locateXML(text, limits, root.members, wanted) },
	}, nil
}

// xmlBuilder makes values of the tokens of a document.
type xmlBuilder struct {
	open []*xmlNode
}

// xmlNode is an element that is open.
type xmlNode struct {
	name    string
	members map[string]any
	text    []byte
}

func (b *xmlBuilder) follow(token xml.Token, _ int) {
	top := b.open[len(b.open)-1]
	switch t := token.(type) {
	case xml.StartElement:
		node := &xmlNode{name: xmltext.Written(t.Name), members: map[string]any{}}
		for _, a := range t.Attr {
			if !xmltext.IsDeclaration(a.Name) {
				node.members[attributeMark+xmltext.Written(a.Name)] = a.Value
			}
		}
		b.open = append(b.open, node)
	case xml.CharData:
		top.text = append(top.text, t...)
	case xml.EndElement:
		b.open = b.open[:len(b.open)-1]
		b.open[len(b.open)-1].add(top.name, top.value())
	}
}

func (n *xmlNode) value() any {
	text := strings.TrimSpace(string(n.text))
	if len(n.members) == 0 {
		return text
	}
	if text != "" {
		n.members[textName] = text
	}
	return n.members
}

func (n *xmlNode) add(name string, value any) {
	switch before := n.members[name].(type) {
	case nil:
		n.members[name] = value
	case []any:
		n.members[name] = append(before, value)
	default:
		n.members[name] = []any{before, value}
	}
}

// xmlLocator fills in the spots of a document that was read before.
type xmlLocator struct {
	reader *xmltext.Reader
	open   []xmlPlace
}

// xmlPlace is an open element whose position is wanted, or that of something inside it. Both are nil where it is not.
type xmlPlace struct {
	spot    *Spot
	members map[string]any
}

func locateXML(text []byte, limits engine.Limits, root map[string]any, wanted *Spot) {
	l := &xmlLocator{reader: xmltext.NewReader(text, limits), open: []xmlPlace{{wanted, root}}}
	l.reader.Follow = l.follow
	// The text was read to its end before, so a fault cannot occur; what it would leave is a finding without a line.
	_ = l.reader.Read()
}

func (l *xmlLocator) follow(token xml.Token, start int) {
	top := l.open[len(l.open)-1]
	switch t := token.(type) {
	case xml.StartElement:
		if len(l.open) == 1 {
			top.spot.Value = engine.Position{Offset: start}
		}
		l.open = append(l.open, l.element(top, t, start))
	case xml.CharData:
		blank := len(t) - len(bytes.TrimLeft(t, " \t\r\n"))
		if s := top.spot.child(textName); s != nil && s.Value == (engine.Position{}) && blank < len(t) {
			s.Value = engine.Position{Offset: start + blank}
		}
	case xml.EndElement:
		l.open = l.open[:len(l.open)-1]
	}
}

func (l *xmlLocator) element(parent xmlPlace, tag xml.StartElement, start int) xmlPlace {
	name := xmltext.Written(tag.Name)
	s := parent.spot.child(name)
	if s == nil {
		return xmlPlace{}
	}
	value := parent.members[name]
	if list, ok := value.([]any); ok {
		at := l.reader.Open[len(l.reader.Open)-1].Index - 1
		if at == 0 {
			s.Value = engine.Position{Offset: start}
		}
		s, value = s.child(strconv.Itoa(at)), list[at]
	}
	if s == nil {
		return xmlPlace{}
	}
	s.Value = engine.Position{Offset: start}
	written := l.reader.Text[start:l.reader.Offset()]
	for _, a := range tag.Attr {
		name := xmltext.Written(a.Name)
		if below := s.child(attributeMark + name); below != nil {
			value, _ := xmltext.AttributeValue(written, name)
			below.Value = engine.Position{Offset: start + bytes.LastIndex(written[:value], []byte(name))}
		}
	}
	members, _ := value.(map[string]any)
	return xmlPlace{s, members}
}
