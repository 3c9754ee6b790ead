package xml

import (
	"context"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// schema is an XML Schema that xmllint is to check documents by.
type schema struct {
	text   []byte
	lint   xmllint
	limits engine.Limits
}

// complaint is one line of xmllint's output that is about the document.
type complaint struct {
	line      int
	element   string
	attribute string
	// subject and sentence are what the complaint is about and what xmllint says of it, empty for other complaints.
	subject  string
	sentence string
	finding  engine.Finding
	// placed says that exactly one element fits, ambiguous that several do.
	placed    bool
	ambiguous bool
}

// lintPlace is where a complaint of xmllint is: the line in which a start tag ends, and the name of the element.
type lintPlace struct {
	line    int
	element string
}

// complaints are what a run of xmllint says. Those beyond the limit are only counted.
type complaints struct {
	most     int
	list     []*complaint
	unlisted int
	// costly says that memory ran out.
	costly bool
}

// namespaceXSD is the namespace of the elements of XML Schema.
const namespaceXSD = "http://www.w3.org/2001/XMLSchema"

// schemaFault is a line of xmllint about the schema: its line there and the sentence.
var schemaFault = regexp.MustCompile(`^/dev/fd/3:(\d+): (?:.*?Schemas parser (?:error|warning) : |)(.*)$`)

// maxSchemaFaults is how many faults of a schema are reported at once.
const maxSchemaFaults = 20

func compileSchema(source string, limits engine.Limits) (*schema, []engine.ConfigError) {
	if len(source) > limits.MaxSchemaBytes {
		detail := fmt.Sprintf("the schema has %d bytes, at most %d are allowed", len(source), limits.MaxSchemaBytes)
		return nil, engine.Refuse("/schema", "schema.too_large", detail)
	}
	text, fault := readSchema(source, limits)
	if fault != nil {
		at := engine.NewLines(text, limits.MaxExcerpt).PlaceAt(engine.Finding{}, fault.At)
		detail := fmt.Sprintf("line %d, column %d: %s", at.Line, at.Column, fault.Message)
		return nil, engine.Refuse("/schema", fault.Code, detail)
	}
	lint, installed := findXMLLint(limits)
	if !installed {
		detail := "this server cannot check by XML Schema: the program xmllint is missing (Debian: libxml2-utils)"
		return nil, engine.Refuse("/schema", "xml.not_installed", detail)
	}
	return &schema{text: text, lint: lint, limits: limits}, nil
}

// readXMLSchema refuses what is no schema and what needs another file.
func readSchema(source string, limits engine.Limits) ([]byte, *engine.ReadError) {
	text := []byte(source)
	// A schema comes as part of a JSON text, so it is UTF-8 whatever its declaration says.
	xmltext.BlankDeclaration(text)
	r := xmltext.NewReader(text, limits)
	r.Visit = func(e *xmltext.Element, attributes []xml.Attr) *engine.ReadError {
		if len(r.Open) == 1 && (e.Namespace != namespaceXSD || e.Name.Local != "schema") {
			message := "the root element is not the schema element of XML Schema"
			return engine.ReadErrorAt("schema.invalid", message, e.Start)
		}
		if e.Namespace == namespaceXSD && opensFile(e.Name.Local, attributes) {
			message := "<" + xmltext.Written(e.Name) + "> names another file, which is not allowed: " +
				"put all into one schema"
			return engine.ReadErrorAt("schema.ref", message, e.Start)
		}
		return nil
	}
	return text, r.Read()
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
func (s *schema) try(ctx context.Context) ([]engine.ConfigError, error) {
	var faults []engine.ConfigError
	end, err := s.lint.run(ctx, s.text, []byte("<x/>"), func(line string) {
		if found := schemaFault.FindStringSubmatch(line); found != nil && len(faults) < maxSchemaFaults {
			detail := "line " + found[1] + ": " + engine.ClipTo(found[2], engine.MaxMessage)
			faults = append(faults, engine.NewConfigError("/schema", "schema.invalid", detail))
		}
	})
	switch {
	case err != nil:
		return nil, err
	case end == lintTooCostly:
		faults = engine.Refuse("/schema", "schema.too_large", "the schema takes too much time or memory to compile")
	case end == lintChecked:
		faults = nil
	case len(faults) == 0:
		faults = engine.Refuse("/schema", "schema.invalid", "the schema cannot be compiled")
	}
	return faults, nil
}

// check adds what a well-formed document fails.
func (s *schema) check(ctx context.Context, text []byte, c *engine.Collector) error {
	found := &complaints{most: s.limits.MaxFindings}
	end, err := s.lint.run(ctx, s.text, text, found.add)
	if err != nil {
		return err
	}
	if end == lintTooCostly || found.costly {
		message := "not evaluated: checking this document by this schema takes too much time or memory"
		c.Add("", engine.Failure("xml.not_evaluated", message))
		return nil
	}
	if end == lintSchemaInvalid || end == lintMalformed && len(found.list) == 0 {
		return fmt.Errorf("xmllint ended with %d and said nothing of the document", end)
	}
	if fault := found.locate(text, s.limits); fault != nil {
		return fmt.Errorf("read a document again: %w", fault)
	}
	for _, one := range found.list {
		c.Add(one.element, one.finding)
	}
	if found.unlisted > 0 {
		c.AddUnlisted(engine.CheckKey{Code: "xml.schema", Severity: engine.SeverityError}, found.unlisted)
	}
	return nil
}

// add reads one line of the output. Lines that are no complaint are parts of values with line breaks, or excerpts.
func (c *complaints) add(line string) {
	// An internal error is xmllint giving a pattern up that takes too much; it says nothing of the document.
	for _, sign := range []string{"out of memory", "Memory allocation failed", "Internal error: xmlSchema"} {
		c.costly = c.costly || strings.Contains(line, sign)
	}
	one, ok := readComplaint(line)
	if !ok {
		return
	}
	if len(c.list) >= c.most {
		c.unlisted++
		return
	}
	one.phrase()
	c.list = append(c.list, one)
}

// locate fills in paths and columns where only one element fits the line and the name that xmllint gives.
func (c *complaints) locate(text []byte, limits engine.Limits) *engine.ReadError {
	if len(c.list) == 0 {
		return nil
	}
	wanted := map[lintPlace][]*complaint{}
	for _, one := range c.list {
		key := lintPlace{one.line, one.element}
		wanted[key] = append(wanted[key], one)
	}
	lines := engine.NewLines(text, limits.MaxExcerpt)
	r := xmltext.NewReader(text, limits)
	r.Visit = func(e *xmltext.Element, _ []xml.Attr) *engine.ReadError {
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
	if fault := r.Read(); fault != nil {
		return fault
	}
	for _, one := range c.list {
		if !one.placed || one.ambiguous {
			one.finding = lines.PlaceLine(one.finding, one.line, 0)
			one.finding.Path = ""
		}
	}
	return nil
}

func (c *complaint) place(e *xmltext.Element, path string, lines *engine.Lines) {
	c.ambiguous = c.placed
	c.placed = true
	c.finding = lines.Place(c.finding, e.Start)
	c.finding.Path = path
	if c.attribute != "" {
		c.finding.Path += "/@" + c.attribute
	}
}
