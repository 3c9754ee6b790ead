package xmltext

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// base is where the schema of a step is believed to be.
const base = engine.SchemaFolder + "schema.xsd"

// maxDocuments bounds the schemas of a step. Each is an open file of the program that checks by them.
const maxDocuments = 100

// Bundle is the schema of a step and the schemas that it may refer to. Its references lead to these texts alone.
type Bundle struct {
	limits    engine.Limits
	documents []*document
	// combined has, for a namespace whose imports name several documents, the index of the one that includes them all.
	combined map[string]int
	inserts  []string
	// opened is where the start tag of the schema itself ends, and prefix is that of its elements.
	opened int
	prefix string
	// identifiers says that a type of the documents is about IDs.
	identifiers bool
	// needed says of elements in content models whether they occur exactly once wherever they may.
	needed map[string]bool
}

// document is one schema of a bundle.
type document struct {
	// name is what the step calls it; the schema of the step itself has none.
	name, address, namespace string
	text                     []byte
	references               []reference
	// declared are the names that it declares itself, without a namespace.
	declared map[globalName]bool
}

// reference is a part of a schema that names another one.
type reference struct {
	// begin and end are where the address is written, with its quotes. Where none is written, they are equal.
	begin, end int
	target     int
	namespace  string
	imports    bool
}

// ReadBundle reads the schema of a step and those that it may refer to by their names.
func ReadBundle(
	schema string, schemas map[string]string, limits engine.Limits,
) (*Bundle, []engine.ConfigError) {
	size := len(schema)
	for _, text := range schemas {
		size += len(text)
	}
	if size > limits.MaxSchemaBytes {
		detail := fmt.Sprintf("the schema has %d bytes, at most %d are allowed", size, limits.MaxSchemaBytes)
		detail += "; to leave its annotations out, run: simplevalidations workflows bundle"
		return nil, engine.Refuse(pointer, codeTooLarge, detail)
	}
	if len(schemas) >= maxDocuments {
		detail := fmt.Sprintf("the schema has %d files, at most %d are allowed", 1+len(schemas), maxDocuments)
		return nil, engine.Refuse("/schemas", codeTooLarge, detail)
	}
	b := &Bundle{limits: limits, combined: map[string]int{}, needed: map[string]bool{}}
	b.documents = append(b.documents, &document{address: base, text: []byte(schema)})
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		address := resolve(base, name)
		if address == "" || b.find(address) >= 0 {
			detail := engine.AddressFault(name, address != "")
			return nil, engine.Refuse(engine.Pointer("schemas", name), "schema.address", detail)
		}
		b.documents = append(b.documents, &document{name: name, address: address, text: []byte(schemas[name])})
	}
	roots := make([]*node, len(b.documents))
	for i, d := range b.documents {
		root, fault := d.read(limits)
		if fault != nil {
			fault.Message += engine.BundleHint(string(d.text))
			return nil, []engine.ConfigError{d.refuse(fault, limits)}
		}
		roots[i] = root
		b.note(root)
	}
	for i, d := range b.documents {
		if fault := b.refer(d, roots[i]); fault != nil {
			return nil, []engine.ConfigError{d.refuse(fault, limits)}
		}
	}
	b.merge()
	b.combine()
	b.opened, b.prefix = roots[0].open, roots[0].name.Space
	return b, nil
}

// note keeps what is asked later about a document of the bundle.
func (b *Bundle) note(root *node) {
	b.identifiers = b.identifiers || mentionsIdentifier(root)
	b.noteElements(root)
}

// pointer is where the schema itself stands in the configuration of a step.
const pointer = "/schema"

// The codes of what keeps a schema from being read.
const (
	codeInvalid   = "schema.invalid"
	codeReference = "schema.ref"
	codeTooLarge  = "schema.too_large"
)

// Fault places a fault that the program found in a line of one of the texts.
func (b *Bundle) Fault(index, line int, message string) engine.ConfigError {
	if index >= len(b.documents) {
		return engine.NewConfigError(pointer, codeInvalid, message)
	}
	return b.documents[index].fault(codeInvalid, line, 0, message)
}

// Names returns the names of the documents, by the indexes of their texts.
func (b *Bundle) Names() []string {
	return engine.Each(b.documents, func(d *document) string { return d.name })
}

// Texts returns the texts of the bundle, the schema first, with the locations of these texts in their references.
func (b *Bundle) Texts(location func(index int) string) [][]byte {
	var texts [][]byte
	for i, d := range b.documents {
		var text []byte
		at := 0
		if i == 0 {
			// The schema itself includes what others import for its own namespace, the first of which it is. libxml2
			// would skip such an import, because it has read a schema of that namespace.
			at = b.opened
			include := Written(xml.Name{Space: b.prefix, Local: "include"})
			text = append(text, d.text[:at]...)
			text = append(text, includes(include, b.imported(d.namespace)[1:], location)...)
		}
		for _, r := range d.references {
			target := r.target
			if together, several := b.combined[r.namespace]; several && r.imports {
				target = together
			}
			text = append(text, d.text[at:r.begin]...)
			if r.begin == r.end {
				text = append(text, " schemaLocation="...)
			}
			text = append(text, `"`+location(target)+`"`...)
			at = r.end
		}
		texts = append(texts, append(text, d.text[at:]...))
	}
	return append(texts, engine.Each(b.inserts, func(namespace string) []byte {
		return b.combination(namespace, location)
	})...)
}

// combination is a schema that includes all documents that are imported for a namespace: libxml2 reads only the first.
func (b *Bundle) combination(namespace string, location func(index int) string) []byte {
	var text strings.Builder
	text.WriteString(`<schema xmlns="` + namespaceSchema + `" targetNamespace="`)
	// Writing to a builder does not fail.
	_ = xml.EscapeText(&text, []byte(namespace))
	text.WriteString(`">` + includes("include", b.imported(namespace), location) + `</schema>`)
	return []byte(text.String())
}

