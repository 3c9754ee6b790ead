package ecma

import (
	"cmp"
	"slices"
	"unicode"
)

// span is the characters from one to another, both included.
type span struct{ low, high rune }

// set is characters, as spans in their order that do not touch.
type set struct {
	spans []span
	// ascii has a bit for each character below 128, because most characters are.
	ascii [2]uint64
}

const wordSize = 64

func newSet(spans ...span) *set {
	s := &set{spans: merged(spans)}
	for _, in := range s.spans {
		for c := in.low; c <= min(in.high, unicode.MaxASCII); c++ {
			s.ascii[c/wordSize] |= 1 << (c % wordSize)
		}
	}
	return s
}

func merged(spans []span) []span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	var kept []span
	for _, next := range spans {
		if last := len(kept) - 1; last >= 0 && next.low <= kept[last].high+1 {
			kept[last].high = max(kept[last].high, next.high)
			continue
		}
		kept = append(kept, next)
	}
	return kept
}

func (s *set) has(c rune) bool {
	if c >= 0 && c <= unicode.MaxASCII {
		return s.ascii[c/wordSize]&(1<<(c%wordSize)) != 0
	}
	_, found := slices.BinarySearchFunc(s.spans, c, func(in span, c rune) int {
		switch {
		case in.high < c:
			return -1
		case in.low > c:
			return 1
		default:
			return 0
		}
	})
	return found
}

// others are all characters that the spans leave.
func others(spans []span) []span {
	var left []span
	next := rune(0)
	for _, in := range merged(spans) {
		if in.low > next {
			left = append(left, span{next, in.low - 1})
		}
		next = in.high + 1
	}
	if next <= unicode.MaxRune {
		left = append(left, span{next, unicode.MaxRune})
	}
	return left
}

// The characters that the escapes and the point stand for.
func digits() []span { return []span{{'0', '9'}} }

func wordCharacters() []span { return []span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} }

func lineEnds() []span { return []span{{'\n', '\n'}, {'\r', '\r'}, {'\u2028', '\u2029'}} }

func spaces() []span {
	separators := tableSpans([]*unicode.RangeTable{unicode.Zs})
	return append(append(separators, lineEnds()...), span{'\t', '\r'}, span{'\ufeff', '\ufeff'})
}

// tableSpans are the characters of tables of the unicode package.
func tableSpans(tables []*unicode.RangeTable) []span {
	var spans []span
	add := func(low, high, stride rune) {
		if stride == 1 {
			spans = append(spans, span{low, high})
			return
		}
		for c := low; c <= high; c += stride {
			spans = append(spans, span{c, c})
		}
	}
	for _, table := range tables {
		for _, r := range table.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride)) //nolint:gosec // tables have code points
		}
	}
	return spans
}
