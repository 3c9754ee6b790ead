package engines

import (
	"context"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
)

// xmlSchema is an XML Schema that xmllint is to check documents by.
type xmlSchema struct {
	text    []byte
	lint    xmllint
	wording xmlWording
	limits  Limits
}

// complaint is one line of xmllint's output that is about the document.
type complaint struct {
	line      int
	element   string
	attribute string
	// subject and sentence are what the complaint is about and what xmllint says of it, empty for other complaints.
	subject  string
	sentence string
	finding  Finding
	// placed says that exactly one element fits, ambiguous that several do.
	placed    bool
	ambiguous bool
}

// lintPlace is what xmllint tells of a place: the line in which a start tag ends, and the name of the element.
type lintPlace struct {
	line    int
	element string
}

// complaints are what a run of xmllint says. Those beyond the limit are only counted.
type complaints struct {
	wording  xmlWording
	most     int
	list     []*complaint
	unlisted int
	// costly says that memory ran out.
	costly bool
}

// maxSchemaFaults is how many faults of a schema are told at once.
const maxSchemaFaults = 20

func compileXMLSchema(source string, limits Limits) (*xmlSchema, []ConfigError) {
	if len(source) > limits.MaxSchemaBytes {
		detail := fmt.Sprintf("the schema has %d bytes, at most %d are allowed", len(source), limits.MaxSchemaBytes)
		return nil, []ConfigError{{"/schema", "schema.too_large", detail}}
	}
	text, fault := readXMLSchema(source, limits)
	if fault != nil {
		at := newLineIndex(text, limits.MaxExcerpt).placeAt(Finding{}, fault.at)
		detail := fmt.Sprintf("line %d, column %d: %s", at.Line, at.Column, fault.message)
		return nil, []ConfigError{{"/schema", fault.code, detail}}
	}
	lint, installed := findXMLLint(limits)
	if !installed {
		detail := "this server cannot check by XML Schema: the program xmllint is missing (Debian: libxml2-utils)"
		return nil, []ConfigError{{"/schema", "xml.not_installed", detail}}
	}
	return &xmlSchema{text: text, lint: lint, wording: newXMLWording(), limits: limits}, nil
}

// readXMLSchema refuses what is no schema and what needs another file.
func readXMLSchema(source string, limits Limits) ([]byte, *treeError) {
	text := []byte(source)
	if declaration := regexp.MustCompile(xmlDeclaration).Find(text); declaration != nil {
		// A schema comes as part of a JSON text, so it is UTF-8 whatever its declaration says.
		blank(declaration)
	}
	r := newXMLReader(text, limits)
	r.visit = func(e *xmlElement, attributes []xml.Attr) *treeError {
		if len(r.open) == 1 && (e.namespace != namespaceXSD || e.name.Local != "schema") {
			message := "the root element is not the schema element of XML Schema"
			return &treeError{"schema.invalid", message, position{offset: e.start}}
		}
		if e.namespace == namespaceXSD && opensFile(e.name.Local, attributes) {
			message := "<" + written(e.name) + "> names another file, which is not allowed: put all into one schema"
			return &treeError{"schema.ref", message, position{offset: e.start}}
		}
		return nil
	}
	return text, r.read()
}

// opensFile says whether an element of a schema makes the validator open another file.
func opensFile(element string, attributes []xml.Attr) bool {
	switch element {
	case "include", "redefine", "override":
		return true
	case "import":
		for _, a := range attributes {
			if a.Name.Local == "schemaLocation" {
				return true
			}
		}
	}
	return false
}

