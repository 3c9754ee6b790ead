package step

import "bytes"

// escapes follows the escapes of a text from one quote to the next. It is needed because \S\' is a character, whose
// quote neither ends the text nor is doubled.
type escapes byte

// The states: what the next byte of a text is read as.
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

// after returns what the byte after this one is read as.
func (e *escapes) after(b byte) escapes {
	switch *e {
	case plain:
		if b == '\\' {
			return escaped
		}
	case escaped:
		return map[byte]escapes{'S': directive, 'P': paged, 'X': coded}[b]
	case directive:
		if b == '\\' {
			return shifted
		}
	case paged:
		return closing
	case coded:
		if b != '\\' {
			return closing
		}
	case closing, shifted:
	}
	return plain
}
