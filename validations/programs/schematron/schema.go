package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/charset"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

// Namespaces of elements with a meaning here.
const (
	namespaceSchematron    = "http://purl.oclc.org/dsdl/schematron"
	namespaceOldSchematron = "http://www.ascc.net/xml/schematron"
	namespaceXSLT          = "http://www.w3.org/1999/XSL/Transform"
	namespaceXML           = "http://www.w3.org/XML/1998/namespace"
)

// schema is the active part of a Schematron schema.
type schema struct {
	lets     []let
	patterns []*pattern
}

// pattern is a list of rules of which the first that is for a node checks it.
type pattern struct {
	lets  []let
	rules []*rule
}

// rule is for the nodes that its context matches.
type rule struct {
	context *xpath.Expr
	source  string
	lets    []let
	checks  []*check
}

// let is a variable.
type let struct {
	name  string
	value *xpath.Expr
}

// check is an assert, or a report, whose test must not be true.
type check struct {
	id       string
	isReport bool
	severity string
	test     *xpath.Expr
	source   string
	message  []part
}

// part is a piece of a message: a text, a value, or the name of a node.
type part struct {
	text   string
	value  *xpath.Expr
	isName bool
	source string
}

// Bounds of what abstract patterns and rules make of a schema.
const (
	maxExpressions     = 50_000
	maxExpressionChars = 20_000
	maxFaults          = 20
	// maxVariables is how many variables an expression may know.
	maxVariables = 500
)

// compiler makes a schema of the tree of its text.
type compiler struct {
	lines  *findings.Lines
	root   *xpath.Node
	faults []port.Fault
	// patterns and diagnostics are by their ids, rules are abstract.
	patterns, diagnostics, rules map[string]*xpath.Node
	namespaces                   map[string]string
	// params are those of the abstract pattern that is read.
	params      map[string]string
	expressions int
	// refusals are the faults that were found, noted or not.
	refusals int
}

func compileSchema(source, phase string) (*schema, []port.Fault) {
	if len(source) > maxSchema {
		detail := fmt.Sprintf("the schema has %d bytes, at most %d are allowed", len(source), maxSchema)
		return nil, findings.Refuse("/schema", "schema.too_large", detail)
	}
	text := charset.TrimBOM([]byte(source))
	charset.BlankDeclaration(text)
	c := &compiler{
		lines: findings.NewLines(text), namespaces: map[string]string{"xml": namespaceXML},
		patterns: map[string]*xpath.Node{}, diagnostics: map[string]*xpath.Node{}, rules: map[string]*xpath.Node{},
	}
	document, fault := xpath.Read(text)
	if fault != nil {
		words := fault.Message + findings.BundleHint(source)
		return nil, []port.Fault{findings.TextFault("/schema", "schema.invalid", c.lines.Line(fault.Offset), words)}
	}
	c.root = document.Element()
	if !c.begins() {
		return nil, c.faults
	}
	c.collect(c.root)
	s := c.schema(phase)
	return s, c.faults
}

// begins reports whether this is a schema that can be read.
func (c *compiler) begins() bool {
	switch {
	case c.root.Namespace() == namespaceOldSchematron:
		c.refuse(c.root, "schema.invalid",
			"this is Schematron 1.5; the schema must be in the namespace %s of ISO Schematron", namespaceSchematron)
	case c.root.Namespace() != namespaceSchematron || c.root.Local() != "schema":
		c.refuse(c.root, "schema.invalid", "the root element must be <schema> in the namespace %s", namespaceSchematron)
	}
	switch binding, _ := c.root.Attribute("queryBinding"); binding {
	case "", "xslt", "xslt1", "xpath", "xpath1":
	case "xslt2", "xpath2", "xslt3", "xpath3", "xpath31":
		c.refuse(c.root, "schematron.query_binding", "%s needs XPath 2, which is not supported: "+
			"let Saxon check by this schema, in a step of the type program or http", binding)
	default:
		c.refuse(c.root, "schematron.query_binding", "the query binding %s is not supported; use xslt or xpath",
			findings.Quote(binding))
	}
	return len(c.faults) == 0
}

// refuse notes a fault at an element of the schema.
func (c *compiler) refuse(n *xpath.Node, code, format string, values ...any) {
	c.refusals++
	if len(c.faults) < maxFaults {
		line := c.lines.Line(n.Offset)
		fault := findings.TextFault("/schema", code, line, fmt.Sprintf(format, values...))
		if !slices.Contains(c.faults, fault) {
			c.faults = append(c.faults, fault)
		}
	}
}

