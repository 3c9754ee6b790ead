package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

// run is the check of one document.
type run struct {
	scope     *xpath.Scope
	work      xpath.Work
	root      *xpath.Node
	lines     *findings.Lines
	collector *findings.Collector
	// excerpt is how many characters an excerpt has.
	excerpt int
}

// match is a node with the rule that checks it.
type match struct {
	node *xpath.Node
	rule *rule
}

// check checks by all patterns. The work may end before.
func (r *run) check(s *schema) {
	r.bind(s.lets, r.root)
	for _, p := range s.patterns {
		undo := r.bind(p.lets, r.root)
		for _, m := range r.matches(p) {
			if r.work.Err() != nil {
				return
			}
			r.apply(m)
		}
		undo()
	}
}

// bind gives variables their values, and returns what gives those that they hide theirs back.
func (r *run) bind(lets []let, at *xpath.Node) func() {
	if len(lets) == 0 {
		return func() {}
	}
	hidden := make([]func(), 0, len(lets))
	for _, one := range lets {
		hidden = append(hidden, r.scope.Define(one.name, r.scope.Evaluate(one.value, at)))
	}
	return func() {
		for _, undo := range slices.Backward(hidden) {
			undo()
		}
	}
}

// matches finds the nodes of a pattern in the order of the document. A node belongs to the first rule that is for it.
func (r *run) matches(p *pattern) []match {
	var found []match
	taken := map[*xpath.Node]bool{}
	for i, one := range p.rules {
		for _, n := range r.scope.Nodes(one.context) {
			if taken[n] {
				continue
			}
			if i < len(p.rules)-1 {
				taken[n] = true
			}
			found = append(found, match{n, one})
		}
	}
	slices.SortFunc(found, func(a, b match) int { return cmp.Compare(a.node.Order(), b.node.Order()) })
	return found
}

// apply checks a node by its rule.
func (r *run) apply(m match) {
	undo := r.bind(m.rule.lets, m.node)
	for _, c := range m.rule.checks {
		if holds := r.scope.IsTrue(c.test, m.node); holds == c.isReport && r.work.Err() == nil {
			r.fail(c, m.node)
		}
	}
	undo()
}

// fail adds a finding. One that is only counted needs neither message nor place.
func (r *run) fail(c *check, at *xpath.Node) {
	f := port.Finding{Severity: c.severity, Code: c.code(), AssertionID: c.id}
	group := ""
	if c.id == "" {
		group = findings.Clip(c.source)
	}
	if !r.collector.Full(findings.Key{Code: f.Code, Group: group, Severity: f.Severity}) {
		f.Message = r.message(c, at)
		f.Path = findings.ClipTo(at.Path(), findings.MaxPath)
		f = r.lines.Place(f, at.Offset, r.excerpt)
	}
	r.collector.Add(group, f)
}

// code is the code of the findings of a check.
func (c *check) code() string {
	switch {
	case c.id != "":
		return "schematron." + c.id
	case c.isReport:
		return "schematron.report"
	default:
		return "schematron.assert"
	}
}

func (r *run) message(c *check, at *xpath.Node) string {
	var b strings.Builder
	for _, one := range c.message {
		switch {
		case one.isName && one.value == nil:
			b.WriteString(at.Written())
		case one.isName:
			b.WriteString(r.scope.Name(one.value, at))
		case one.value != nil:
			b.WriteString(r.scope.Text(one.value, at))
		default:
			b.WriteString(one.text)
		}
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	switch {
	case text != "":
	case c.isReport:
		text = c.source + " is true"
	default:
		text = c.source + " is not true"
	}
	return findings.ClipTo(text, findings.MaxMessage)
}

// placeholder is the part of a message as a description has it.
func (p part) placeholder() string {
	if p.source != "" {
		return "{" + p.source + "}"
	}
	return p.text
}
