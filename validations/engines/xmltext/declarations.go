package xmltext

import "encoding/xml"

// source is a document of a bundle, read for one namespace.
type source struct {
	root *node
	// namespace is the target namespace: that of the document, or of the document which includes it.
	namespace string
	// adopted says that the document has no target namespace, so its names without a namespace are in namespace.
	adopted bool
}

// declaration is an element of a schema that declares or defines something, with its source.
type declaration struct {
	*node
	source *source
	// original is the declaration that a redefinition replaces and may refer to by its own name.
	original *declaration
}

// globalName names a global declaration. Types, elements, attributes and both sorts of groups have separate names.
type globalName struct {
	sort string
	name xml.Name
}

// sortType is the sort of simple and complex types, which share their names.
const sortType = "type"

// sourceKey is the index of a document and the namespace that it is read for.
type sourceKey struct {
	document  int
	namespace string
}

// declarations are the global declarations of a bundle.
type declarations struct {
	bundle *Bundle
	global map[globalName]*declaration
	read   map[sourceKey]bool
}

// declare finds the global declarations of the schema and of all that it refers to.
func (b *Bundle) declare() *declarations {
	d := &declarations{bundle: b, global: map[globalName]*declaration{}, read: map[sourceKey]bool{}}
	d.add(sourceKey{0, b.documents[0].namespace})
	return d
}

// add adds the declarations of a document after those that it refers to, because a redefinition replaces them.
func (d *declarations) add(key sourceKey) {
	if d.read[key] {
		return
	}
	d.read[key] = true
	doc := d.bundle.documents[key.document]
	for _, r := range doc.references {
		namespace := d.bundle.documents[r.target].namespace
		if namespace == "" && !r.imports {
			namespace = key.namespace
		}
		d.add(sourceKey{r.target, namespace})
	}
	root, _ := readTree(doc.text, d.bundle.limits) // ReadBundle has read the same text before.
	s := &source{root: root, namespace: key.namespace, adopted: doc.namespace == "" && key.namespace != ""}
	for _, child := range root.children {
		if child.is("redefine") {
			d.addAll(child.children, s)
		}
	}
	d.addAll(root.children, s)
}

func (d *declarations) addAll(nodes []*node, s *source) {
	for _, n := range nodes {
		key, named := n.global(s.namespace)
		if !named {
			continue
		}
		found := &declaration{node: n, source: s}
		if n.parent.is("redefine") {
			found.original = d.global[key]
		}
		d.global[key] = found
	}
}

// global returns the name of a global declaration.
func (n *node) global(namespace string) (globalName, bool) {
	local, named := n.attribute("name")
	sort := n.name.Local
	if n.is("simpleType", "complexType") {
		sort = sortType
	}
	return globalName{sort, xml.Name{Space: namespace, Local: local}}, n.schema && named
}

// nameIn returns the name that an attribute of a node holds, such as type="t:zone".
func (s *source) nameIn(n *node, attribute string) (xml.Name, bool) {
	written, given := n.attribute(attribute)
	if !given {
		return xml.Name{}, false
	}
	return s.resolve(n, written), true
}

func (s *source) resolve(n *node, written string) xml.Name {
	prefix, local := SplitName(written)
	name := xml.Name{Space: n.namespaceOf(prefix), Local: local}
	if name.Space == "" && s.adopted {
		name.Space = s.namespace
	}
	return name
}

// referred returns the declaration that an attribute of a node names, or nil. In a redefinition its own name means
// the original.
func (d *declarations) referred(n *node, s *source, sort, attribute string) *declaration {
	name, given := s.nameIn(n, attribute)
	if !given {
		return nil
	}
	found := d.global[globalName{sort, name}]
	for at := n; found != nil && at != nil; at = at.parent {
		if at == found.node {
			return found.original
		}
	}
	return found
}

// qualified is the name of a local element or attribute.
func (s *source) qualified(n *node) xml.Name {
	local, _ := n.attribute("name")
	form, given := n.attribute("form")
	if !given {
		form, _ = s.root.attribute(n.name.Local + "FormDefault")
	}
	if form == "qualified" {
		return xml.Name{Space: s.namespace, Local: local}
	}
	return xml.Name{Local: local}
}
