package xpath

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// Namespaces with a meaning of their own.
const (
	namespaceXML      = "http://www.w3.org/XML/1998/namespace"
	namespaceXMLNS    = "http://www.w3.org/2000/xmlns/"
	namespaceXInclude = "http://www.w3.org/2001/XInclude"
)

// Bounds of a document: how deep it nests, the elements and attributes it has, the attributes of one element, and how
// many nodes there may be for each of the values.
const (
	maxDepth      = 200
	maxValues     = 1_000_000
	maxAttributes = 1000
	nodesPerValue = 2
)

// Fault is what makes a document unreadable, at a byte offset of its text.
type Fault struct {
	Code, Message string
	Offset        int
}

// reader makes a document of a text. It expands no entity and opens nothing: a document type declaration, which could
// ask for either, ends it.
type reader struct {
	text    []byte
	decoder *xml.Decoder
	names   map[name]*name
	root    *Node
	open    []*element
	values  int
	size    int
	// pending is what has been read of a text that may go on behind a section of CDATA.
	pending   []byte
	pendingAt int
}

// element is an element that is open.
type element struct {
	node *Node
	name xml.Name
	// prefixes are those that it declares.
	prefixes map[string]string
	children map[xml.Name]int32
}

// attributeSpace replaces what XML reads as spaces within attributes.
var attributeSpace = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ", "\r", " ")

// Read reads a text in UTF-8 without a declaration, as charset.Decode returns it.
func Read(text []byte) (*Document, *Fault) {
	r := &reader{
		text: text, decoder: xml.NewDecoder(bytes.NewReader(text)), names: map[name]*name{},
		root: &Node{Kind: Root}, size: 1,
	}
	for {
		start := r.offset()
		if bytes.HasPrefix(text[start:], []byte("<!DOCTYPE")) {
			message := "a document type declaration is refused: no entity is expanded and no other file is read"
			return nil, &Fault{"xml.dtd", message, start}
		}
		token, err := r.decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		if err != nil {
			return nil, r.fault(err, start)
		}
		if fault := r.token(token, start); fault != nil {
			return nil, fault
		}
		if most := nodesPerValue * maxValues; r.size > most {
			message := fmt.Sprintf("the document has more than %d elements, attributes, texts and comments", most)
			return nil, &Fault{"xml.too_large", message, r.offset()}
		}
	}
}

// offset is the offset behind the last token.
func (r *reader) offset() int {
	return int(r.decoder.InputOffset())
}

func (r *reader) token(token xml.Token, start int) *Fault {
	if text, isText := token.(xml.CharData); isText {
		return r.characters(text, start)
	}
	r.endText()
	switch t := token.(type) {
	case xml.StartElement:
		return r.begin(t, start)
	case xml.EndElement:
		return r.close(t, start)
	case xml.Comment:
		r.add(Comment, start).value = string(t)
	case xml.ProcInst:
		if strings.EqualFold(t.Target, "xml") {
			return malformed(start, "the XML declaration must be the first thing in the file")
		}
		n := r.add(Instruction, start)
		n.name, n.value = r.name(name{local: t.Target}), string(t.Inst)
	default:
		return malformed(start, `"<!" is not expected here`)
	}
	return nil
}

func (r *reader) characters(text []byte, start int) *Fault {
	if len(r.open) == 0 {
		if outside := bytes.TrimLeft(r.text[start:r.offset()], " \t\r\n"); len(outside) > 0 {
			return malformed(r.offset()-len(outside), "text stands outside of the root element")
		}
		return nil
	}
	if len(r.pending) == 0 {
		r.pendingAt = start
	}
	r.pending = append(r.pending, text...)
	return nil
}

func (r *reader) endText() {
	if len(r.pending) > 0 {
		r.add(Text, r.pendingAt).value = string(r.pending)
		r.pending = r.pending[:0]
	}
}

