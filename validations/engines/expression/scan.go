package expression

import (
	"fmt"
	"strings"
)

// code is the text of an expression. In masked, each character of a text in quotes and of a comment is a space, so that
// what is found there is part of the expression itself.
type code struct {
	plain, masked []rune
	// open is where a text in quotes begins that has no end, -1 for nowhere.
	open int
}

func scan(source string) code {
	plain := []rune(source)
	c := code{plain: plain, masked: []rune(source), open: -1}
	for at := 0; at < len(plain); {
		switch {
		case plain[at] == '"' || plain[at] == '\'':
			end := c.endOfText(at)
			if end < 0 {
				c.open = at
				end = len(plain)
			}
			c.mask(at+1, end-1)
			at = end
		case plain[at] == '/' && at+1 < len(plain) && plain[at+1] == '/':
			end := at
			for end < len(plain) && plain[end] != '\n' {
				end++
			}
			c.mask(at, end)
			at = end
		default:
			at++
		}
	}
	return c
}

// endOfText is where a text ends that begins with the quote at an index, or -1. Tripled quotes go over several lines.
func (c code) endOfText(at int) int {
	quote := c.plain[at]
	triple := strings.Repeat(string(quote), 3)
	if strings.HasPrefix(string(c.plain[at:min(at+3, len(c.plain))]), triple) {
		end := strings.Index(string(c.plain[at+3:]), triple)
		if end < 0 {
			return -1
		}
		return at + 3 + len([]rune(string(c.plain[at+3:])[:end])) + 3
	}
	raw := at > 0 && strings.ContainsRune("rR", c.plain[at-1])
	for i := at + 1; i < len(c.plain); i++ {
		switch c.plain[i] {
		case quote:
			return i + 1
		case '\n':
			return -1
		case '\\':
			if !raw {
				i++
			}
		}
	}
	return -1
}

func (c code) mask(from, to int) {
	for i := from; i < to; i++ {
		c.masked[i] = ' '
	}
}

// bracket returns the first bracket that is not closed, or that closes none, and what to say of it.
func (c code) bracket() (int, string) {
	closing := map[rune]rune{'(': ')', '[': ']', '{': '}'}
	var open []int
	for i, r := range c.masked {
		switch r {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			if len(open) == 0 {
				return i, `"` + string(r) + `" closes nothing`
			}
			last := open[len(open)-1]
			if wanted := closing[c.masked[last]]; wanted != r {
				return i, fmt.Sprintf(`"%c" is closed by "%c"; write "%c"`, c.masked[last], r, wanted)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		return last, `"` + string(c.masked[last]) + `" is not closed`
	}
	return -1, ""
}
