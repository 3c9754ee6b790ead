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
			cell(f.document.Name), cell(f.document.Run), cell(f.step.Name), string(f.Severity), cell(f.Code),
			cell(f.Message), cell(f.Path), known(f.Line), known(f.Column), known(f.Row), strconv.Itoa(f.Count),
			cell(f.Excerpt), cell(f.AssertionID),
		}))
	}
	w.Flush()
	if err := errors.Join(err, w.Error()); err != nil {
		return nil, fmt.Errorf("write a table of findings: %w", err)
	}
	return table.Bytes(), nil
}

// cell escapes a text that begins like a formula. Spreadsheets skip spaces of all kinds and what has no width, and take
// full-width forms for the signs.
func cell(text string) string {
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
