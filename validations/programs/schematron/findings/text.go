package findings

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The lengths of what a message repeats of a document or a configuration, of a message, and of a place or a rule, in
// characters. An answer of the program is bounded as well.
const (
	MaxQuoted  = 60
	MaxMessage = 500
	MaxPath    = 1000
	MaxRule    = 5000
)

// Clip cuts a text to what a message may repeat of it.
func Clip(text string) string {
	return ClipTo(text, MaxQuoted)
}

// ClipTo cuts a text to so many characters and makes it printable: databases refuse NUL and broken UTF-8.
func ClipTo(text string, limit int) string {
	if cut := firstRunes(text, limit); len(cut) < len(text) {
		return printable(cut) + "…"
	}
	return printable(text)
}

func firstRunes(text string, n int) string {
	for at := range text {
		if n == 0 {
			return text[:at]
		}
		n--
	}
	return text
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// Quote is Clip in double quotes.
func Quote(text string) string {
	return `"` + Clip(text) + `"`
}

// Plural returns the count with the word for it.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// NotAllowed is the message of a name that is not known, with the one that may be meant.
func NotAllowed(name string, candidates []string) string {
	if meant := Nearest(name, candidates); meant != "" {
		return "not allowed; did you mean " + Clip(meant) + "?"
	}
	return "not allowed"
}

// Nearest returns the candidate that a mistyped name most likely means, or "". It differs by two slips at most, or is
// the only one that begins with the name.
func Nearest(name string, candidates []string) string {
	const longest, telling, slips, share = 64, 4, 2, 3
	if len(name) > longest {
		return ""
	}
	best, bestDistance, longer := "", slips+1, []string{}
	typed := []rune(strings.ToLower(name))
	for _, candidate := range candidates {
		if len(candidate) > longest {
			continue
		}
		if len(name) >= telling && strings.HasPrefix(candidate, name) {
			longer = append(longer, candidate)
		}
		if max(len(candidate)-len(name), len(name)-len(candidate)) > slips*utf8.UTFMax {
			continue
		}
		distance := editDistance(typed, []rune(strings.ToLower(candidate)))
		if distance < bestDistance && distance*share <= len(candidate) {
			best, bestDistance = candidate, distance
		}
	}
	if best == "" && len(longer) == 1 {
		return longer[0]
	}
	return best
}

// editDistance is the number of characters to insert, remove, replace or swap with the next.
func editDistance(x, y []rune) int {
	older, previous, current := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range x {
		current[0] = i + 1
		for j := range y {
			change := previous[j]
			if x[i] != y[j] {
				change++
			}
			current[j+1] = min(change, previous[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				current[j+1] = min(current[j+1], older[j-1]+1)
			}
		}
		older, previous, current = previous, current, older
	}
	return previous[len(y)]
}
