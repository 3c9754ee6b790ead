package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/charset"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
)

// Namespaces of elements with a meaning here.
const (
	namespaceText = "http://standards.buildingsmart.org/IDS"
	namespaceXS   = "http://www.w3.org/2001/XMLSchema"
	namespaceXSI  = "http://www.w3.org/2001/XMLSchema-instance"
)

// Codes of faults in a text.
const (
	faultStructure   = "ids.structure"
	faultValue       = "ids.value"
	faultPattern     = "ids.pattern"
	faultClass       = "ids.class"
	faultAttribute   = "ids.attribute"
	faultDataType    = "ids.data_type"
	faultCardinality = "ids.cardinality"
)

const (
	maxFaults = 20
	// maxFacets bounds the facets of a text, and thereby what an audit costs.
	maxFacets = 10_000
)

// reader makes specifications of the tree of a text.
type reader struct {
	lines  *findings.Lines
	faults []port.Fault
	// refusals are the faults that were found, noted or not.
	refusals int
	facets   int
	patterns int64
	work     *port.Work
	// classes are those that facets ask for.
	classes map[*entityFacet][]classSet
	schemas schemas
	// versions are those of the specification that is read.
	versions []*ifc.Schema
}

// part is an element that another may or must have.
type part struct {
	name        string
	least, most int
}

const many = 1 << 30

// readText returns the specifications of a text, or everything that is wrong with it.
func readText(source string, all schemas) ([]*specification, []port.Fault) {
	if len(source) > maxText {
		detail := fmt.Sprintf("the text has %d bytes, at most %d are allowed", len(source), maxText)
		return nil, findings.Refuse("/ids", "ids.too_large", detail)
	}
	text := charset.TrimBOM([]byte(source))
	charset.BlankDeclaration(text)
	r := &reader{lines: findings.NewLines(text), schemas: all}
	r.classes = map[*entityFacet][]classSet{}
	r.work = model.NewWork(maxAudit)
	document, fault := xpath.Read(text)
	if fault != nil {
		words := fault.Message + findings.BundleHint(source)
		return nil, []port.Fault{findings.TextFault("/ids", "ids.malformed", r.lines.Line(fault.Offset), words)}
	}
	root := document.Element()
	if root.Namespace() != namespaceText || root.Local() != "ids" {
		r.refuse(root, faultStructure, "the root element must be <ids> in the namespace %s", namespaceText)
		return nil, r.faults
	}
	return r.readRoot(root), r.faults
}

// refuse notes a fault at an element.
func (r *reader) refuse(n *xpath.Node, code, format string, values ...any) {
	r.refusals++
	if len(r.faults) >= maxFaults {
		return
	}
	fault := findings.TextFault("/ids", code, r.lines.Line(n.Offset), fmt.Sprintf(format, values...))
	if !slices.Contains(r.faults, fault) {
		r.faults = append(r.faults, fault)
	}
}

// attributes returns the attributes of an element, of which only these are known.
func (r *reader) attributes(n *xpath.Node, known ...string) map[string]string {
	values := map[string]string{}
	for _, a := range n.Attributes() {
		name := a.Local()
		switch {
		case a.Namespace() == namespaceXSI:
		case a.Namespace() != "" || !slices.Contains(known, name):
			r.refuse(n, faultStructure, "the attribute %s of <%s> is %s",
				findings.Clip(name), n.Local(), findings.NotAllowed(name, known))
		default:
			values[name] = a.Value()
		}
	}
	return values
}

// parts returns the elements of an element by their names. They must be of these and come in their order.
func (r *reader) parts(n *xpath.Node, parts ...part) map[string][]*xpath.Node {
	found := map[string][]*xpath.Node{}
	last := 0
	for _, child := range r.elements(n) {
		place := slices.IndexFunc(parts, func(p part) bool { return p.name == child.Local() })
		if child.Namespace() != namespaceText || place < 0 {
			r.refuseUnknown(child, n, parts)
			continue
		}
		if place < last {
			r.refuse(child, faultStructure, "<%s> must come before <%s> in <%s>",
				child.Local(), parts[last].name, n.Local())
		}
		last = max(last, place)
		found[child.Local()] = append(found[child.Local()], child)
	}
	for _, p := range parts {
		switch n2 := len(found[p.name]); {
		case n2 < p.least:
			r.refuse(n, faultStructure, "<%s> needs a <%s>", n.Local(), p.name)
		case n2 > p.most:
			r.refuse(found[p.name][1], faultStructure, "<%s> has a second <%s>", n.Local(), p.name)
		}
	}
	return found
}

func (r *reader) refuseUnknown(child, n *xpath.Node, parts []part) {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	r.refuse(child, faultStructure, "<%s> in <%s> is %s",
		findings.Clip(child.Written()), n.Local(), findings.NotAllowed(child.Local(), names))
}

// elements are the child elements of an element without text.
func (r *reader) elements(n *xpath.Node) []*xpath.Node {
	var found []*xpath.Node
	for _, child := range n.Children() {
		switch {
		case child.Kind == xpath.Element:
			found = append(found, child)
		case child.Kind == xpath.Text && strings.TrimSpace(child.Value()) != "":
			r.refuse(n, faultStructure, "the text %s is not allowed in <%s>",
				findings.Quote(strings.TrimSpace(child.Value())), n.Local())
		}
	}
	return found
}

// text is the text of an element without others in it.
func (r *reader) text(n *xpath.Node) string {
	var b strings.Builder
	for _, child := range n.Children() {
		switch child.Kind {
		case xpath.Text:
			b.WriteString(child.Value())
		case xpath.Element:
			r.refuse(child, faultStructure, "<%s> in <%s> is not allowed", findings.Clip(child.Written()), n.Local())
		default:
		}
	}
	return b.String()
}