// begin reads a start tag.
func (r *reader) begin(tag xml.StartElement, start int) *Fault {
	if fault := r.admit(tag, start); fault != nil {
		return fault
	}
	e := &element{name: tag.Name, prefixes: declaredPrefixes(tag.Attr)}
	e.node = r.add(Element, start)
	e.node.index = 1
	if len(r.open) > 0 {
		e.node.index = r.open[len(r.open)-1].count(tag.Name)
	}
	r.open = append(r.open, e)
	if !spaced(r.text[start:r.offset()]) {
		return malformed(start, "a space is missing between two attributes of <"+findings.Clip(written(tag.Name))+">")
	}
	namespace, bound := r.namespaceOf(tag.Name.Space)
	if !bound || strings.Contains(tag.Name.Local, ":") {
		return unbound(start, tag.Name)
	}
	if namespace == namespaceXInclude {
		return &Fault{"xml.external", "XInclude is refused: no other file is read", start}
	}
	e.node.name = r.name(name{tag.Name.Local, tag.Name.Space, namespace})
	return r.attributes(e.node, tag)
}

// admit refuses an element that does not belong here, or that is one too many.
func (r *reader) admit(tag xml.StartElement, start int) *Fault {
	r.values += 1 + len(tag.Attr)
	switch {
	case len(r.open) == 0 && r.rootElement() != nil:
		return malformed(start, "a second root element: a document has one")
	case r.values > maxValues:
		message := fmt.Sprintf("the document has more than %d elements and attributes", maxValues)
		return &Fault{"xml.too_large", message, start}
	case len(tag.Attr) > maxAttributes:
		message := fmt.Sprintf("the element has more than %d attributes", maxAttributes)
		return &Fault{"xml.too_large", message, start}
	case len(r.open) >= maxDepth:
		return &Fault{"xml.depth", fmt.Sprintf("nested deeper than %d levels", maxDepth), start}
	}
	return nil
}

// attributes adds the attributes of an element, without declarations of namespaces.
func (r *reader) attributes(n *Node, tag xml.StartElement) *Fault {
	seen := make(map[xml.Name]bool, len(tag.Attr))
	for _, a := range tag.Attr {
		full, bound := a.Name, true
		if full.Space != "" {
			full.Space, bound = r.namespaceOf(full.Space)
		}
		if !bound || strings.Contains(full.Local, ":") {
			return unbound(n.Offset, a.Name)
		}
		if seen[full] {
			return malformed(n.Offset, fmt.Sprintf("<%s> has the attribute %s twice",
				findings.Clip(written(tag.Name)), findings.Clip(written(a.Name))))
		}
		seen[full] = true
		if _, declares := declaredPrefix(a); declares {
			continue
		}
		one := &Node{Kind: Attribute, Parent: n, Offset: n.Offset, order: r.next()}
		one.name = r.name(name{a.Name.Local, a.Name.Space, full.Space})
		one.value = attributeSpace.Replace(a.Value)
		n.attributes = append(n.attributes, one)
	}
	return nil
}

// namespaceOf looks a prefix up in the open elements. The empty prefix is always bound.
func (r *reader) namespaceOf(prefix string) (string, bool) {
	switch prefix {
	case "xml":
		return namespaceXML, true
	case "xmlns":
		return namespaceXMLNS, true
	}
	for _, e := range slices.Backward(r.open) {
		if namespace, declared := e.prefixes[prefix]; declared {
			return namespace, true
		}
	}
	return "", prefix == ""
}

func (r *reader) close(tag xml.EndElement, start int) *Fault {
	if len(r.open) == 0 {
		return malformed(start, "</"+findings.Clip(written(tag.Name))+"> closes nothing")
	}
	e := r.open[len(r.open)-1]
	if e.name != tag.Name {
		return malformed(start, fmt.Sprintf("</%s> appears where <%s> of line %d must be closed",
			findings.Clip(written(tag.Name)), findings.Clip(written(e.name)), r.line(e.node.Offset)))
	}
	r.open = r.open[:len(r.open)-1]
	return nil
}

// end returns the document, or says what is missing where the text ends.
func (r *reader) end() (*Document, *Fault) {
	switch {
	case len(r.open) > 0:
		e := r.open[len(r.open)-1]
		return nil, malformed(len(r.text), fmt.Sprintf("the document ends too early: <%s> of line %d is not closed",
			findings.Clip(written(e.name)), r.line(e.node.Offset)))
	case r.rootElement() == nil:
		return nil, malformed(len(r.text), "the document has no element")
	default:
		return &Document{Root: r.root, size: r.size}, nil
	}
}

