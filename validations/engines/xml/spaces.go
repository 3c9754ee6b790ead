package xml

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// libxml2 refuses two sorts of values that XML Schema allows: dates, times and sized integers with white space around
// them, unless their type has facets, and numbers of more than 24 digits. A type that keeps white space accepts any
// text but for its facets, so xmllint says of no such value that it is none of its type. The engine answers such
// complaints with a second check of a document in which the values are written in another way: without the white
// space, and with a short number.

// valuePlace is a value that xmllint refuses: where it says that it is, and the value without white space around it.
type valuePlace struct {
	lintPlace
	attribute, value string
}

var (
	invalidAtom = regexp.MustCompile(`^'(?s:(.*))' is not a valid value of the (?:local )?atomic type(?: '(.*)')?\.$`)
	invalidName = regexp.MustCompile(`^The QName value '(?s:(\s.*|.*\s))' has no corresponding namespace`)
	plainNumber = regexp.MustCompile(`^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$`)
)

// maxDigits is how many digits of a number libxml2 reads.
const maxDigits = 24

// maxAcceptable bounds what is kept of them, to some 50 MB.
const maxAcceptable = 250_000

// unlimited are the types whose values may have any number of digits.
var unlimited = []string{
	"xs:decimal", "xs:integer", "xs:nonNegativeInteger", "xs:positiveInteger", "xs:nonPositiveInteger",
	"xs:negativeInteger",
}

// acceptable returns the place of a value if xmllint may refuse it only because of how it is written.
func (c *complaint) acceptable() (valuePlace, bool) {
	place := valuePlace{lintPlace: lintPlace{c.line, strings.Clone(c.element)}, attribute: strings.Clone(c.attribute)}
	if found := invalidName.FindStringSubmatch(c.sentence); found != nil && c.attribute == "type" {
		place.value = strings.Clone(strings.TrimSpace(found[1]))
		return place, true
	}
	found := invalidAtom.FindStringSubmatch(c.sentence)
	if found == nil {
		return place, false
	}
	place.value = strings.Clone(strings.TrimSpace(found[1]))
	isLong := slices.Contains(unlimited, found[2]) && hasManyDigits(place.value) &&
		(found[2] == "xs:decimal" || !strings.Contains(place.value, "."))
	return place, place.value != found[1] || isLong
}

// rewriter writes a document with other values at some places. All lines keep their numbers.
type rewriter struct {
	// refused counts how often xmllint refuses the values. A place where more of them are is ambiguous and stays.
	refused map[valuePlace]int
	found   map[valuePlace]int
	reader  *xmltext.Reader
	lines   *engine.Lines
	open    []*xmltext.Element
	leaf    bool
	edits   []edit
	// numbers are those which stand for numbers of many digits.
	numbers map[string]string
}

// edit replaces a part of the text.
type edit struct {
	place      valuePlace
	begin, end int
	with       string
}

// rewrite returns the document with values that xmllint refuses written as it accepts them, and what gives the numbers
// in its complaints their digits back.
func rewrite(text []byte, refused map[valuePlace]int, limits engine.Limits) ([]byte, *strings.Replacer) {
	w := &rewriter{
		refused: refused, found: map[valuePlace]int{}, numbers: map[string]string{},
		reader: xmltext.NewReader(text, limits), lines: engine.NewLines(text, limits.MaxExcerpt),
	}
	w.reader.Visit, w.reader.Follow = w.begin, w.follow
	_ = w.reader.Read() // It was read before.
	slices.SortFunc(w.edits, func(a, b edit) int { return a.begin - b.begin })
	var written bytes.Buffer
	at := 0
	for _, e := range w.edits {
		if w.found[e.place] != refused[e.place] {
			continue
		}
		written.Write(text[at:e.begin])
		written.WriteString(e.with)
		at = e.end
	}
	written.Write(text[at:])
	var pairs []string
	for number, standIn := range w.numbers {
		pairs = append(pairs, standIn, number)
	}
	return written.Bytes(), strings.NewReplacer(pairs...)
}

// begin rewrites the attributes of an element.
func (w *rewriter) begin(e *xmltext.Element, attributes []xml.Attr) *engine.ReadError {
	w.open = append(w.open, e)
	w.leaf = true
	for _, a := range attributes {
		place, wanted := w.wanted(e, a.Name.Local, a.Value)
		if !wanted {
			continue
		}
		tag := w.reader.Text[e.Start:e.End]
		begin, end := xmltext.AttributeValue(tag, xmltext.Written(a.Name))
		breaks := strings.Repeat("\n", bytes.Count(tag[begin:end], []byte("\n")))
		with := `"` + w.short(place.value) + `"` + breaks
		w.edits = append(w.edits, edit{place, e.Start + begin, e.Start + end, with})
	}
	return nil
}

// follow rewrites the text of an element without children, and moves the line breaks around it into its end tag.
func (w *rewriter) follow(token xml.Token, start int) {
	if _, ends := token.(xml.EndElement); !ends {
		return
	}
	e := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if w.leaf {
		w.rewriteText(e, start)
	}
	w.leaf = false
}

func (w *rewriter) rewriteText(e *xmltext.Element, end int) {
	text := w.reader.Text[e.End:max(e.End, end)]
	place, wanted := w.wanted(e, "", string(text))
	if !wanted {
		return
	}
	breaks := strings.Repeat("\n", bytes.Count(text, []byte("\n")))
	closed := w.reader.Offset() - len(">")
	w.edits = append(w.edits, edit{place, e.End, end, w.short(place.value)}, edit{place, closed, closed, breaks})
}

// wanted returns the place of a value as xmllint says it, and whether the value is to be written in another way. One
// with markup or references in it is not.
func (w *rewriter) wanted(e *xmltext.Element, attribute, written string) (valuePlace, bool) {
	value := strings.TrimSpace(written)
	line := min(w.lines.Line(e.End-1), lastLintLine)
	place := valuePlace{lintPlace{line, e.Name.Local}, attribute, value}
	if w.refused[place] == 0 || value == written && !hasManyDigits(value) || strings.ContainsAny(value, "<&\"") {
		return place, false
	}
	w.found[place]++
	return place, true
}

// short returns a value, or a number that xmllint reads instead of one with too many digits.
func (w *rewriter) short(value string) string {
	if !hasManyDigits(value) {
		return value
	}
	sign := value[:len(value)-len(strings.TrimLeft(value, "-"))]
	number := sign + strings.TrimLeft(value, "+-0")
	if w.numbers[number] == "" {
		w.numbers[number] = sign + standInPrefix + strconv.Itoa(firstStandIn+len(w.numbers))
	}
	return w.numbers[number]
}

// A number that stands for a longer one has 24 digits, with a last part from firstStandIn on. libxml2 prints each
// eight digits on their own and without leading zeros.
const (
	standInPrefix = "7171717171717171"
	firstStandIn  = 10_000_000
)

func hasManyDigits(value string) bool {
	digits := 0
	for _, r := range value {
		if '0' <= r && r <= '9' {
			digits++
		}
	}
	return digits > maxDigits && plainNumber.MatchString(value)
}
