// Package xmltext reads XML texts: it decodes them, finds what keeps them from being well-formed, and knows where each
// element is. It expands no entity and opens no file.
//
// It also reads the texts of XML Schemas, and prepares them for the program that checks by them: Bundle answers
// references from texts that the step holds, and Simplify writes content models in a form that the program checks in
// linear time.
package xmltext

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Namespaces with a meaning of their own.
const (
	namespaceXML      = "http://www.w3.org/XML/1998/namespace"
	namespaceXMLNS    = "http://www.w3.org/2000/xmlns/"
	namespaceXInclude = "http://www.w3.org/2001/XInclude"
)

// Reader reads a document to its end and says what keeps it from being well-formed. It resolves no entity and opens
// nothing: a document type declaration, which could ask for either, ends it.
type Reader struct {
	Text    []byte
	limits  engine.Limits
	decoder *xml.Decoder
	values  int
	rooted  bool
	Open    []*Element
	// Visit is called for each element behind its start tag where it is set. What it returns ends the reading.
	Visit func(e *Element, attributes []xml.Attr) *engine.ReadError
	// Follow is called for each token, with its offset, where it is set. The token is only valid meanwhile.
	Follow func(token xml.Token, start int)
}

// Element is an element that is open.
type Element struct {
	Name      xml.Name
	Namespace string
	// Start and end are the offsets of the start tag.
	Start, End int
	// Index counts elements of the same name below the same parent from 1.
	Index    int
	prefixes map[string]string
	children map[xml.Name]int
}

// NewReader returns a reader of a text in UTF-8, as Decode returns it.
func NewReader(text []byte, limits engine.Limits) *Reader {
	return &Reader{Text: text, limits: limits, decoder: xml.NewDecoder(bytes.NewReader(text))}
}

// Read reads to the end of the document, or to its first fault.
func (r *Reader) Read() *engine.ReadError {
	for {
		start := r.Offset()
		if bytes.HasPrefix(r.Text[start:], []byte("<!DOCTYPE")) {
			message := "a document type declaration is refused: no entity is expanded and no other file is read"
			return engine.ReadErrorAt("xml.dtd", message, start)
		}
		token, err := r.decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		if err != nil {
			return r.fault(err, start)
		}
		if fault := r.token(token, start); fault != nil {
			return fault
		}
		if r.Follow != nil {
			r.Follow(token, start)
		}
	}
}

// Path names the innermost open element as XPath does. The index 1 is left out.
func (r *Reader) Path() string {
	var b strings.Builder
	for _, e := range r.Open {
		b.WriteByte('/')
		b.WriteString(Written(e.Name))
		if e.Index > 1 {
			fmt.Fprintf(&b, "[%d]", e.Index)
		}
	}
	return b.String()
}

// Offset is the offset behind the last token.
func (r *Reader) Offset() int {
	return int(r.decoder.InputOffset())
}

func (r *Reader) token(token xml.Token, start int) *engine.ReadError {
	switch t := token.(type) {
	case xml.StartElement:
		return r.begin(t, start)
	case xml.EndElement:
		return r.close(t, start)
	case xml.CharData:
		if outside := bytes.TrimLeft(r.Text[start:r.Offset()], " \t\r\n"); len(r.Open) == 0 && len(outside) > 0 {
			return malformed(r.Offset()-len(outside), "text stands outside of the root element")
		}
	case xml.ProcInst:
		if strings.EqualFold(t.Target, "xml") {
			return malformed(start, "the XML declaration must be the first thing in the file")
		}
	case xml.Directive:
		return malformed(start, `"<!" is not expected here`)
	}
	return nil
}

func (r *Reader) begin(tag xml.StartElement, start int) *engine.ReadError {
	if len(r.Open) == 0 && r.rooted {
		return malformed(start, "a second root element: a document has one")
	}
	r.rooted = true
	r.values += 1 + len(tag.Attr)
	if r.values > r.limits.MaxValues {
		message := fmt.Sprintf("the document has more than %d elements and attributes", r.limits.MaxValues)
		return engine.ReadErrorAt("xml.too_large", message, start)
	}
	if len(tag.Attr) > r.limits.MaxAttributes {
		message := fmt.Sprintf("the element has more than %d attributes", r.limits.MaxAttributes)
		return engine.ReadErrorAt("xml.too_large", message, start)
	}
	if len(r.Open) >= r.limits.MaxDepth {
		message := fmt.Sprintf("nested deeper than %d levels", r.limits.MaxDepth)
		return engine.ReadErrorAt("xml.depth", message, start)
	}
	e := &Element{Name: tag.Name, Start: start, End: r.Offset(), Index: 1, prefixes: declaredPrefixes(tag.Attr)}
	if len(r.Open) > 0 {
		e.Index = r.Open[len(r.Open)-1].count(tag.Name)
	}
	r.Open = append(r.Open, e)
	if !spaced(r.Text[e.Start:e.End]) {
		return malformed(start, "a space is missing between two attributes of <"+engine.Clip(Written(tag.Name))+">")
	}
	if fault := r.resolve(e, tag.Attr); fault != nil {
		return fault
	}
	if e.Namespace == namespaceXInclude {
		message := "XInclude is refused: no other file is read"
		return engine.ReadErrorAt("xml.external", message, start)
	}
	if r.Visit != nil {
		return r.Visit(e, tag.Attr)
	}
	return nil
}

