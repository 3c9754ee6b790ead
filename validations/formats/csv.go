package formats

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// CSV writes one row for each finding (RFC 4180). A text that a spreadsheet would read as a formula is prefixed with an
// apostrophe.
func CSV(v Verdict) ([]byte, error) {
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	w.UseCRLF = true
	err := w.Write([]string{
		"document", "run", "step", "severity", "code", "message", "path", "line", "column", "row", "count", "excerpt",
		"assertion_id",
	})
	for f := range v.items() {
		err = errors.Join(err, w.Write([]string{
			Cell(f.document.Name), Cell(f.document.Run), Cell(f.step.Name), string(f.Severity), Cell(f.Code),
			Cell(f.Message), Cell(f.Path), known(f.Line), known(f.Column), known(f.Row), strconv.Itoa(f.Count),
			Cell(f.Excerpt), Cell(f.AssertionID),
		}))
	}
	w.Flush()
	if err := errors.Join(err, w.Error()); err != nil {
		return nil, fmt.Errorf("write a table of findings: %w", err)
	}
	return table.Bytes(), nil
}

// Cell escapes a text that begins like a formula. Spreadsheets skip spaces of all kinds and what has no width, and take
// full-width forms for the signs.
func Cell(text string) string {
	text = Clean(text)
	shown := strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	})
	if strings.IndexAny(shown, "=+-@＝＋－＠") == 0 {
		return "'" + text
	}
	return text
}

// known formats a number, or "" if it is unknown.
func known(number int) string {
	if number == 0 {
		return ""
	}
	return strconv.Itoa(number)
}
