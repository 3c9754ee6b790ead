package xpath

import (
	"cmp"
	"math"
	"slices"
)

// focus is a node with its place in the set that is looked at.
type focus struct {
	node           *Node
	position, size int
}

func (s *Scope) eval(n *node, at focus) Value {
	if !s.work.Spend(1) {
		return zero(n.typ)
	}
	switch n.op {
	case opConstant:
		return n.constant
	case opVariable:
		return s.Variables[n.name]
	case opNegate:
		return numberValue(-s.work.numberOf(s.eval(n.kids[0], at)))
	case opCall:
		return functions[n.name].call(s, n, at)
	case opPath:
		return nodesValue(s.path(n, at))
	case opFilter:
		nodes := s.eval(n.kids[0], at).nodes
		return nodesValue(s.filter(slices.Clone(nodes), n.predicates))
	default:
		return s.binary(n, at)
	}
}

// zero is the value of what cannot be evaluated any more.
func zero(typ Type) Value {
	return Value{typ: typ}
}

func (s *Scope) binary(n *node, at focus) Value {
	switch n.name {
	case "or", "and":
		for _, kid := range n.kids {
			if s.eval(kid, at).isTrue() == (n.name == "or") {
				return truthValue(n.name == "or")
			}
		}
		return truthValue(n.name == "and")
	case "|":
		return nodesValue(s.union(n, at))
	}
	left, right := s.eval(n.kids[0], at), s.eval(n.kids[1], at)
	if n.typ == Boolean {
		return truthValue(s.compare(n.name, left, right))
	}
	a, b := s.work.numberOf(left), s.work.numberOf(right)
	switch n.name {
	case "+":
		return numberValue(a + b)
	case "-":
		return numberValue(a - b)
	case "*":
		return numberValue(a * b)
	case "div":
		return numberValue(a / b)
	default:
		return numberValue(math.Mod(a, b))
	}
}

func (s *Scope) union(n *node, at focus) []*Node {
	m := s.mark()
	defer s.unmark(m)
	var all []*Node
	for _, kid := range n.kids {
		for _, one := range s.eval(kid, at).nodes {
			if !s.work.Spend(1) {
				return nil
			}
			if m.isNew(one) {
				all = append(all, one)
			}
		}
	}
	return s.ordered(all)
}

// ordered sorts nodes in the order of the document, which they mostly have.
func (s *Scope) ordered(nodes []*Node) []*Node {
	byOrder := func(a, b *Node) int { return cmp.Compare(a.order, b.order) }
	if !slices.IsSortedFunc(nodes, byOrder) {
		const perNode = 4
		if !s.work.Spend(perNode * len(nodes)) {
			return nil
		}
		slices.SortFunc(nodes, byOrder)
	}
	return nodes
}

// mark returns a marker that knows no node.
func (s *Scope) mark() *marker {
	if last := len(s.markers) - 1; last >= 0 {
		m := s.markers[last]
		s.markers = s.markers[:last]
		m.generation++
		return m
	}
	return &marker{generation: 1, of: make([]uint32, s.document.size+1)}
}

func (s *Scope) unmark(m *marker) {
	s.markers = append(s.markers, m)
}

// isNew marks a node and says whether it was not marked before.
func (m *marker) isNew(n *Node) bool {
	if m.of[n.order] == m.generation {
		return false
	}
	m.of[n.order] = m.generation
	return true
}

func (s *Scope) path(n *node, at focus) []*Node {
	nodes := []*Node{at.node}
	switch {
	case len(n.kids) > 0:
		nodes = s.eval(n.kids[0], at).nodes
	case n.absolute:
		nodes = []*Node{s.document.Root}
	}
	for i := range n.steps {
		if len(nodes) == 0 {
			return nil
		}
		nodes = s.step(&n.steps[i], nodes)
	}
	return nodes
}

// step walks from each of the nodes. What it finds is in the order of the document, each node once.
func (s *Scope) step(st *step, from []*Node) []*Node {
	if len(from) == 1 {
		nodes := s.stepFrom(st, from[0])
		if st.axis.isReverse() {
			slices.Reverse(nodes)
		}
		return nodes
	}
	if st.axis == axisAttribute || st.axis == axisSelf {
		// These cannot meet, and keep the order.
		var all []*Node
		for _, n := range from {
			all = append(all, s.stepFrom(st, n)...)
		}
		return all
	}
	m := s.mark()
	defer s.unmark(m)
	var all []*Node
	for _, n := range from {
		for _, one := range s.stepFrom(st, n) {
			if m.isNew(one) {
				all = append(all, one)
			}
		}
		if s.work.Err() != nil {
			return nil
		}
	}
	return s.ordered(all)
}

// stepFrom returns what a step finds from one node, in the direction of the axis.
func (s *Scope) stepFrom(st *step, from *Node) []*Node {
	var nodes []*Node
	most := math.MaxInt
	if len(st.predicates) > 0 && isFirst(st.predicates[0]) {
		most = 1
	}
	st.axis.walk(from, func(n *Node) bool {
		if !s.work.Spend(1) {
			return false
		}
		if st.test.matches(n) {
			nodes = append(nodes, n)
		}
		return len(nodes) < most
	})
	return s.filter(nodes, st.predicates)
}

// isFirst recognizes [1].
func isFirst(p predicate) bool {
	return p.op == opConstant && p.typ == Number && p.constant.number == 1
}

// filter keeps what all predicates hold for. It writes into the slice that it gets.
func (s *Scope) filter(nodes []*Node, predicates []predicate) []*Node {
	for _, p := range predicates {
		kept := nodes[:0]
		size := len(nodes)
		for i, n := range nodes {
			value := s.eval(p.node, focus{n, i + 1, size})
			if s.work.Err() != nil {
				return nil
			}
			if value.typ == Number {
				value = truthValue(value.number == float64(i+1))
			}
			if value.isTrue() {
				kept = append(kept, n)
			}
		}
		nodes = kept
	}
	return nodes
}
