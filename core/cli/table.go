package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// columnGap is the number of spaces between two columns.
const columnGap = 2

// WriteTable writes rows in aligned columns. Cells may hold what a client has sent, so they are cleaned.
func WriteTable(w io.Writer, rows ...[]string) error {
	table := tabwriter.NewWriter(w, 0, 0, columnGap, ' ', 0)
	var problems []error
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Clean(cell)
		}
		_, err := fmt.Fprintln(table, strings.Join(cells, "\t"))
		problems = append(problems, err)
	}
	return errors.Join(append(problems, table.Flush())...)
}

// Clean makes a text safe for a line of a terminal or a log. Control characters and those that mislead become U+FFFD;
// line ends and tabs become spaces.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), Misleads(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// Misleads reports whether a character makes a text look like another one: it turns the direction of writing, as in a
// name that ends in "gpj.exe" and is shown with "exe.jpg" at its end, or has no width. Joiners and direction marks are
// none of them, because some scripts and emoji cannot be written without.
func Misleads(r rune) bool {
	switch {
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	case r == '\u200b', r == '\u2060', r == '\ufeff':
		return true
	}
	return false
}