// includes are elements that include documents.
func includes(element string, targets []int, location func(index int) string) string {
	return strings.Join(engine.Each(targets, func(target int) string {
		return "<" + element + ` schemaLocation="` + location(target) + `"/>`
	}), "")
}

// combine finds the namespaces that several documents are imported for. The schema itself includes those of its own.
func (b *Bundle) combine() {
	b.combined[b.documents[0].namespace] = 0
	for _, d := range b.documents {
		for _, r := range d.references {
			if _, known := b.combined[r.namespace]; r.imports && !known && len(b.imported(r.namespace)) > 1 {
				b.combined[r.namespace] = len(b.documents) + len(b.inserts)
				b.inserts = append(b.inserts, r.namespace)
			}
		}
	}
}

// imported are the documents that are imported for a namespace. Of copies that declare the same, the first one counts.
func (b *Bundle) imported(namespace string) []int {
	var targets []int
	declared := map[globalName]bool{}
	if namespace == b.documents[0].namespace {
		targets = append(targets, 0)
		maps.Copy(declared, b.documents[0].declared)
	}
	for _, d := range b.documents {
		for _, r := range d.references {
			if !r.imports || r.namespace != namespace || slices.Contains(targets, r.target) {
				continue
			}
			names := b.documents[r.target].declared
			if slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(n globalName) bool { return declared[n] }) {
				continue
			}
			targets = append(targets, r.target)
			maps.Copy(declared, names)
		}
	}
	return targets
}

// read checks that the document is a schema.
func (d *document) read(limits engine.Limits) (*node, *engine.ReadError) {
	// A schema comes as part of a JSON text, so it is UTF-8 whatever its declaration says.
	BlankDeclaration(d.text)
	root, fault := readTree(d.text, limits)
	if fault == nil {
		if plain := withPlainPatterns(d.text, root); !bytes.Equal(plain, d.text) {
			d.text = plain
			root, fault = readTree(d.text, limits)
		}
	}
	if fault != nil {
		return nil, fault
	}
	if !root.is("schema") {
		message := "the root element is not the schema element of XML Schema"
		return nil, engine.ReadErrorAt(codeInvalid, message, root.start)
	}
	d.namespace, _ = root.attribute("targetNamespace")
	d.declared = map[globalName]bool{}
	for _, child := range root.children {
		if key, named := child.global(""); named {
			d.declared[key] = true
		}
	}
	return root, nil
}

// refer finds the references of a document, and answers the first that leads to no other schema.
func (b *Bundle) refer(d *document, n *node) *engine.ReadError {
	for _, child := range n.children {
		if child.is("include", "redefine", "override", "import") {
			r, fault := b.reference(d, child)
			if fault != nil {
				return fault
			}
			if r.target >= 0 {
				d.references = append(d.references, r)
			}
		}
		if fault := b.refer(d, child); fault != nil {
			return fault
		}
	}
	return nil
}

// reference reads what an element refers to. The target is below 0 if nothing has to be read.
func (b *Bundle) reference(d *document, n *node) (reference, *engine.ReadError) {
	r := reference{target: -1, imports: n.is("import")}
	r.namespace, _ = n.attribute("namespace")
	written, given := n.attribute("schemaLocation")
	element := "<" + Written(n.name) + ">"
	switch {
	case n.is("override"):
		message := element + " is a feature of XML Schema 1.1; only 1.0 is supported"
		return r, engine.ReadErrorAt(codeReference, message, n.start)
	case !given && r.imports:
		// The namespace alone says which of the schemas is meant.
		r.begin = n.start + len("<") + len(Written(n.name))
		r.end = r.begin
		r.target = slices.IndexFunc(b.documents, func(other *document) bool {
			return other.name != "" && other.namespace == r.namespace
		})
	default:
		r.begin, r.end = AttributeValue(d.text[n.start:n.open], "schemaLocation")
		r.begin, r.end = r.begin+n.start, r.end+n.start
		r.target = b.find(resolve(d.address, written))
	}
	if r.target < 0 && r.imports {
		r.target = b.known(r.namespace)
	}
	if (given || !r.imports) && r.target < 0 || r.target == 0 && d.address == base {
		message := element + " names " + engine.Quote(written) + `, which is not among the "schemas" of this step`
		message += engine.DidYouMean(engine.Nearest(written, b.Names()[1:]))
		return r, engine.ReadErrorAt(codeReference, message, n.start)
	}
	return r, nil
}

// find returns the index of the document with an address, or -1.
func (b *Bundle) find(address string) int {
	return slices.IndexFunc(b.documents, func(d *document) bool { return d.address == address })
}

// refuse places what is wrong with a document.
func (d *document) refuse(fault *engine.ReadError, limits engine.Limits) engine.ConfigError {
	at := engine.NewLines(d.text, limits.MaxExcerpt).PlaceAt(engine.Finding{}, fault.At)
	return d.fault(fault.Code, at.Line, at.Column, fault.Message)
}

// fault is a fault of a document, which it names.
func (d *document) fault(code string, line, column int, words string) engine.ConfigError {
	if d.name == "" {
		return engine.NewTextError(pointer, code, line, column, words)
	}
	fault := engine.NewTextError(engine.Pointer("schemas", d.name), code, line, column, words)
	fault.Detail = engine.Clip(d.name) + ", " + fault.Detail
	return fault
}

// resolve returns the address of a reference, or "" if it is invalid.
func resolve(from, reference string) string {
	if strings.TrimSpace(reference) == "" {
		return ""
	}
	return engine.ResolveAddress(from, strings.TrimSpace(reference))
}
