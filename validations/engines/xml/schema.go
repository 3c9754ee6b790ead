package xml

import (
	"context"
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/program"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// schema is an XML Schema that xmllint is to check documents by.
type schema struct {
	bundle *xmltext.Bundle
	// forms are the texts in equivalent forms, the fastest first and the schema as it was written last.
	forms [][][]byte
	// form is the first of them that xmllint has not refused.
	form    atomic.Int32
	xmllint program.Command
	limits  engine.Limits
}

// complaint is one line of xmllint's output that is about the document.
type complaint struct {
	lintPlace

	attribute string
	// subject and sentence are what the complaint is about and what xmllint says of it, empty for other complaints. The
	// space is the namespace of the subject.
	subject  string
	space    string
	sentence string
	// tail is the last line of a sentence that is too long to be kept.
	tail    string
	finding engine.Finding
	// placed says that exactly one element fits, ambiguous that several do.
	placed    bool
	ambiguous bool
}

// lintPlace is where a complaint of xmllint is: the line in which a start tag ends, and the name of the element.
type lintPlace struct {
	line    int
	element string
}

// lastLintLine is the line from which on libxml2 guesses: an element has 16 bits for its line.
const lastLintLine = 1<<16 - 1

// complaints are what a run of xmllint says. Those beyond the limit are only counted.
type complaints struct {
	most     int
	list     []*complaint
	unlisted int
	// open is the last complaint, to which lines may follow that belong to it.
	open *complaint
	// acceptable are the values that xmllint may refuse only because of how they are written.
	acceptable map[valuePlace]int
	// last is the last line, which is xmllint's verdict in the end, and continued says that it begins no complaint.
	last      string
	continued bool
	// costly says that xmllint spoke of memory that ran out before it complained of the document.
	costly bool
}

// schemaFault is a line of xmllint about the schema: the file of the child, the line there and the sentence.
var schemaFault = regexp.MustCompile(`^/dev/fd/(\d+):(\d+): (?:.*?Schemas parser (?:error|warning) : |)(.*)$`)

// schemaFile is the name of a file of the child within a sentence.
var schemaFile = regexp.MustCompile(`/dev/fd/(\d+)`)

// maxSchemaFaults is how many faults of a schema are reported at once.
const maxSchemaFaults = 20

func compileSchema(c Config, limits engine.Limits) (*schema, []engine.ConfigError) {
	bundle, faults := xmltext.ReadBundle(c.Schema, c.Schemas, limits)
	if len(faults) > 0 {
		return nil, faults
	}
	xmllint, installed := findXMLLint(limits)
	if !installed {
		detail := "this server cannot check by XML Schema: the program xmllint is missing (Debian: libxml2-utils)"
		return nil, engine.Refuse("/schema", "xml.not_installed", detail)
	}
	written := bundle.Texts(program.FileName)
	return &schema{bundle: bundle, forms: formsOf(written, limits), xmllint: xmllint, limits: limits}, nil
}

// formsOf returns texts in equivalent forms, the fastest first and as they were written last.
func formsOf(written [][]byte, limits engine.Limits) [][][]byte {
	forms := make([][][]byte, xmltext.Forms, xmltext.Forms+1)
	for _, text := range written {
		for i, form := range xmltext.Simplify(text, limits) {
			forms[i] = append(forms[i], form)
		}
	}
	return append(forms, written)
}

// try checks an empty document once, to learn whether the schema compiles. It does so as it was written, and in its
// fastest form where libxml2 cannot compile it within its limits.
func (s *schema) try(ctx context.Context) ([]engine.ConfigError, error) {
	faults, end, err := s.tryForm(ctx, len(s.forms)-1)
	if err == nil && (end == lintOutOfTime || end == lintOutOfMemory) {
		faults, end, err = s.tryForm(ctx, 0)
	}
	switch {
	case err != nil:
		return nil, err
	case end == lintOutOfTime, end == lintOutOfMemory:
		faults = engine.Refuse("/schema", "schema.too_large", "the schema takes too much time or memory to compile")
	case end == lintChecked:
		faults = nil
	case len(faults) == 0:
		faults = engine.Refuse("/schema", "schema.invalid", "the schema cannot be compiled")
	}
	return faults, nil
}

func (s *schema) tryForm(ctx context.Context, form int) ([]engine.ConfigError, lintEnd, error) {
	var faults []engine.ConfigError
	end, err := s.lint(ctx, s.forms[form], []byte("<x/>"), func(line string) {
		if fault, ok := s.fault(line); ok && len(faults) < maxSchemaFaults {
			faults = append(faults, fault)
		}
	})
	return faults, end, err
}

// fault reads a line of output that is about the schema.
func (s *schema) fault(line string) (engine.ConfigError, bool) {
	found := schemaFault.FindStringSubmatch(line)
	if found == nil {
		return engine.ConfigError{}, false
	}
	index, _ := strconv.Atoi(found[1]) // They are digits.
	number, _ := strconv.Atoi(found[2])
	if index < program.FirstFile {
		return engine.ConfigError{}, false
	}
	names := s.bundle.Names()
	sentence := schemaFile.ReplaceAllStringFunc(found[3], func(file string) string {
		number, _ := strconv.Atoi(file[strings.LastIndexByte(file, '/')+1:])
		if number <= program.FirstFile || number-program.FirstFile >= len(names) {
			return "schema"
		}
		return names[number-program.FirstFile]
	})
	return s.bundle.Fault(index-program.FirstFile, number, engine.ClipTo(sentence, engine.MaxMessage)), true
}

// check adds what a well-formed document fails.
func (s *schema) check(ctx context.Context, text []byte, c *engine.Collector) error {
	found, err := s.lintDocument(ctx, text)
	if err != nil {
		return err
	}
	for _, one := range found.list {
		one.phrase(s.bundle)
	}
	ids, err := s.readIdentifiers(text)
	if err != nil {
		return err
	}
	ids.rephrase(found.list)
	unlisted := ids.sort(s.limits.MaxFindings)
	found.locate(text, ids.faults, s.limits)
	for _, one := range found.list {
		c.Add(one.element, one.finding)
	}
	for _, one := range ids.faults {
		c.Add(one.local, one.finding)
	}
	if more := found.unlisted + unlisted; more > 0 {
		c.AddFolded("", engine.Failure("xml.schema", ""), more, nil)
	}
	return nil
}

// lintDocument returns what xmllint complains of, if it comes to an end.
func (s *schema) lintDocument(ctx context.Context, text []byte) (*complaints, error) {
	found, end, err := s.lintBySimplest(ctx, text)
	if err == nil && end == lintChecked && len(found.acceptable) > 0 {
		found, end, err = s.lintRewritten(ctx, text, found.acceptable)
	}
	switch {
	case err != nil:
		return nil, err
	case end == lintOutOfTime:
		return nil, s.xmllint.OutOfTime()
	case found.last == gaveUp:
		return nil, exhausted("has a pattern or a content model that takes too much work")
	case end == lintOutOfMemory, found.costly:
		return nil, s.xmllint.OutOfMemory()
	case end == lintSchemaInvalid, end == lintMalformed && len(found.list) == 0:
		return nil, fmt.Errorf("xmllint ended with %d and said nothing of the document", end)
	}
	return found, nil
}

func exhausted(format string, values ...any) error {
	return &engine.ExhaustedError{Reason: fmt.Sprintf(format, values...)}
}

// lintBySimplest checks a document by the fastest form of the schema that xmllint accepts.
func (s *schema) lintBySimplest(ctx context.Context, text []byte) (*complaints, lintEnd, error) {
	for {
		form := s.form.Load()
		found := &complaints{most: s.limits.MaxFindings, acceptable: map[valuePlace]int{}}
		end, err := s.lint(ctx, s.forms[form], text, found.add)
		found.finish()
		if err != nil || end != lintSchemaInvalid || int(form) == len(s.forms)-1 {
			return found, end, err
		}
		s.form.CompareAndSwap(form, form+1)
	}
}

// lintRewritten checks a document with some of its values written in another way.
func (s *schema) lintRewritten(
	ctx context.Context, text []byte, refused map[valuePlace]int,
) (*complaints, lintEnd, error) {
	if len(refused) > maxAcceptable {
		return nil, 0, exhausted("has more than %d values with white space around them", maxAcceptable)
	}
	rewritten, numbers := rewrite(text, refused, s.limits)
	found, end, err := s.lintBySimplest(ctx, rewritten)
	if found != nil {
		for _, one := range found.list {
			one.sentence = numbers.Replace(one.sentence)
		}
	}
	return found, end, err
}

// gaveUp is the verdict of xmllint on a document with a value that is too much work for its pattern.
const gaveUp = "- validation generated an internal error"

// add reads one line of the output. Lines that are no complaint are parts of values with line breaks, or excerpts. A
// value stands behind the complaint about it, so what is said before the first complaint is xmllint's own.
func (c *complaints) add(line string) {
	// The last line is the verdict, so a line belongs to a complaint only if another one follows it.
	if c.open != nil && c.continued {
		c.open.goOn(c.last)
	}
	c.last = line
	c.continued = !lintLine.MatchString(line)
	if len(c.list) == 0 {
		for _, sign := range []string{"out of memory", "Memory allocation failed"} {
			c.costly = c.costly || strings.Contains(line, sign)
		}
	}
	if strings.Contains(line, "Schemas validity error : Internal error: xmlSchema") {
		return
	}
	if c.continued {
		return
	}
	c.finish()
	one, ok := readComplaint(line)
	if !ok {
		return
	}
	c.open = one
	if len(c.list) >= c.most {
		c.unlisted++
		return
	}
	c.list = append(c.list, one)
}

// finish looks at the last complaint, to which no line follows.
func (c *complaints) finish() {
	if c.open == nil {
		return
	}
	if place, ok := c.open.acceptable(); ok && len(c.acceptable) <= maxAcceptable {
		c.acceptable[place]++
	}
	c.open = nil
}

// locate fills in paths and columns: those of identifiers, which are in the order of the document, and those of
// complaints where only one element fits the line and the name that xmllint gives.
func (c *complaints) locate(text []byte, identifiers []*identifierFault, limits engine.Limits) {
	if len(c.list) == 0 && len(identifiers) == 0 {
		return
	}
	wanted := map[lintPlace][]*complaint{}
	for _, one := range c.list {
		if one.line >= lastLintLine {
			one.finding.Message += fmt.Sprintf(" (after line %d, where xmllint stops counting)", lastLintLine-1)
			continue
		}
		wanted[one.lintPlace] = append(wanted[one.lintPlace], one)
	}
	lines := engine.NewLines(text, limits.MaxExcerpt)
	r := xmltext.NewReader(text, limits)
	r.Visit = func(e *xmltext.Element, _ []xml.Attr) *engine.ReadError {
		for ; len(identifiers) > 0 && identifiers[0].element == e.Start; identifiers = identifiers[1:] {
			one := identifiers[0]
			one.local, one.finding = e.Name.Local, lines.Place(one.finding, e.Start)
			one.finding.Path = pathOf(r.Path(), one.attribute)
		}
		key := lintPlace{lines.Line(e.End - 1), e.Name.Local}
		for _, one := range wanted[key] {
			one.place(e, r.Path(), lines)
			if one.ambiguous {
				// A third element of this name changes nothing.
				delete(wanted, key)
			}
		}
		return nil
	}
	_ = r.Read() // It was read before.
	for _, one := range c.list {
		one.placeByLine(lines)
	}
}

// placeByLine leaves the complaint the line that xmllint gives where no one element was found.
func (c *complaint) placeByLine(lines *engine.Lines) {
	if (!c.placed || c.ambiguous) && c.line < lastLintLine {
		c.finding = lines.PlaceLine(c.finding, c.line, 0)
		c.finding.Path = ""
	}
}

func (c *complaint) place(e *xmltext.Element, path string, lines *engine.Lines) {
	c.ambiguous = c.placed
	c.placed = true
	c.finding = lines.Place(c.finding, e.Start)
	c.finding.Path = pathOf(path, c.attribute)
}

// pathOf is the path of an element, or of its attribute where there is one.
func pathOf(element, attribute string) string {
	if attribute == "" {
		return element
	}
	return element + "/@" + attribute
}