// resolve finds the namespaces of an element and its attributes, and attributes that occur twice.
func (r *Reader) resolve(e *Element, attributes []xml.Attr) *engine.ReadError {
	var bound bool
	if e.Namespace, bound = r.NamespaceOf(e.Name.Space); !bound || strings.Contains(e.Name.Local, ":") {
		return unbound(e.Start, e.Name)
	}
	seen := make(map[xml.Name]bool, len(attributes))
	for _, a := range attributes {
		name := a.Name
		if name.Space != "" {
			if name.Space, bound = r.NamespaceOf(name.Space); !bound {
				return unbound(e.Start, a.Name)
			}
		}
		if strings.Contains(name.Local, ":") {
			return unbound(e.Start, a.Name)
		}
		if seen[name] {
			element, attribute := engine.Clip(Written(e.Name)), engine.Clip(Written(a.Name))
			message := fmt.Sprintf("<%s> has the attribute %s twice", element, attribute)
			return malformed(e.Start, message)
		}
		seen[name] = true
	}
	return nil
}

// NamespaceOf looks a prefix up in the open elements. The empty prefix is always bound.
func (r *Reader) NamespaceOf(prefix string) (string, bool) {
	switch prefix {
	case "xml":
		return namespaceXML, true
	case "xmlns":
		return namespaceXMLNS, true
	}
	for _, e := range slices.Backward(r.Open) {
		if namespace, declared := e.prefixes[prefix]; declared {
			return namespace, true
		}
	}
	return "", prefix == ""
}

func (r *Reader) close(tag xml.EndElement, start int) *engine.ReadError {
	if len(r.Open) == 0 {
		return malformed(start, "</"+engine.Clip(Written(tag.Name))+"> closes nothing")
	}
	e := r.Open[len(r.Open)-1]
	if e.Name != tag.Name {
		message := fmt.Sprintf("</%s> appears where <%s> of line %d must be closed",
			engine.Clip(Written(tag.Name)), engine.Clip(Written(e.Name)), r.line(e.Start))
		return malformed(start, message)
	}
	r.Open = r.Open[:len(r.Open)-1]
	return nil
}

// end says what is missing where the text ends.
func (r *Reader) end() *engine.ReadError {
	switch {
	case len(r.Open) > 0:
		e := r.Open[len(r.Open)-1]
		message := fmt.Sprintf("the document ends too early: <%s> of line %d is not closed",
			engine.Clip(Written(e.Name)), r.line(e.Start))
		return malformed(len(r.Text), message)
	case !r.rooted:
		return malformed(len(r.Text), "the document has no element")
	default:
		return nil
	}
}

// fault says in plain words why the decoder stopped.
func (r *Reader) fault(err error, start int) *engine.ReadError {
	at := max(start, r.Offset()-1)
	syntax, ok := errors.AsType[*xml.SyntaxError](err)
	switch {
	case !ok:
		return malformed(at, "not valid XML: "+engine.Clip(err.Error()))
	case strings.HasPrefix(syntax.Msg, "unexpected EOF"):
		return malformed(start, "the document ends in the middle of this")
	case strings.HasPrefix(syntax.Msg, "invalid character entity"):
		entity := strings.TrimPrefix(syntax.Msg, "invalid character entity ")
		entity = strings.TrimSuffix(entity, " (no semicolon)")
		if found := bytes.LastIndexByte(r.Text[start:r.Offset()], '&'); found >= 0 {
			at = start + found
		}
		message := engine.Clip(entity) +
			" is not an entity of XML: use &lt; &gt; &amp; &apos; &quot; or a number as in &#228;"
		return engine.ReadErrorAt("xml.entity", message, at)
	default:
		return malformed(at, "not valid XML: "+engine.ClipTo(syntax.Msg, 2*engine.MaxQuoted))
	}
}

func (r *Reader) line(offset int) int {
	return 1 + bytes.Count(r.Text[:offset], []byte{'\n'})
}

// count returns which child of its name the next one is.
func (e *Element) count(name xml.Name) int {
	if e.children == nil {
		e.children = map[xml.Name]int{}
	}
	e.children[name]++
	return e.children[name]
}

// IsDeclaration reports whether an attribute declares a prefix or the namespace of names without one.
func IsDeclaration(name xml.Name) bool {
	return name.Space == "xmlns" || name.Space == "" && name.Local == "xmlns"
}

func declaredPrefixes(attributes []xml.Attr) map[string]string {
	var prefixes map[string]string
	for _, a := range attributes {
		if !IsDeclaration(a.Name) {
			continue
		}
		if prefixes == nil {
			prefixes = map[string]string{}
		}
		if a.Name.Space == "" {
			a.Name.Local = ""
		}
		prefixes[a.Name.Local] = a.Value
	}
	return prefixes
}

// SplitName parts a name as a document has it.
func SplitName(written string) (string, string) {
	prefix, local, prefixed := strings.Cut(written, ":")
	if !prefixed {
		return "", written
	}
	return prefix, local
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

func malformed(offset int, message string) *engine.ReadError {
	return engine.ReadErrorAt("xml.malformed", message, offset)
}

func unbound(offset int, name xml.Name) *engine.ReadError {
	message := "the prefix of " + engine.Clip(Written(name)) + " is not declared"
	return engine.ReadErrorAt("xml.namespace", message, offset)
}

// Written is a name as the document has it.
func Written(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}

var attributeForm = regexp.MustCompile(`([^\s=]+)\s*=\s*("[^"]*"|'[^']*')`)

// AttributeValue returns where the value of an attribute stands in a start tag, with its quotes.
func AttributeValue(tag []byte, name string) (int, int) {
	for _, at := range attributeForm.FindAllSubmatchIndex(tag, -1) {
		if string(tag[at[2]:at[3]]) == name {
			return at[4], at[5]
		}
	}
	return 0, 0
}
