package xml

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// identifiers checks that values of the types IDREF and IDREFS are IDs of the document, and that each ID names one
// element. xmllint compares the IDs of attributes alone, and follows no references.
type identifiers struct {
	model  *xmltext.Model
	reader *xmltext.Reader
	lines  *engine.Lines
	open   []*typed
	named  map[string]idDecl
	uses   []idRef
	// most is how many references may wait for IDs that come later.
	most   int
	faults []*identifierFault
	// repeats are the complaints of xmllint about attributes whose ID another attribute has.
	repeats map[valuePlace]string
}

// typed is an open element and its type. The text is collected if it is an ID or refers to one.
type typed struct {
	element *xmltext.Element
	kind    *xmltext.Type
	text    strings.Builder
}

// idDecl is the offset of the element that has an ID, and whether the ID is the value of an attribute.
type idDecl struct {
	element     int
	inAttribute bool
}

// idRef is a reference to an ID. The attribute is empty if the reference is the text of the element.
type idRef struct {
	id, attribute, name string
	element             int
}

// identifierFault is a finding about the element at an offset.
type identifierFault struct {
	idRef
	finding engine.Finding
	// local is the name of the element without its prefix.
	local string
}

// readIdentifiers reads the IDs of a document and the references to them. It finds none if the schema has no IDs.
func (s *schema) readIdentifiers(text []byte) (*identifiers, error) {
	if !s.bundle.HasIdentifiers() {
		return &identifiers{}, nil
	}
	x := &identifiers{
		model: xmltext.NewModel(s.bundle), reader: xmltext.NewReader(text, s.limits),
		lines: engine.NewLines(text, s.limits.MaxExcerpt),
		named: map[string]idDecl{}, repeats: map[valuePlace]string{},
		most: s.limits.MaxValues,
	}
	x.reader.Visit, x.reader.Follow = x.begin, x.follow
	_ = x.reader.Read() // It was read before.
	switch {
	case x.model.Exhausted():
		return nil, exhausted("has types that take too much work to find its IDs")
	case len(x.uses) > x.most:
		return nil, exhausted("refers more than %d times to IDs that follow", x.most)
	}
	for _, u := range x.uses {
		if _, known := x.named[u.id]; !known {
			x.fault(u, fmt.Sprintf("%s refers to the ID %s, which no element has", u, engine.Quote(u.id)))
		}
	}
	return x, nil
}

// rephrase says of the attributes with an ID that occurs twice where it is: xmllint says that it is not a valid value.
func (x *identifiers) rephrase(found []*complaint) {
	for _, one := range found {
		if message, known := x.repeats[valuePlace{one.lintPlace, one.attribute, ""}]; known {
			one.finding.Message = message
		}
	}
}

// begin finds the type of an element, and the IDs and references in its attributes.
func (x *identifiers) begin(e *xmltext.Element, attributes []xml.Attr) *engine.ReadError {
	var parent *xmltext.Type
	if len(x.open) > 0 {
		parent = x.open[len(x.open)-1].kind
	}
	name := xml.Name{Space: e.Namespace, Local: e.Name.Local}
	one := &typed{element: e, kind: x.model.Child(parent, name, x.declaredType(attributes))}
	x.open = append(x.open, one)
	for _, a := range attributes {
		if xmltext.IsDeclaration(a.Name) {
			continue
		}
		name := xml.Name{Local: a.Name.Local}
		if a.Name.Space != "" {
			name.Space, _ = x.reader.NamespaceOf(a.Name.Space)
		}
		x.value(x.model.Attribute(one.kind, name), a.Value, xmltext.Written(a.Name), e)
	}
	return nil
}

// declaredType returns the name of the type that xsi:type gives to an element.
func (x *identifiers) declaredType(attributes []xml.Attr) xml.Name {
	for _, a := range attributes {
		if a.Name.Local != "type" || a.Name.Space == "" {
			continue
		}
		if namespace, _ := x.reader.NamespaceOf(a.Name.Space); namespace != xmltext.NamespaceInstance {
			continue
		}
		prefix, local := xmltext.SplitName(strings.TrimSpace(a.Value))
		namespace, _ := x.reader.NamespaceOf(prefix)
		return xml.Name{Space: namespace, Local: local}
	}
	return xml.Name{}
}

// follow collects the texts of elements that are IDs or refer to some.
func (x *identifiers) follow(token xml.Token, _ int) {
	switch t := token.(type) {
	case xml.CharData:
		if len(x.open) > 0 && x.open[len(x.open)-1].kind.Content != xmltext.Plain {
			x.open[len(x.open)-1].text.Write(t)
		}
	case xml.EndElement:
		one := x.open[len(x.open)-1]
		x.open = x.open[:len(x.open)-1]
		x.value(one.kind.Content, one.text.String(), "", one.element)
	}
}

// value records an ID or references to IDs.
func (x *identifiers) value(kind xmltext.Identifier, value, attribute string, e *xmltext.Element) {
	if kind == xmltext.Plain {
		return
	}
	ids := strings.Fields(value)
	if kind != xmltext.References && len(ids) != 1 {
		// It is not a name, which xmllint reports.
		return
	}
	for _, id := range ids {
		u := idRef{id: id, attribute: attribute, name: xmltext.Written(e.Name), element: e.Start}
		if kind == xmltext.ID {
			x.name(u, e)
		} else if _, known := x.named[id]; !known && len(x.uses) <= x.most {
			x.uses = append(x.uses, u)
		}
	}
}

// name records the place of an ID.
func (x *identifiers) name(u idRef, e *xmltext.Element) {
	first, known := x.named[u.id]
	if !known {
		x.named[u.id] = idDecl{u.element, u.attribute != ""}
		return
	}
	message := fmt.Sprintf("%s repeats the ID %s of line %d", u, engine.Quote(u.id), x.lines.Line(first.element))
	if first.inAttribute && u.attribute != "" {
		_, local := xmltext.SplitName(u.attribute)
		x.repeats[valuePlace{lintPlace{x.lines.Line(e.End - 1), e.Name.Local}, local, ""}] = message
		return
	}
	x.fault(u, message)
}

func (x *identifiers) fault(u idRef, message string) {
	x.faults = append(x.faults, &identifierFault{idRef: u, finding: engine.Failure("xml.schema", message)})
}

// String describes the place of a reference.
func (u idRef) String() string {
	if u.attribute == "" {
		return "<" + u.name + ">"
	}
	return "attribute " + u.attribute + " of <" + u.name + ">"
}

// sort puts the faults in the order of the document, and returns how many more there are than the most.
func (x *identifiers) sort(most int) int {
	slices.SortStableFunc(x.faults, func(a, b *identifierFault) int { return cmp.Compare(a.element, b.element) })
	more := max(0, len(x.faults)-most)
	x.faults = x.faults[:len(x.faults)-more]
	return more
}
