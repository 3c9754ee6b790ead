package xpath

import (
	"slices"
)

// Expr is an expression that is ready to be evaluated. Several goroutines may do so at once.
type Expr struct {
	root *node
}

// Compile reads an expression. The mistake says what is wrong with it.
func Compile(source string, env Env) (*Expr, *Mistake) {
	root, fault := parse(source, env)
	if fault != nil {
		return nil, fault
	}
	return &Expr{root}, nil
}

// CompilePattern reads a pattern of XSLT as an expression that finds, from the root, all nodes that match it.
func CompilePattern(source string, env Env) (*Expr, *Mistake) {
	root, fault := parse(source, env)
	if fault != nil {
		return nil, fault
	}
	paths := []*node{root}
	if root.op == opBinary && root.name == "|" {
		paths = root.kids
	}
	for _, path := range paths {
		if fault := anchor(path); fault != nil {
			return nil, fault
		}
	}
	return &Expr{root}, nil
}

// anchor makes a path that matches anywhere begin at the root.
func anchor(path *node) *Mistake {
	if path.op != opPath || len(path.kids) > 0 {
		return mistake("a pattern is a path, or several with | between them")
	}
	for _, s := range path.steps {
		switch s.axis {
		case axisChild, axisAttribute, axisDescendant:
		case axisDescendantOrSelf:
			if s.test.kind == anyKind && len(s.predicates) == 0 {
				continue
			}
			return mistake("a pattern may use only the axes child and attribute")
		default:
			return mistake("a pattern may use only the axes child and attribute")
		}
	}
	if !path.absolute {
		path.absolute = true
		path.steps = joined(slices.Concat([]step{descendants()}, path.steps))
	}
	return nil
}

// Type is the type of the values of the expression.
func (x *Expr) Type() Type {
	return x.root.typ
}

// Scope is where expressions are evaluated: a document, the values of variables, and the work that is left.
type Scope struct {
	document *Document
	work     Work
	// Variables must have all that the Env of an expression names.
	Variables map[string]Value
	// kept is the size of their values.
	kept int
	// current is the node that current() means.
	current *Node
	// markers are not in use at the moment.
	markers []*marker
}

// marker remembers the nodes that a step has found.
type marker struct {
	generation uint32
	of         []uint32
}

// NewScope returns a scope without variables.
func NewScope(document *Document, work Work) *Scope {
	return &Scope{document: document, work: work, Variables: map[string]Value{}}
}

// Evaluate returns the value of an expression at a node. It means nothing once the work has ended.
func (s *Scope) Evaluate(x *Expr, at *Node) Value {
	s.current = at
	return s.eval(x.root, focus{at, 1, 1})
}

// IsTrue evaluates an expression as a condition.
func (s *Scope) IsTrue(x *Expr, at *Node) bool {
	return s.Evaluate(x, at).isTrue()
}

// Text evaluates an expression as a text.
func (s *Scope) Text(x *Expr, at *Node) string {
	return s.work.textOf(s.Evaluate(x, at))
}

// Nodes evaluates a pattern from the root.
func (s *Scope) Nodes(x *Expr) []*Node {
	return s.Evaluate(x, s.document.Root).nodes
}

// Name is the name of the node that a path leads to, as the document has it.
func (s *Scope) Name(x *Expr, at *Node) string {
	nodes := s.Evaluate(x, at).nodes
	if len(nodes) == 0 {
		return ""
	}
	return nodes[0].written()
}

// Written is the name of a node as the document has it.
func (n *Node) Written() string {
	return n.written()
}

// Local is the name of a node without its prefix.
func (n *Node) Local() string {
	return n.local()
}

// Namespace is the namespace of the name of a node.
func (n *Node) Namespace() string {
	return n.namespace()
}

// Children are the nodes in an element, without its attributes.
func (n *Node) Children() []*Node {
	return n.children
}

// Value is the text of a node that is not an element.
func (n *Node) Value() string {
	return n.value
}

// Attributes are the attributes of an element, without declarations of namespaces.
func (n *Node) Attributes() []*Node {
	return n.attributes
}

// Attribute returns the value of an attribute without a prefix, and whether it is there.
func (n *Node) Attribute(local string) (string, bool) {
	for _, a := range n.attributes {
		if a.name.namespace == "" && a.name.local == local {
			return a.value, true
		}
	}
	return "", false
}

// Order is the place of a node in the order of the document.
func (n *Node) Order() int32 {
	return n.order
}

// NameLength is the length of the name at the start of a text, or 0.
func NameLength(text string) int {
	return simpleNameLength(text)
}

// maxKept is how much memory the values of variables may take.
const maxKept = 64 << 20

// Define gives a variable a value, and returns what gives it back the one that it had.
func (s *Scope) Define(name string, value Value) func() {
	before, known := s.Variables[name]
	s.kept += value.Size()
	if s.kept > maxKept {
		s.work.End("needed more than 64 MiB for the values of variables")
	}
	s.Variables[name] = value
	return func() {
		s.kept -= value.Size()
		delete(s.Variables, name)
		if known {
			s.Variables[name] = before
		}
	}
}
