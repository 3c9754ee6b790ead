package xmltext

import (
	"slices"
	"unicode"
)

// set is characters, as pairs of the first and the last of a span. Only merged sets have their spans in order.
type set []rune

// span is one pair of a set.
type span struct{ low, high rune }

// merge puts spans in order and joins those that touch.
func (s set) merge() set {
	spans := make([]span, 0, len(s)/2) // pairs
	for i := 0; i < len(s); i += 2 {
		spans = append(spans, span{s[i], s[i+1]})
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.low - b.low) })
	var merged set
	for _, next := range spans {
		if last := len(merged) - 1; last > 0 && next.low <= merged[last]+1 {
			merged[last] = max(merged[last], next.high)
			continue
		}
		merged = append(merged, next.low, next.high)
	}
	return merged
}

// negate returns all other characters.
func (s set) negate() set {
	others, next := set{}, rune(0)
	merged := s.merge()
	for i := 0; i < len(merged); i += 2 {
		if merged[i] > next {
			others = append(others, next, merged[i]-1)
		}
		next = merged[i+1] + 1
	}
	if next <= unicode.MaxRune {
		others = append(others, next, unicode.MaxRune)
	}
	return others
}

// without takes characters away.
func (s set) without(away set) set {
	return append(s.negate(), away...).negate()
}

// tableSet has the characters of tables of the unicode package.
func tableSet(tables ...*unicode.RangeTable) set {
	var s set
	add := func(low, high, stride rune) {
		if stride == 1 {
			s = append(s, low, high)
			return
		}
		for c := low; c <= high; c += stride {
			s = append(s, c, c)
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
	return s.merge()
}
