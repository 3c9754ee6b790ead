package ecma

import (
	"fmt"
	"strings"
)

// maxLinearChars bounds an expression of RE2 whose sets are written out: that of \p{L} alone takes 10,000 characters.
const maxLinearChars = 1 << 16

// linearSource writes an expression for the regexp package that matches the same texts; false where that cannot be.
func linearSource(n node) (string, bool) {
	var text strings.Builder
	ok := writeLinear(&text, n)
	return text.String(), ok
}

func writeLinear(text *strings.Builder, n node) bool {
	switch n := n.(type) {
	case *set:
		writeSet(text, n)
		return text.Len() <= maxLinearChars
	case assertion:
		text.WriteString([]string{atBegin: `\A`, atEnd: `\z`, atWordEdge: `\b`, inWord: `\B`}[n])
	case sequence:
		for _, part := range n {
			if !writeLinear(text, part) {
				return false
			}
		}
	case alternatives:
		return writeAlternatives(text, n)
	case *group:
		return writeLinear(text, n.body)
	case *repeat:
		return writeRepeat(text, n)
	default:
		return false
	}
	return true
}

func writeAlternatives(text *strings.Builder, all alternatives) bool {
	text.WriteString("(?:")
	for i, one := range all {
		if i > 0 {
			text.WriteByte('|')
		}
		if !writeLinear(text, one) {
			return false
		}
	}
	text.WriteByte(')')
	return true
}

func writeRepeat(text *strings.Builder, n *repeat) bool {
	text.WriteString("(?:")
	if !writeLinear(text, n.body) {
		return false
	}
	if n.most == unbounded {
		fmt.Fprintf(text, "){%d,}", n.least)
	} else {
		fmt.Fprintf(text, "){%d,%d}", n.least, n.most)
	}
	return true
}

func writeSet(text *strings.Builder, s *set) {
	if len(s.spans) == 0 {
		text.WriteString(`[^\x{0}-\x{10FFFF}]`)
		return
	}
	text.WriteByte('[')
	for _, in := range s.spans {
		fmt.Fprintf(text, `\x{%X}-\x{%X}`, in.low, in.high)
	}
	text.WriteByte(']')
}
