package xmltext

import (
	"encoding/xml"
	"maps"
	"slices"
)

// Identifier says whether the values of a type are IDs or references to IDs.
type Identifier int

// The sorts of values.
const (
	// Plain values are not identifiers.
	Plain Identifier = iota
	// ID is a value that names its element.
	ID
	// Reference is a value that is the ID of an element, and References is a list of them.
	Reference
	References
)

// builtIn are the types of XML Schema that are about IDs.
var builtIn = map[string]Identifier{"ID": ID, "IDREF": Reference, "IDREFS": References}

// Model says which elements and attributes of a document hold IDs and references to them. It finds the types of a
// schema as they are asked for, and is not safe for concurrent use.
type Model struct {
	declared *declarations
	types    map[*node]*Type
	work     int
	// anything is the default type of elements, whose children and attributes are the global ones.
	anything *Type
	// unchecked is the type of elements that nothing checks.
	unchecked *Type
}

// Type is the type of an element.
type Type struct {
	// Content classifies the text of an element without children.
	Content Identifier
	// elements and attributes are all that the type has, those of its base included.
	elements   map[xml.Name]*declaration
	attributes map[xml.Name]Identifier
	// skips says that a wildcard of the type allows elements without checking them.
	skips bool
}

// The model of a bundle costs memory for each member of a type that a document uses, which is why members are dear.
const (
	maxWork    = 100_000_000
	memberWork = 100
)

// NewModel returns the model of a bundle.
func NewModel(b *Bundle) *Model {
	return &Model{
		declared: b.declare(), types: map[*node]*Type{}, anything: &Type{}, unchecked: &Type{skips: true},
	}
}

// HasIdentifiers reports whether a type of the bundle is about IDs. Most schemas have no such type.
func (b *Bundle) HasIdentifiers() bool {
	return b.identifiers
}

func mentionsIdentifier(n *node) bool {
	for _, attribute := range []string{"type", "base", "itemType"} {
		written, given := n.attribute(attribute)
		if !given {
			continue
		}
		name := (&source{}).resolve(n, written)
		if name.Space == namespaceSchema && builtIn[name.Local] != Plain {
			return true
		}
	}
	return slices.ContainsFunc(n.children, mentionsIdentifier)
}

// Exhausted reports whether the model has visited too many declarations. Its later answers may be wrong.
func (m *Model) Exhausted() bool {
	return m.work > maxWork
}

// Child returns the type of an element below one of the type parent, which is nil for the root. Declared is the name
// of xsi:type, if the element has one.
func (m *Model) Child(parent *Type, name, declared xml.Name) *Type {
	m.work++
	if parent == nil {
		parent = m.anything
	}
	found := parent.elements[name]
	if found == nil && parent.skips {
		return m.unchecked
	}
	if declared.Local != "" {
		if own := m.namedType(declared); own != nil {
			return own
		}
	}
	if found == nil {
		found = m.declared.global[globalName{"element", name}]
	}
	if found == nil {
		return m.anything
	}
	return m.typeOf(found)
}

// Attribute classifies the value of an attribute of an element.
func (m *Model) Attribute(t *Type, name xml.Name) Identifier {
	if t == m.unchecked {
		return Plain
	}
	m.work++
	if found, known := t.attributes[name]; known {
		return found
	}
	if name.Space == "" {
		// Only wildcards allow global attributes without a namespace, and they rarely check them.
		return Plain
	}
	if global := m.declared.global[globalName{"attribute", name}]; global != nil {
		return m.simple(global, "type")
	}
	return Plain
}

func (m *Model) namedType(name xml.Name) *Type {
	if name.Space == namespaceSchema {
		return &Type{Content: builtIn[name.Local]}
	}
	found := m.declared.global[globalName{sortType, name}]
	if found == nil {
		return nil
	}
	return m.defined(found)
}

// typeOf returns the type of an element by its declaration.
func (m *Model) typeOf(d *declaration) *Type {
	for range maxHeads {
		m.work++
		if name, given := d.source.nameIn(d.node, "type"); given {
			if found := m.namedType(name); found != nil {
				return found
			}
			return m.anything
		}
		for _, part := range d.parts() {
			if part.is("simpleType", "complexType") {
				return m.defined(&declaration{node: part, source: d.source})
			}
		}
		// An element without a type has that of the head of its substitution group.
		head := m.declared.referred(d.node, d.source, "element", "substitutionGroup")
		if head == nil {
			break
		}
		d = head
	}
	return m.anything
}

