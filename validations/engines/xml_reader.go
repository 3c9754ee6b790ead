package engines

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Namespaces with a meaning of their own.
const (
	namespaceXML      = "http://www.w3.org/XML/1998/namespace"
	namespaceXMLNS    = "http://www.w3.org/2000/xmlns/"
	namespaceXInclude = "http://www.w3.org/2001/XInclude"
	namespaceXSD      = "http://www.w3.org/2001/XMLSchema"
)

// xmlReader reads a document to its end and says what keeps it from being well-formed. It resolves no entity and opens
// nothing: a document type declaration, which could ask for either, ends it.
type xmlReader struct {
	text    []byte
	limits  Limits
	decoder *xml.Decoder
	values  int
	rooted  bool
	open    []*xmlElement
	// visit is called for each element behind its start tag where it is set. What it returns ends the reading.
	visit func(e *xmlElement, attributes []xml.Attr) *treeError
	// follow is called for each token, with its offset, where it is set. The token is only valid meanwhile.
	follow func(token xml.Token, start int)
}

// xmlElement is an element that is open.
type xmlElement struct {
	name      xml.Name
	namespace string
	// start and end are the offsets of the start tag.
	start, end int
	// index counts elements of the same name below the same parent from 1.
	index    int
	prefixes map[string]string
	children map[xml.Name]int
}

func newXMLReader(text []byte, limits Limits) *xmlReader {
	return &xmlReader{text: text, limits: limits, decoder: xml.NewDecoder(bytes.NewReader(text))}
}

