package engine

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxMessage is the length of a message that a rule makes, in characters.
const MaxMessage = 500

// MaxQuoted is how much of a document's or configuration's own text a message repeats, in characters.
const MaxQuoted = 60

// printable makes a text fit to be stored and shown: databases refuse NUL and broken UTF-8. Line breaks stay.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// Clip cuts a text to what a message may repeat of it.
func Clip(text string) string {
	return ClipTo(text, MaxQuoted)
}

// ClipTo cuts a text to so many characters and makes it printable.
func ClipTo(text string, limit int) string {
	if len(text) <= limit {
		return printable(text)
	}
	head := []rune(text[:min(len(text), limit*utf8.UTFMax)])
	if len(head) > limit || len(text) > limit*utf8.UTFMax {
		return printable(string(head[:limit])) + "…"
	}
	return printable(text)
}

// Quote is clip in double quotes.
func Quote(text string) string {
	return `"` + Clip(text) + `"`
}

// Each returns what a function makes of each item of a list.
func Each[T, U any](list []T, of func(item T) U) []U {
	made := make([]U, len(list))
	for i, item := range list {
		made[i] = of(item)
	}
	return made
}

// Plural returns the count with the word for it.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Nearest returns the candidate that a mistyped name most likely means, or "".
func Nearest(name string, candidates []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	typed := []rune(strings.ToLower(name))
	best, bestDistance := "", 3
	for _, candidate := range candidates {
		if len(candidate) > longest {
			continue
		}
		distance := editDistance(typed, []rune(strings.ToLower(candidate)), bestDistance)
		if distance < bestDistance && distance*3 <= len(candidate) {
			best, bestDistance = candidate, distance
		}
	}
	if best == "" {
		return longerName(name, candidates)
	}
	return best
}

// longerName returns the one candidate that begins with a name, or "".
func longerName(name string, candidates []string) string {
	const telling = 4
	found := ""
	for _, candidate := range candidates {
		if len(name) < telling || !strings.HasPrefix(candidate, name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = candidate
	}
	return found
}

// editDistance is the number of characters to insert, remove, replace or swap with the next, or the limit where it is
// not below it. Documents can make it compare a million pairs, so it looks only at what can stay below the limit.
func editDistance(x, y []rune, limit int) int {
	if max(len(x)-len(y), len(y)-len(x)) >= limit {
		return limit
	}
	older, previous, current := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range previous {
		previous[j] = j
	}
	least := 0
	for i := range x {
		from, to := max(0, i-limit), min(len(y), i+limit+1)
		current[from] = min(i+1, limit)
		leastBefore := least
		least = current[from]
		for j := from; j < to; j++ {
			change := previous[j]
			if x[i] != y[j] {
				change++
			}
			current[j+1] = min(change, previous[j+1]+1, current[j]+1)
			if swapped(x, y, i, j) {
				current[j+1] = min(current[j+1], older[j-1]+1)
			}
			least = min(least, current[j+1])
		}
		if least >= limit && leastBefore >= limit {
			return limit
		}
		if to < len(y) {
			current[to+1] = limit
		}
		older, previous, current = previous, current, older
	}
	return min(previous[len(y)], limit)
}

// swapped reports whether the two characters that end at i and at j are transposed.
func swapped(x, y []rune, i, j int) bool {
	return i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j]
}

// AtLeast is the message of what is too short, with the word for what is counted.
func AtLeast(got, want int, one, many string) string {
	return fmt.Sprintf("has %s, at least %d needed", Plural(got, one, many), want)
}

// AtMost is the message of what is too long.
func AtMost(got, want int, one, many string) string {
	return fmt.Sprintf("has %s, at most %d allowed", Plural(got, one, many), want)
}

// DidYouMean ends a message about a mistyped name. It is empty where nothing is meant.
func DidYouMean(meant string) string {
	if meant == "" {
		return ""
	}
	return "; did you mean " + Clip(meant) + "?"
}

// NotAllowed is the message of a name that is not known, with the one that may be meant.
func NotAllowed(name string, candidates []string) string {
	return "not allowed" + DidYouMean(Nearest(name, candidates))
}

// BundleHint says how to put a file into a workflow whose name stands where its text belongs. It is empty for others.
func BundleHint(text string) string {
	const extension = 6
	dot := strings.LastIndexByte(text, '.')
	if dot < 0 || len(text)-dot > extension || strings.ContainsAny(text, " \n{<") {
		return ""
	}
	return "; to put the file " + Quote(text) + " here, run: simplevalidations workflows bundle"
}
