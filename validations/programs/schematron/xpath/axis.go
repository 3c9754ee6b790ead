package xpath

import "slices"

type axis uint8

const (
	axisChild axis = iota
	axisAttribute
	axisSelf
	axisParent
	axisDescendant
	axisDescendantOrSelf
	axisAncestor
	axisAncestorOrSelf
	axisFollowingSibling
	axisPrecedingSibling
	axisFollowing
	axisPreceding
)

var axes = map[string]axis{
	"child": axisChild, "attribute": axisAttribute, "self": axisSelf, "parent": axisParent,
	"descendant": axisDescendant, "descendant-or-self": axisDescendantOrSelf,
	"ancestor": axisAncestor, "ancestor-or-self": axisAncestorOrSelf,
	"following-sibling": axisFollowingSibling, "preceding-sibling": axisPrecedingSibling,
	"following": axisFollowing, "preceding": axisPreceding,
}

// isReverse reports whether the axis counts backwards in the document.
func (a axis) isReverse() bool {
	switch a {
	case axisAncestor, axisAncestorOrSelf, axisPrecedingSibling, axisPreceding:
		return true
	default:
		return false
	}
}

// walk calls visit for each node of an axis, in its direction, until visit returns false.
func (a axis) walk(n *Node, visit func(n *Node) bool) {
	switch a {
	case axisChild:
		each(n.children, visit)
	case axisAttribute:
		each(n.attributes, visit)
	case axisSelf:
		visit(n)
	case axisParent:
		if n.Parent != nil {
			visit(n.Parent)
		}
	case axisDescendant:
		below(n, visit)
	case axisDescendantOrSelf:
		if visit(n) {
			below(n, visit)
		}
	case axisFollowingSibling:
		each(behind(n), visit)
	case axisFollowing:
		following(n, visit)
	default:
		a.walkBack(n, visit)
	}
}

// walkBack is walk for the reverse axes.
func (a axis) walkBack(n *Node, visit func(n *Node) bool) {
	switch a {
	case axisPrecedingSibling:
		eachBackward(before(n), visit)
	case axisPreceding:
		preceding(n, visit)
	default:
		if a == axisAncestor {
			n = n.Parent
		}
		for n != nil && visit(n) {
			n = n.Parent
		}
	}
}

func each(nodes []*Node, visit func(n *Node) bool) bool {
	for _, n := range nodes {
		if !visit(n) {
			return false
		}
	}
	return true
}

func eachBackward(nodes []*Node, visit func(n *Node) bool) bool {
	for _, n := range slices.Backward(nodes) {
		if !visit(n) {
			return false
		}
	}
	return true
}

func below(n *Node, visit func(n *Node) bool) bool {
	return each(n.children, func(child *Node) bool { return visit(child) && below(child, visit) })
}

// belowBackward visits a node behind everything in it.
func belowBackward(n *Node, visit func(n *Node) bool) bool {
	return eachBackward(n.children, func(child *Node) bool { return belowBackward(child, visit) }) && visit(n)
}

// behind are the siblings that follow a node.
func behind(n *Node) []*Node {
	if n.Kind == Attribute || n.Parent == nil {
		return nil
	}
	return n.Parent.children[n.place+1:]
}

// before are the siblings that precede a node.
func before(n *Node) []*Node {
	if n.Kind == Attribute || n.Parent == nil {
		return nil
	}
	return n.Parent.children[:n.place]
}

func following(n *Node, visit func(n *Node) bool) {
	if n.Kind == Attribute {
		// The content of an element follows its attributes.
		n = n.Parent
		if !below(n, visit) {
			return
		}
	}
	for ; n != nil; n = n.Parent {
		if !each(behind(n), func(sibling *Node) bool { return visit(sibling) && below(sibling, visit) }) {
			return
		}
	}
}

func preceding(n *Node, visit func(n *Node) bool) {
	if n.Kind == Attribute {
		n = n.Parent
	}
	for ; n != nil; n = n.Parent {
		if !eachBackward(before(n), func(sibling *Node) bool { return belowBackward(sibling, visit) }) {
			return
		}
	}
}