// maxHeads bounds chains of substitution groups and of simple types, although schemas that compile have no cycles.
const maxHeads = 100

// defined returns a type by its definition.
func (m *Model) defined(d *declaration) *Type {
	if known := m.types[d.node]; known != nil {
		return known
	}
	t := &Type{}
	m.types[d.node] = t
	if d.is("simpleType") {
		t.Content = m.simple(d, "")
		return t
	}
	t.elements, t.attributes = map[xml.Name]*declaration{}, map[xml.Name]Identifier{}
	m.read(t, d, map[*node]bool{})
	return t
}

// read adds the members of a complex type, of a derivation and of the groups that they refer to.
func (m *Model) read(t *Type, d *declaration, seen map[*node]bool) {
	if seen[d.node] {
		return
	}
	seen[d.node] = true
	for _, part := range d.parts() {
		if m.work += memberWork; m.Exhausted() {
			return
		}
		m.readPart(t, &declaration{node: part, source: d.source}, seen)
	}
}

func (m *Model) readPart(t *Type, part *declaration, seen map[*node]bool) {
	switch {
	case part.is("complexContent", "simpleContent", "choice", "sequence", "all"):
		m.read(t, part, seen)
	case part.is("extension", "restriction"):
		m.derive(t, part)
		m.read(t, part, seen)
	case part.is("simpleType"):
		t.Content = m.simple(part, "")
	case part.is("group"), part.is("attributeGroup"):
		if referred := m.declared.referred(part.node, part.source, part.name.Local, "ref"); referred != nil {
			m.read(t, referred, seen)
		}
	case part.is("element"):
		m.addElement(t, part)
	case part.is("any"):
		process, _ := part.attribute("processContents")
		t.skips = t.skips || process == "skip"
	case part.is("attribute"):
		m.addAttribute(t, part)
	}
}

// derive takes over what a type has from its base: its attributes and, if it extends it, its elements.
func (m *Model) derive(t *Type, derivation *declaration) {
	name, _ := derivation.source.nameIn(derivation.node, "base")
	if name.Space == namespaceSchema {
		t.Content = builtIn[name.Local]
		return
	}
	base := m.declared.referred(derivation.node, derivation.source, sortType, "base")
	if base == nil {
		return
	}
	from := m.defined(base)
	m.work += memberWork * (len(from.elements) + len(from.attributes))
	t.Content = from.Content
	maps.Copy(t.attributes, from.attributes)
	if derivation.is("extension") {
		maps.Copy(t.elements, from.elements)
		t.skips = from.skips
	}
}

func (m *Model) addElement(t *Type, d *declaration) {
	if referred := m.declared.referred(d.node, d.source, "element", "ref"); referred != nil {
		name, _ := d.source.nameIn(d.node, "ref")
		t.elements[name] = referred
		return
	}
	t.elements[d.source.qualified(d.node)] = d
}

func (m *Model) addAttribute(t *Type, d *declaration) {
	name, refers := d.source.nameIn(d.node, "ref")
	if !refers {
		t.attributes[d.source.qualified(d.node)] = m.simple(d, "type")
		return
	}
	if referred := m.declared.global[globalName{"attribute", name}]; referred != nil {
		t.attributes[name] = m.simple(referred, "type")
	}
}

// simple returns what the values of a simple type are: that of a definition, or the one which an attribute names. Those
// of a union may be of several types, so they are plain.
func (m *Model) simple(d *declaration, attribute string) Identifier {
	list := false
	for range maxHeads {
		m.work++
		name, given := d.source.nameIn(d.node, attribute)
		var next *declaration
		if given {
			if name.Space == namespaceSchema {
				return listed(builtIn[name.Local], list)
			}
			next = m.declared.referred(d.node, d.source, sortType, attribute)
			attribute = ""
		} else {
			next, attribute = simpleWithin(d)
			list = list || next != nil && next.is("list")
		}
		if next == nil {
			return Plain
		}
		d = next
	}
	return Plain
}

// simpleWithin returns the part of a definition that says what its values are, and the attribute of that part which
// names another type.
func simpleWithin(d *declaration) (*declaration, string) {
	for _, part := range d.parts() {
		next := &declaration{node: part, source: d.source}
		switch {
		case part.is("restriction"):
			return next, "base"
		case part.is("list"):
			return next, "itemType"
		case part.is("simpleType"):
			return next, ""
		}
	}
	return nil, ""
}

func listed(one Identifier, list bool) Identifier {
	switch {
	case list && one == Reference:
		return References
	case list && one == ID:
		return Plain
	default:
		return one
	}
}