// fault says in plain words why the decoder stopped.
func (r *reader) fault(err error, start int) *Fault {
	at := max(start, r.offset()-1)
	syntax, ok := errors.AsType[*xml.SyntaxError](err)
	switch {
	case !ok:
		return malformed(at, "not valid XML: "+findings.Clip(err.Error()))
	case strings.HasPrefix(syntax.Msg, "unexpected EOF"):
		return malformed(start, "the document ends in the middle of this")
	case strings.HasPrefix(syntax.Msg, "invalid character entity"):
		entity := strings.TrimPrefix(syntax.Msg, "invalid character entity ")
		entity = strings.TrimSuffix(entity, " (no semicolon)")
		if found := bytes.LastIndexByte(r.text[start:r.offset()], '&'); found >= 0 {
			at = start + found
		}
		return &Fault{"xml.entity", findings.Clip(entity) +
			" is not an entity of XML: use &lt; &gt; &amp; &apos; &quot; or a number as in &#228;", at}
	default:
		return malformed(at, "not valid XML: "+findings.ClipTo(syntax.Msg, 2*findings.MaxQuoted))
	}
}

func (r *reader) line(offset int) int {
	return 1 + bytes.Count(r.text[:offset], []byte{'\n'})
}

// add appends a child to the element that is open.
func (r *reader) add(kind Kind, offset int) *Node {
	parent := r.root
	if len(r.open) > 0 {
		parent = r.open[len(r.open)-1].node
	}
	n := &Node{Kind: kind, Parent: parent, Offset: offset, order: r.next()}
	n.place = int32(len(parent.children)) //nolint:gosec // The number of nodes is bounded.
	parent.children = append(parent.children, n)
	return n
}

// next returns the order of a new node.
func (r *reader) next() int32 {
	r.size++
	return int32(r.size) //nolint:gosec // The number of nodes is bounded.
}

func (r *reader) name(n name) *name {
	known, ok := r.names[n]
	if !ok {
		known = &n
		r.names[n] = known
	}
	return known
}

// rootElement is the element of the document, nil where there is none yet.
func (r *reader) rootElement() *Node {
	return (&Document{Root: r.root}).Element()
}

// count returns which child of its name the next one is.
func (e *element) count(name xml.Name) int32 {
	if e.children == nil {
		e.children = map[xml.Name]int32{}
	}
	e.children[name]++
	return e.children[name]
}

func declaredPrefixes(attributes []xml.Attr) map[string]string {
	var prefixes map[string]string
	for _, a := range attributes {
		if prefix, declares := declaredPrefix(a); declares {
			if prefixes == nil {
				prefixes = map[string]string{}
			}
			prefixes[prefix] = a.Value
		}
	}
	return prefixes
}

// declaredPrefix is the prefix that an attribute declares: "" for the default namespace.
func declaredPrefix(a xml.Attr) (string, bool) {
	if a.Name.Space == "" && a.Name.Local == "xmlns" {
		return "", true
	}
	return a.Name.Local, a.Name.Space == "xmlns"
}

// spaced reports whether white space stands between the attributes of a start tag, which the decoder does not ask for.
func spaced(tag []byte) bool {
	for {
		open := bytes.IndexAny(tag, `"'`)
		if open < 0 {
			return true
		}
		length := bytes.IndexByte(tag[open+1:], tag[open])
		if length < 0 {
			return true
		}
		tag = tag[open+length+2:]
		if len(tag) > 0 && bytes.IndexByte([]byte(" \t\r\n/>"), tag[0]) < 0 {
			return false
		}
	}
}

func malformed(offset int, message string) *Fault {
	return &Fault{"xml.malformed", message, offset}
}

func unbound(offset int, name xml.Name) *Fault {
	message := "the prefix of " + findings.Clip(written(name)) + " is not declared"
	return &Fault{"xml.namespace", message, offset}
}

// written is a name as the document has it.
func written(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}