// try checks an empty document once, to learn whether the schema compiles.
func (s *xmlSchema) try(ctx context.Context) ([]ConfigError, error) {
	var faults []ConfigError
	complained := regexp.MustCompile(`^/dev/fd/3:(\d+): (?:.*?Schemas parser (?:error|warning) : |)(.*)$`)
	end, err := s.lint.run(ctx, s.text, []byte("<x/>"), func(line string) {
		if found := complained.FindStringSubmatch(line); found != nil && len(faults) < maxSchemaFaults {
			detail := "line " + found[1] + ": " + clipTo(found[2], maxMessage)
			faults = append(faults, ConfigError{"/schema", "schema.invalid", detail})
		}
	})
	switch {
	case err != nil:
		return nil, err
	case end == lintTooCostly:
		faults = []ConfigError{{"/schema", "schema.too_large", "the schema takes too much time or memory to compile"}}
	case end == lintChecked:
		faults = nil
	case len(faults) == 0:
		faults = []ConfigError{{"/schema", "schema.invalid", "the schema cannot be compiled"}}
	}
	return faults, nil
}

// check adds what a well-formed document fails.
func (s *xmlSchema) check(ctx context.Context, text []byte, c *collector) error {
	found := &complaints{wording: s.wording, most: s.limits.MaxFindings}
	end, err := s.lint.run(ctx, s.text, text, found.add)
	if err != nil {
		return err
	}
	if end == lintTooCostly || found.costly {
		message := "not evaluated: checking this document by this schema takes too much time or memory"
		c.add("", Finding{Severity: SeverityError, Code: "xml.not_evaluated", Message: message})
		return nil
	}
	if end == lintSchemaInvalid || end == lintMalformed && len(found.list) == 0 {
		return fmt.Errorf("xmllint ended with %d and said nothing of the document", end)
	}
	if fault := found.locate(text, s.limits); fault != nil {
		return fmt.Errorf("read a document again: %w", fault)
	}
	for _, one := range found.list {
		c.add(one.element, one.finding)
	}
	if found.unlisted > 0 {
		c.addUnlisted(checkKey{code: "xml.schema", severity: SeverityError}, found.unlisted)
	}
	return nil
}

// add reads one line of the output. Lines that are no complaint are parts of values with line breaks, or excerpts.
func (c *complaints) add(line string) {
	// An internal error is xmllint giving a pattern up that takes too much; it says nothing of the document.
	for _, sign := range []string{"out of memory", "Memory allocation failed", "Internal error: xmlSchema"} {
		c.costly = c.costly || strings.Contains(line, sign)
	}
	one, ok := c.wording.read(line)
	if !ok {
		return
	}
	if len(c.list) >= c.most {
		c.unlisted++
		return
	}
	c.wording.phrase(one)
	c.list = append(c.list, one)
}

// locate fills in paths and columns where one element alone fits what xmllint tells of the place.
func (c *complaints) locate(text []byte, limits Limits) *treeError {
	if len(c.list) == 0 {
		return nil
	}
	wanted := map[lintPlace][]*complaint{}
	for _, one := range c.list {
		key := lintPlace{one.line, one.element}
		wanted[key] = append(wanted[key], one)
	}
	lines := newLineIndex(text, limits.MaxExcerpt)
	r := newXMLReader(text, limits)
	r.visit = func(e *xmlElement, _ []xml.Attr) *treeError {
		key := lintPlace{lines.line(e.end - 1), e.name.Local}
		for _, one := range wanted[key] {
			one.place(e, r.path(), lines)
			if one.ambiguous {
				// A third element of this name tells nothing more.
				delete(wanted, key)
			}
		}
		return nil
	}
	if fault := r.read(); fault != nil {
		return fault
	}
	for _, one := range c.list {
		if !one.placed || one.ambiguous {
			one.finding = lines.placeLine(one.finding, one.line, 0)
			one.finding.Path = ""
		}
	}
	return nil
}

func (c *complaint) place(e *xmlElement, path string, lines *lineIndex) {
	c.ambiguous = c.placed
	c.placed = true
	c.finding = lines.place(c.finding, e.start)
	c.finding.Path = path
	if c.attribute != "" {
		c.finding.Path += "/@" + c.attribute
	}
}
