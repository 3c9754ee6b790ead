package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

// lets reads the variables of an element and adds their types to those in scope.
func (c *compiler) lets(n *xpath.Node, variables map[string]xpath.Type) []let {
	var found []let
	own := map[string]bool{}
	for _, one := range children(n, "let") {
		name := c.attribute(one, "name")
		value := c.expression(one, "value", variables)
		switch {
		case name == "":
			c.refuse(one, "schematron.missing", "<let> needs a name")
		case len(variables) >= maxVariables:
			c.refuse(one, "schema.too_large", "more than %d variables", maxVariables)
			return found
		case own[name]:
			c.refuse(one, "schematron.variable", "the variable $%s is defined twice here", findings.Clip(name))
		case value != nil:
			found = append(found, let{name, value})
			variables[name] = value.Type()
		default:
			// The fault is noted, and need not be followed by those of its uses.
			variables[name] = xpath.String
		}
		own[name] = true
	}
	return found
}

// attribute returns the value of an attribute, with the parameters of the abstract pattern in their places.
func (c *compiler) attribute(n *xpath.Node, name string) string {
	value, _ := n.Attribute(name)
	return c.withParams(value)
}

// withParams puts the parameters of the abstract pattern into a text, which ends soon behind the longest expression.
func (c *compiler) withParams(value string) string {
	if len(c.params) == 0 || !strings.Contains(value, "$") {
		return value
	}
	var b strings.Builder
	for b.Len() <= maxExpressionChars {
		before, behind, found := strings.Cut(value, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		length := xpath.NameLength(behind)
		replacement, known := c.params[behind[:length]]
		if !known {
			replacement = "$" + behind[:length]
		}
		b.WriteString(replacement)
		value = behind[length:]
	}
	return b.String()
}

// expression compiles the expression of an attribute, which must be there. It returns nil where that has a fault.
func (c *compiler) expression(n *xpath.Node, name string, variables map[string]xpath.Type) *xpath.Expr {
	return c.compile(n, name, variables, xpath.Compile)
}

func (c *compiler) compile(
	n *xpath.Node, name string, variables map[string]xpath.Type,
	compile func(source string, env xpath.Env) (*xpath.Expr, *xpath.Mistake),
) *xpath.Expr {
	source := c.attribute(n, name)
	c.expressions++
	switch {
	case c.refusals >= maxFaults:
		// More faults are not noted, and looking for what was meant takes time.
		return nil
	case strings.TrimSpace(source) == "":
		c.refuse(n, "schematron.missing", "<%s> needs the attribute %s", n.Local(), name)
		return nil
	case len(source) > maxExpressionChars:
		c.refuse(n, "schema.too_large", "the expression is longer than %d characters", maxExpressionChars)
		return nil
	case c.isTooLarge(n):
		return nil
	}
	x, mistake := compile(source, xpath.Env{Namespaces: c.namespaces, Variables: variables})
	if mistake != nil {
		c.refuse(n, "schematron.xpath", "%s: %s", findings.Quote(source), mistake.Message)
		return nil
	}
	return x
}

// isTooLarge ends what abstract patterns and rules repeat.
func (c *compiler) isTooLarge(n *xpath.Node) bool {
	if c.expressions <= maxExpressions {
		return false
	}
	c.refuse(n, "schema.too_large", "the schema has more than %d expressions", maxExpressions)
	return true
}

func (c *compiler) pattern(n *xpath.Node, variables map[string]xpath.Type) *pattern {
	p := &pattern{}
	from := n
	if id, has := n.Attribute("is-a"); has {
		abstract, known := c.patterns[id]
		if !known || !isAbstract(abstract) {
			c.refuse(n, "schematron.reference", "there is no abstract pattern %s", findings.Quote(id))
			return p
		}
		from = abstract
		c.params = map[string]string{}
		for _, param := range children(n, "param") {
			name, _ := param.Attribute("name")
			c.params[name], _ = param.Attribute("value")
		}
		defer func() { c.params = nil }()
	}
	variables = maps.Clone(variables)
	p.lets = c.lets(from, variables)
	for _, one := range children(from, "rule") {
		if isAbstract(one) || c.isTooLarge(one) {
			continue
		}
		r := &rule{source: c.attribute(one, "context")}
		r.context = c.compile(one, "context", variables, xpath.CompilePattern)
		c.fill(r, one, maps.Clone(variables), nil)
		p.rules = append(p.rules, r)
	}
	return p
}

// fill adds to a rule what an element has, and what that extends. Outer are the rules that this is extending.
func (c *compiler) fill(r *rule, n *xpath.Node, variables map[string]xpath.Type, outer []*xpath.Node) {
	outer = append(outer, n)
	for _, child := range n.Children() {
		if c.isTooLarge(child) {
			return
		}
		if isOwn(child, "extends") {
			c.extend(r, child, variables, outer)
		}
	}
	r.lets = append(r.lets, c.lets(n, variables)...)
	for _, child := range n.Children() {
		if isOwn(child, "assert") || isOwn(child, "report") {
			r.checks = append(r.checks, c.check(child, n, variables))
		}
	}
}

func (c *compiler) extend(r *rule, n *xpath.Node, variables map[string]xpath.Type, outer []*xpath.Node) {
	id, _ := n.Attribute("rule")
	abstract, known := c.rules[id]
	c.expressions++
	if !known {
		c.refuse(n, "schematron.reference", "there is no abstract rule %s", findings.Quote(id))
		return
	}
	if slices.Contains(outer, abstract) {
		c.refuse(n, "schematron.reference", "the rule %s extends itself", findings.Quote(id))
		return
	}
	c.fill(r, abstract, variables, outer)
}

// severities are by what roles and flags call them.
var severities = map[string]string{
	"fatal": findings.SeverityError, "error": findings.SeverityError,
	"warn": findings.SeverityWarning, "warning": findings.SeverityWarning,
	"info": findings.SeverityInfo, "information": findings.SeverityInfo,
}

// maxID is how many bytes of an id a finding has. The service refuses longer codes.
const maxID = 180

func (c *compiler) check(n, of *xpath.Node, variables map[string]xpath.Type) *check {
	one := &check{isReport: n.Local() == "report", severity: findings.SeverityError, source: c.attribute(n, "test")}
	id, _ := n.Attribute("id")
	one.id = id
	if len(id) > maxID {
		one.id = findings.Clip(id)
	}
	one.test = c.expression(n, "test", variables)
	for _, place := range []*xpath.Node{of, n} {
		for _, name := range []string{"flag", "role"} {
			word, _ := place.Attribute(name)
			if severity, known := severities[strings.ToLower(strings.TrimSpace(word))]; known {
				one.severity = severity
			}
		}
	}
	one.message = c.message(n, variables)
	for id := range strings.FieldsSeq(c.attribute(n, "diagnostics")) {
		diagnostic, known := c.diagnostics[id]
		if !known {
			c.refuse(n, "schematron.reference", "there is no diagnostic %s", findings.Quote(id))
			continue
		}
		one.message = append(one.message, part{text: " "})
		one.message = append(one.message, c.message(diagnostic, variables)...)
	}
	return one
}

// message reads the mixed content of a check or a diagnostic.
func (c *compiler) message(n *xpath.Node, variables map[string]xpath.Type) []part {
	var parts []part
	for _, child := range n.Children() {
		switch {
		case child.Kind == xpath.Text:
			parts = append(parts, part{text: c.withParams(child.Value())})
		case isOwn(child, "value-of"):
			value := c.expression(child, "select", variables)
			parts = append(parts, part{value: value, source: c.attribute(child, "select")})
		case isOwn(child, "name"):
			parts = append(parts, c.nameOf(child, variables))
		case child.Kind == xpath.Element:
			parts = append(parts, c.message(child, variables)...)
		}
	}
	return parts
}

func (c *compiler) nameOf(n *xpath.Node, variables map[string]xpath.Type) part {
	one := part{isName: true, source: "name()"}
	path, has := n.Attribute("path")
	if !has {
		return one
	}
	one.source = path
	one.value = c.expression(n, "path", variables)
	if one.value != nil && one.value.Type() == xpath.String {
		// Some schemas write name(..) here.
		one.isName = false
	}
	if one.isName && one.value != nil && one.value.Type() != xpath.NodeSet {
		c.refuse(n, "schematron.xpath", "%s: a path to a node is needed, not a %s",
			findings.Quote(path), one.value.Type())
	}
	return one
}
