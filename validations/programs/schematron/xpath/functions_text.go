package xpath

import (
	"math"
	"strings"
	"unicode/utf8"
)

func stringLength(text string) Value {
	return numberValue(float64(utf8.RuneCountInString(text)))
}

func concat(s *Scope, n *node, at focus) Value {
	var b strings.Builder
	for i := range n.kids {
		text := s.text(n, i, at)
		if !s.work.Spend(len(text)) || !s.work.mayHold(b.Len()+len(text)) {
			break
		}
		b.WriteString(text)
	}
	return textValue(b.String())
}

// substring counts characters from 1, and keeps those whose rounded place is within the bounds.
func substring(s *Scope, n *node, at focus) Value {
	text := s.text(n, 0, at)
	s.work.Spend(len(text))
	first := round(s.number(n, 1, at))
	end := math.Inf(1)
	if len(n.kids) == 3 {
		end = first + round(s.number(n, 2, at))
	}
	var b strings.Builder
	place := 0.0
	for _, r := range text {
		place++
		if place >= first && place < end {
			b.WriteRune(r)
		}
	}
	return textValue(b.String())
}

func startsWith(text, start string) Value {
	return truthValue(strings.HasPrefix(text, start))
}

func contains(text, part string) Value {
	return truthValue(strings.Contains(text, part))
}

func substringBefore(text, mark string) Value {
	before, _, found := strings.Cut(text, mark)
	if !found {
		return textValue("")
	}
	return textValue(before)
}

func substringAfter(text, mark string) Value {
	_, after, _ := strings.Cut(text, mark)
	return textValue(after)
}

// translate replaces each character of the second text by the one of the third at its place, or removes it.
func translate(s *Scope, n *node, at focus) Value {
	text, from, to := s.text(n, 0, at), s.text(n, 1, at), []rune(s.text(n, 2, at))
	s.work.Spend(len(text) + len(from) + len(to))
	const removed = -1
	meant := map[rune]rune{}
	for i, r := range []rune(from) {
		if _, known := meant[r]; known {
			continue
		}
		meant[r] = removed
		if i < len(to) {
			meant[r] = to[i]
		}
	}
	translated := strings.Map(func(r rune) rune {
		if replacement, known := meant[r]; known {
			return replacement
		}
		return r
	}, text)
	if !s.work.mayHold(len(translated)) {
		return zero(String)
	}
	return textValue(translated)
}
