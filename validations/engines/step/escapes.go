package step

import "bytes"

// escapes follows the escapes of a text from one quote to the next. It is needed because \S\' is a character, whose
// quote neither ends the text nor is doubled.
type escapes byte

// What the next byte of a text is read as.
const (
	plain escapes = iota
	// escaped bytes follow a backslash.
	escaped
	// directive bytes follow \S, paged ones \P, and coded ones \X.
	directive
	paged
	coded
	// closing bytes are the last of an escape, whatever they are.
	closing
	// shifted bytes follow \S\ and are a character.
	shifted
)

// hides reads a part of a text up to a quote, and reports whether the quote is part of an escape.
func (e *escapes) hides(part []byte) bool {
	e.follow(part)
	hidden := *e == shifted
	*e = plain
	return hidden
}

// follow reads a part of a text that has no quote.
func (e *escapes) follow(part []byte) {
	for len(part) > 0 {
		if *e == plain {
			begin := bytes.IndexByte(part, '\\')
			if begin < 0 {
				return
			}
			part = part[begin:]
		}
		*e = e.after(part[0])
		part = part[1:]
	}
}

// after is what the byte behind this one is read as.
func (e *escapes) after(b byte) escapes {
	switch {
	case *e == plain && b == '\\', *e == paged && b == '\\':
		return escaped
	case *e == escaped && b == 'S':
		return directive
	case *e == escaped && b == 'P':
		return paged
	case *e == escaped && b == 'X':
		return coded
	case *e == directive && b == '\\':
		return shifted
	case *e == paged, *e == coded && b != '\\':
		return closing
	default:
		return plain
	}
}