// collect finds what has an id, and what is not supported.
func (c *compiler) collect(n *xpath.Node) {
	for _, child := range n.Children() {
		if child.Namespace() == namespaceXSLT {
			c.refuse(child, "schematron.unsupported", "<%s> is XSLT, which is not supported", child.Written())
		}
		if !isOwn(child, child.Local()) {
			continue
		}
		id, _ := child.Attribute("id")
		switch child.Local() {
		case "include", "extends":
			c.refuseInclude(child)
		case "pattern":
			c.name(c.patterns, id, child)
		case "diagnostic":
			c.name(c.diagnostics, id, child)
		case "rule":
			if isAbstract(child) {
				c.name(c.rules, id, child)
			}
		case "ns":
			c.declare(child)
		}
		c.collect(child)
	}
}

// insertIt says what to do with a file that a schema includes.
const insertIt = "insert its content here, or run: programs/schematron bundle FILE"

// refuseInclude refuses what would read another file.
func (c *compiler) refuseInclude(n *xpath.Node) {
	if n.Local() == "include" {
		c.refuse(n, "schematron.include", "<include> is refused, as no other file is read; "+insertIt)
	}
	if _, has := n.Attribute("href"); has && n.Local() == "extends" {
		c.refuse(n, "schematron.include", "extends with href is refused, as no other file is read; "+insertIt)
	}
}

func (c *compiler) name(of map[string]*xpath.Node, id string, n *xpath.Node) {
	if id == "" {
		return
	}
	if _, taken := of[id]; taken {
		c.refuse(n, "schematron.id", "a second <%s> has the id %s", n.Local(), findings.Quote(id))
		return
	}
	of[id] = n
}

func (c *compiler) declare(n *xpath.Node) {
	prefix, named := n.Attribute("prefix")
	uri, bound := n.Attribute("uri")
	if !named || !bound {
		c.refuse(n, "schematron.missing", "<ns> needs a prefix and a uri")
		return
	}
	c.namespaces[prefix] = uri
}

// isOwn reports whether a node is an element of Schematron with this name.
func isOwn(n *xpath.Node, name string) bool {
	return n.Kind == xpath.Element && n.Namespace() == namespaceSchematron && n.Local() == name
}

func isAbstract(n *xpath.Node) bool {
	value, _ := n.Attribute("abstract")
	return value == "true"
}

// children are the elements of Schematron in another that have a name.
func children(n *xpath.Node, name string) []*xpath.Node {
	var found []*xpath.Node
	for _, child := range n.Children() {
		if isOwn(child, name) {
			found = append(found, child)
		}
	}
	return found
}

func (c *compiler) schema(phase string) *schema {
	s := &schema{}
	variables := map[string]xpath.Type{}
	s.lets = c.lets(c.root, variables)
	active, lets := c.activePatterns(phase, variables)
	s.lets = append(s.lets, lets...)
	every := c.everyPhase(variables)
	for _, n := range children(c.root, "pattern") {
		if isAbstract(n) {
			continue
		}
		// All patterns are read, so that the faults of an inactive one are found as well.
		inScope := variables
		if active != nil && !active[n] {
			inScope = every
		}
		p := c.pattern(n, inScope)
		if active == nil || active[n] {
			s.patterns = append(s.patterns, p)
		}
	}
	return s
}

// everyPhase has the variables of all phases, which a pattern that is not active may need.
func (c *compiler) everyPhase(variables map[string]xpath.Type) map[string]xpath.Type {
	all := maps.Clone(variables)
	for _, phase := range children(c.root, "phase") {
		for _, n := range children(phase, "let") {
			name, _ := n.Attribute("name")
			if _, known := all[name]; known || len(all) > maxVariables {
				continue
			}
			value, _ := n.Attribute("value")
			if x, mistake := xpath.Compile(value, xpath.Env{Namespaces: c.namespaces, Variables: all}); mistake == nil {
				all[name] = x.Type()
			}
		}
	}
	return all
}

// activePatterns returns the patterns of a phase, nil where all are active, and the variables of the phase.
func (c *compiler) activePatterns(phase string, variables map[string]xpath.Type) (map[*xpath.Node]bool, []let) {
	if phase == "" || phase == "#DEFAULT" {
		phase, _ = c.root.Attribute("defaultPhase")
	}
	if phase == "" || phase == "#ALL" {
		return nil, nil
	}
	var ids []string
	for _, n := range children(c.root, "phase") {
		id, _ := n.Attribute("id")
		ids = append(ids, id)
		if id != phase {
			continue
		}
		active := map[*xpath.Node]bool{}
		for _, one := range children(n, "active") {
			name, _ := one.Attribute("pattern")
			pattern, known := c.patterns[name]
			if !known {
				c.refuse(one, "schematron.reference", "there is no pattern %s", findings.Quote(name))
			}
			active[pattern] = true
		}
		return active, c.lets(n, variables)
	}
	detail := "there is no phase " + findings.Quote(phase)
	if meant := findings.Nearest(phase, ids); meant != "" {
		detail += "; did you mean " + meant + "?"
	}
	c.faults = append(c.faults, port.Fault{Pointer: "/phase", Code: "schematron.phase", Detail: detail})
	return nil, nil
}
