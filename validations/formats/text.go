package formats

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TextOptions configures the text format.
type TextOptions struct {
	// MaxFindings bounds the findings that are shown. 0 means all.
	MaxFindings int
	Color       bool
	// Quiet leaves out the documents that passed without findings and without skipped steps.
	Quiet bool
}

// The colors of terminals.
const (
	colorRed    = "\x1b[31m"
	colorYellow = "\x1b[33m"
	colorGreen  = "\x1b[32m"
	colorDim    = "\x1b[2m"
	colorOff    = "\x1b[0m"
)

// textWriter writes a verdict for people.
type textWriter struct {
	bytes.Buffer
	options TextOptions
	shown   int
	hidden  int
}

// Text writes the verdict for people: a line for each document, then its findings with their position and the marked
// line of the document.
func Text(v Verdict, options TextOptions) []byte {
	w := &textWriter{options: options}
	for i := range v.Documents {
		if !options.Quiet || v.Documents[i].deservesWords() {
			w.document(&v.Documents[i])
		}
	}
	if len(v.Documents) > 1 {
		failed := 0
		for _, document := range v.Documents {
			if document.Result != api.RunResultPass {
				failed++
			}
		}
		fmt.Fprintf(w, "%d of %d documents passed, %s\n",
			len(v.Documents)-failed, len(v.Documents), countWords(v.Counts()))
	}
	if w.hidden > 0 {
		fmt.Fprintf(w, "%d more findings are not shown; see them all with --max-findings 0\n", w.hidden)
	}
	return w.Bytes()
}

func (w *textWriter) document(d *Document) {
	headings := map[api.RunResult][2]string{
		api.RunResultPass: {"✓ PASSED", colorGreen}, api.RunResultFail: {"✗ FAILED", colorRed},
		api.RunResultError: {"! ERROR", colorRed}, api.RunResultTimedOut: {"! TIMED OUT", colorRed},
	}
	heading, known := headings[d.Result]
	if !known {
		heading = [2]string{"! " + string(d.Result), colorYellow}
	}
	skipped := ""
	if n := d.skipped(); n > 0 {
		skipped = ", " + core.Plural(n, "step") + " SKIPPED"
	}
	fmt.Fprintf(w, "%s  %s  %s%s\n", w.colored(heading[1], heading[0]), Clean(d.Name), countWords(d.Counts()), skipped)
	if d.Error != "" {
		fmt.Fprintf(w, "  %s\n", Clean(d.Error))
	}
	for i := range d.Steps {
		step := &d.Steps[i]
		if step.Status == api.StepStatusSkipped {
			fmt.Fprintf(w, "  %s %s: %s\n", w.colored(colorYellow, "– SKIPPED"), Clean(step.Name), Clean(step.Note))
		}
		for _, finding := range step.Findings {
			w.finding(item{d, step, finding})
		}
		if step.Truncated {
			fmt.Fprintf(w, "  step %s found more than it lists: %s in all\n", Clean(step.Name), countWords(step.Counts))
		}
	}
}

func (w *textWriter) finding(f item) {
	if w.options.MaxFindings > 0 && w.shown == w.options.MaxFindings {
		w.hidden++
		return
	}
	w.shown++
	severity := ""
	switch f.Severity {
	case engines.SeverityWarning:
		severity = w.colored(colorYellow, "warning: ")
	case engines.SeverityInfo:
		severity = "info: "
	case engines.SeverityError:
	}
	fmt.Fprintf(w, "%s   %s%s   %s\n",
		Clean(f.place()), severity, Clean(sentence(f.Finding)), w.colored(colorDim, Clean(f.Code)))
	if f.Line == 0 || f.Excerpt == "" {
		return
	}
	number := strconv.Itoa(f.Line)
	margin := strings.Repeat(" ", max(6, len(number)+2))
	fmt.Fprintf(w, "%*s │ %s\n", len(margin)-1, number, Clean(f.Excerpt))
	if at, length := Mark(f.Finding); length > 0 {
		carets := w.colored(colorRed, strings.Repeat("^", length))
		fmt.Fprintf(w, "%s│ %s%s\n", margin, strings.Repeat(" ", at), carets)
	}
}

func (w *textWriter) colored(color, text string) string {
	if !w.options.Color {
		return text
	}
	return color + text + colorOff
}

// Mark returns the offset of a finding in its excerpt and the estimated length of the value there, in characters. The
// length is 0 if the position is unknown.
func Mark(f engines.Finding) (int, int) {
	if f.Column == 0 {
		return 0, 0
	}
	if WholeLine(f) {
		return 0, utf8.RuneCountInString(f.Excerpt)
	}
	// In the excerpt of a long line, the finding is in the middle.
	at := min(f.Column-1, engines.DefaultLimits().MaxExcerpt/2)
	excerpt := []rune(f.Excerpt)
	if at >= len(excerpt) {
		return at, 1
	}
	return at, valueLength(string(excerpt[at:]))
}

// WholeLine reports whether a finding is about a whole line, although it has the column of the line's beginning.
func WholeLine(f engines.Finding) bool { return f.Column == 0 || f.Code == "csv.row.field_count" }

// valueLength returns the length of the value at the beginning of a text: up to its closing quote, or up to a
// separator. The length of an object or a list is that of its bracket.
func valueLength(text string) int {
	length := strings.IndexAny(text, ",; \t]})>")
	switch text[0] {
	case '{', '[', '<':
		return 1
	case '"', '\'':
		if end := strings.IndexByte(text[1:], text[0]); end >= 0 {
			length = end + len(`""`)
		}
	}
	if length < 0 {
		length = len(text)
	}
	// The colon after a key in YAML is not part of the key, but those of a time are part of its value.
	return max(1, utf8.RuneCountInString(strings.TrimSuffix(text[:length], ":")))
}

// place returns the position in the form file:line:column, which editors and terminals understand.
func (f item) place() string {
	place := f.document.Name
	if f.Line > 0 {
		place += ":" + strconv.Itoa(f.Line)
	}
	if f.Column > 0 {
		place += ":" + strconv.Itoa(f.Column)
	}
	return place
}

// countWords writes counts out, such as "8 errors, 0 warnings".
func countWords(c api.Counts) string {
	words := core.Plural(c.Errors, "error") + ", " + core.Plural(c.Warnings, "warning")
	if c.Infos > 0 {
		words += ", " + core.Plural(c.Infos, "note")
	}
	return words
}
