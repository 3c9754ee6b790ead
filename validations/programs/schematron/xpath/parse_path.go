package xpath

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// nodeTypes are the tests that look like functions.
var nodeTypes = map[string]Kind{
	"node": anyKind, "text": Text, "comment": Comment, "processing-instruction": Instruction,
}

// descendants is the step that "//" stands for.
func descendants() step {
	return step{axis: axisDescendantOrSelf, test: test{kind: anyKind, wild: true}}
}

func (p *parser) path() (*node, *Mistake) {
	n := &node{op: opPath, typ: NodeSet}
	switch {
	case p.startsFilter():
		first, fault := p.filter()
		if fault != nil || !p.isOperator("/", "//") {
			return first, fault
		}
		if first.typ != NodeSet {
			return nil, mistake("a path begins with a node set, not with a %s", first.typ)
		}
		n.kids = []*node{first}
	case p.isOperator("/") && !startsStep(p.tokens[1]):
		p.next()
		n.absolute = true
		return n, nil
	case p.isOperator("/", "//"):
		n.absolute = true
	default:
		if fault := p.step(n); fault != nil {
			return nil, fault
		}
	}
	return p.steps(n)
}

// steps reads the steps of a path behind its first.
func (p *parser) steps(n *node) (*node, *Mistake) {
	for p.isOperator("/", "//") {
		if p.next().text == "//" {
			n.steps = append(n.steps, descendants())
		}
		if fault := p.step(n); fault != nil {
			return nil, fault
		}
	}
	n.steps = joined(n.steps)
	return n, nil
}

// joined makes one step of "//x", which otherwise would visit all nodes for their children.
func joined(steps []step) []step {
	var kept []step
	for _, s := range steps {
		if last := len(kept) - 1; last >= 0 && s.axis == axisChild && !hasPosition(s.predicates) &&
			kept[last].isDescendants() {
			s.axis = axisDescendant
			kept[last] = s
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

func (s *step) isDescendants() bool {
	return s.axis == axisDescendantOrSelf && s.test.kind == anyKind && len(s.predicates) == 0
}

func hasPosition(predicates []predicate) bool {
	for _, one := range predicates {
		if one.positional {
			return true
		}
	}
	return false
}

func (p *parser) startsFilter() bool {
	one := p.peek()
	switch one.kind {
	case tokenLiteral, tokenNumber, tokenVariable:
		return true
	case tokenFunction:
		_, isTest := nodeTypes[one.text]
		return !isTest
	default:
		return p.isSymbol("(")
	}
}

func startsStep(one token) bool {
	switch one.kind {
	case tokenName, tokenAxis:
		return true
	case tokenFunction:
		_, isTest := nodeTypes[one.text]
		return isTest
	case tokenSymbol:
		return one.text == "." || one.text == ".." || one.text == "@" || one.text == "*"
	default:
		return false
	}
}

func (p *parser) filter() (*node, *Mistake) {
	n, fault := p.primary()
	if fault != nil || !p.isSymbol("[") {
		return n, fault
	}
	if n.typ != NodeSet {
		return nil, mistake("a predicate filters a node set, not a %s", n.typ)
	}
	predicates, fault := p.predicates()
	return &node{op: opFilter, typ: NodeSet, kids: []*node{n}, predicates: predicates}, fault
}

func (p *parser) predicates() ([]predicate, *Mistake) {
	var predicates []predicate
	for p.isSymbol("[") {
		p.next()
		outer := p.positional
		p.positional = false
		p.inPredicates++
		if p.inPredicates > maxPredicates {
			return nil, mistake("predicates are nested deeper than %d levels", maxPredicates)
		}
		n, fault := p.expression()
		if fault == nil {
			fault = p.expect("]")
		}
		if fault != nil {
			return nil, fault
		}
		p.inPredicates--
		predicates = append(predicates, predicate{n, p.positional || n.typ == Number})
		p.positional = outer
	}
	return predicates, nil
}

// step reads a step and appends it to a path.
func (p *parser) step(n *node) *Mistake {
	for text, a := range map[string]axis{".": axisSelf, "..": axisParent} {
		if p.isSymbol(text) {
			p.next()
			n.steps = append(n.steps, step{axis: a, test: test{kind: anyKind, wild: true}})
			return nil
		}
	}
	s := step{axis: axisChild}
	if p.isSymbol("@") {
		p.next()
		s.axis = axisAttribute
	} else if p.peek().kind == tokenAxis {
		name := p.next().text
		var known bool
		if s.axis, known = axes[name]; !known {
			return mistake("%s is not an axis of XPath, or not supported", findings.Clip(name))
		}
		if fault := p.expect("::"); fault != nil {
			return fault
		}
	}
	var fault *Mistake
	if s.test, fault = p.test(s.axis); fault == nil {
		s.predicates, fault = p.predicates()
	}
	n.steps = append(n.steps, s)
	return fault
}

func (p *parser) test(of axis) (test, *Mistake) {
	principal := Element
	if of == axisAttribute {
		principal = Attribute
	}
	switch {
	case p.isSymbol("*"):
		p.next()
		return test{kind: principal, wild: true, anyNamespace: true}, nil
	case p.peek().kind == tokenName:
		return p.nameTest(p.next().text, principal)
	case p.peek().kind == tokenFunction:
		return p.typeTest(p.next().text)
	default:
		return test{}, mistake("a name or a path is expected instead of %s", p.found())
	}
}

func (p *parser) typeTest(name string) (test, *Mistake) {
	kind, known := nodeTypes[name]
	if !known {
		return test{}, mistake("the function %s() cannot be a step of a path", findings.Clip(name))
	}
	t := test{kind: kind, wild: true, anyNamespace: true}
	fault := p.expect("(")
	if fault == nil && kind == Instruction && p.peek().kind == tokenLiteral {
		t.wild, t.anyNamespace, t.local = false, false, p.next().text
	}
	if fault == nil {
		fault = p.expect(")")
	}
	return t, fault
}

func (p *parser) nameTest(name string, kind Kind) (test, *Mistake) {
	t := test{kind: kind, local: name}
	if prefix, local, ok := strings.Cut(name, ":"); ok {
		t.local = local
		var known bool
		if t.namespace, known = p.env.Namespaces[prefix]; !known {
			return t, mistake("the prefix %s is not declared", findings.Clip(prefix))
		}
	}
	if t.local == "*" {
		t.wild = true
	}
	return t, nil
}

// matches reports whether a node passes the test.
func (t *test) matches(n *Node) bool {
	if t.kind == anyKind {
		return true
	}
	if t.kind != n.Kind {
		return false
	}
	if !t.wild && n.local() != t.local {
		return false
	}
	return t.anyNamespace || n.namespace() == t.namespace
}