func (r *xmlReader) read() *treeError {
	for {
		start := r.offset()
		if bytes.HasPrefix(r.text[start:], []byte("<!DOCTYPE")) {
			message := "a document type declaration is refused: no entity is expanded and no other file is read"
			return &treeError{"xml.dtd", message, position{offset: start}}
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
		if r.follow != nil {
			r.follow(token, start)
		}
	}
}

// path names the innermost open element as XPath does. The index 1 is left out.
func (r *xmlReader) path() string {
	var b strings.Builder
	for _, e := range r.open {
		b.WriteByte('/')
		b.WriteString(written(e.name))
		if e.index > 1 {
			fmt.Fprintf(&b, "[%d]", e.index)
		}
	}
	return b.String()
}

func (r *xmlReader) offset() int {
	return int(r.decoder.InputOffset())
}

func (r *xmlReader) token(token xml.Token, start int) *treeError {
	switch t := token.(type) {
	case xml.StartElement:
		return r.begin(t, start)
	case xml.EndElement:
		return r.close(t, start)
	case xml.CharData:
		if outside := bytes.TrimLeft(r.text[start:r.offset()], " \t\r\n"); len(r.open) == 0 && len(outside) > 0 {
			return malformedXML(r.offset()-len(outside), "text stands outside of the root element")
		}
	case xml.ProcInst:
		if strings.EqualFold(t.Target, "xml") {
			return malformedXML(start, "the XML declaration must be the first thing in the file")
		}
	case xml.Directive:
		return malformedXML(start, `"<!" is not expected here`)
	}
	return nil
}

func (r *xmlReader) begin(tag xml.StartElement, start int) *treeError {
	if len(r.open) == 0 && r.rooted {
		return malformedXML(start, "a second root element: a document has one")
	}
	r.rooted = true
	r.values += 1 + len(tag.Attr)
	if r.values > r.limits.MaxValues {
		message := fmt.Sprintf("the document has more than %d elements and attributes", r.limits.MaxValues)
		return &treeError{"xml.too_large", message, position{offset: start}}
	}
	if len(r.open) >= r.limits.MaxDepth {
		message := fmt.Sprintf("nested deeper than %d levels", r.limits.MaxDepth)
		return &treeError{"xml.depth", message, position{offset: start}}
	}
	e := &xmlElement{name: tag.Name, start: start, end: r.offset(), index: 1, prefixes: declaredPrefixes(tag.Attr)}
	if len(r.open) > 0 {
		e.index = r.open[len(r.open)-1].count(tag.Name)
	}
	r.open = append(r.open, e)
	if !spaced(r.text[e.start:e.end]) {
		return malformedXML(start, "a space is missing between two attributes of <"+clip(written(tag.Name))+">")
	}
	if fault := r.resolve(e, tag.Attr); fault != nil {
		return fault
	}
	if e.namespace == namespaceXInclude {
		message := "XInclude is refused: no other file is read"
		return &treeError{"xml.external", message, position{offset: start}}
	}
	if r.visit != nil {
		return r.visit(e, tag.Attr)
	}
	return nil
}

// resolve finds the namespaces of an element and its attributes, and attributes that occur twice.
func (r *xmlReader) resolve(e *xmlElement, attributes []xml.Attr) *treeError {
	var bound bool
	if e.namespace, bound = r.namespace(e.name.Space); !bound || strings.Contains(e.name.Local, ":") {
		return unboundXML(e.start, e.name)
	}
	seen := make(map[xml.Name]bool, len(attributes))
	for _, a := range attributes {
		name := a.Name
		if name.Space != "" {
			if name.Space, bound = r.namespace(name.Space); !bound {
				return unboundXML(e.start, a.Name)
			}
		}
		if strings.Contains(name.Local, ":") {
			return unboundXML(e.start, a.Name)
		}
		if seen[name] {
			message := fmt.Sprintf("<%s> has the attribute %s twice", clip(written(e.name)), clip(written(a.Name)))
			return malformedXML(e.start, message)
		}
		seen[name] = true
	}
	return nil
}

// namespace looks a prefix up in the open elements. The empty prefix is always bound.
func (r *xmlReader) namespace(prefix string) (string, bool) {
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

func (r *xmlReader) close(tag xml.EndElement, start int) *treeError {
	if len(r.open) == 0 {
		return malformedXML(start, "</"+clip(written(tag.Name))+"> closes nothing")
	}
	e := r.open[len(r.open)-1]
	if e.name != tag.Name {
		message := fmt.Sprintf("</%s> stands where <%s> of line %d must be closed",
			clip(written(tag.Name)), clip(written(e.name)), r.line(e.start))
		return malformedXML(start, message)
	}
	r.open = r.open[:len(r.open)-1]
	return nil
}

// end says what is missing where the text ends.
func (r *xmlReader) end() *treeError {
	switch {
	case len(r.open) > 0:
		e := r.open[len(r.open)-1]
		message := fmt.Sprintf("the document ends too early: <%s> of line %d is not closed",
			clip(written(e.name)), r.line(e.start))
		return malformedXML(len(r.text), message)
	case !r.rooted:
		return malformedXML(len(r.text), "the document has no element")
	default:
		return nil
	}
}

// fault says in plain words why the decoder stopped.
func (r *xmlReader) fault(err error, start int) *treeError {
	at := max(start, r.offset()-1)
	syntax, ok := errors.AsType[*xml.SyntaxError](err)
	switch {
	case !ok:
		return malformedXML(at, "not valid XML: "+clip(err.Error()))
	case strings.HasPrefix(syntax.Msg, "unexpected EOF"):
		return malformedXML(start, "the document ends within this")
	case strings.HasPrefix(syntax.Msg, "invalid character entity"):
		entity := strings.TrimPrefix(syntax.Msg, "invalid character entity ")
		entity = strings.TrimSuffix(entity, " (no semicolon)")
		if found := bytes.LastIndexByte(r.text[start:r.offset()], '&'); found >= 0 {
			at = start + found
		}
		message := clip(entity) + " is no entity of XML: use &lt; &gt; &amp; &apos; &quot; or a number as in &#228;"
		return &treeError{"xml.entity", message, position{offset: at}}
	default:
		return malformedXML(at, "not valid XML: "+clipTo(syntax.Msg, 2*maxQuoted))
	}
}

func (r *xmlReader) line(offset int) int {
	return 1 + bytes.Count(r.text[:offset], []byte{'\n'})
}

// count returns which child of its name the next one is.
func (e *xmlElement) count(name xml.Name) int {
	if e.children == nil {
		e.children = map[xml.Name]int{}
	}
	e.children[name]++
	return e.children[name]
}

func declaredPrefixes(attributes []xml.Attr) map[string]string {
	var prefixes map[string]string
	for _, a := range attributes {
		prefix := a.Name.Local
		if a.Name.Space == "" && a.Name.Local == "xmlns" {
			prefix = ""
		} else if a.Name.Space != "xmlns" {
			continue
		}
		if prefixes == nil {
			prefixes = map[string]string{}
		}
		prefixes[prefix] = a.Value
	}
	return prefixes
}

// spaced says whether white space stands between the attributes of a start tag, which the decoder does not ask for.
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

func malformedXML(offset int, message string) *treeError {
	return &treeError{"xml.malformed", message, position{offset: offset}}
}

func unboundXML(offset int, name xml.Name) *treeError {
	message := "the prefix of " + clip(written(name)) + " is not declared"
	return &treeError{"xml.namespace", message, position{offset: offset}}
}

// written is a name as the document has it.
func written(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}
