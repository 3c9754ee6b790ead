package ecma

// node is a part of an expression. It has one of the types below.
type node = any

type (
	// sequence is parts one behind the other; an empty one matches the empty text.
	sequence []node
	// alternatives are tried in their order.
	alternatives []node
	// group captures what its body matches. Its numbers begin with 1.
	group struct {
		number int
		body   node
	}
	// repeat has no bound where most is unbounded. Groups from first to last are those in the body.
	repeat struct {
		body        node
		least, most int
		greedy      bool
		first, last int
	}
	// assertion is true at some places.
	assertion int
	// look is true where its body matches ahead or behind.
	look struct {
		body             node
		behind, negative bool
	}
	// reference matches what a group has captured. The name is resolved when all groups are known.
	reference struct {
		number int
		name   string
		at     int
	}
)

const (
	atBegin assertion = iota
	atEnd
	atWordEdge
	inWord
)

// unbounded is the most of a repetition without a bound.
const unbounded = -1

// startsAtBegin reports whether an expression can match at the beginning of a text only.
func startsAtBegin(n node) bool {
	switch n := n.(type) {
	case assertion:
		return n == atBegin
	case sequence:
		return len(n) > 0 && startsAtBegin(n[0])
	case *group:
		return startsAtBegin(n.body)
	case alternatives:
		for _, one := range n {
			if !startsAtBegin(one) {
				return false
			}
		}
		return len(n) > 0
	default:
		return false
	}
}
