package ifc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed" // for the tables
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// tables has all schemas in the form that Write gives them.
//
//go:embed tables.gz
var tables string

// The tables are text: a line with the names of the schemas, then a line for each different class and type. A line
// begins with a bit set of the schemas that it is in. Its parts are separated by tabs.
const (
	partSeparator = "\t"
	typeSeparator = ":"
	manyMark      = "+"
	derivedMark   = "~"
	classForm     = 'C'
	abstractMark  = "a"
)

const (
	longestLine = 1 << 20
	// commonClasses is about as many as a schema has.
	commonClasses = 900
)

// ErrUnknownSchema is the error of Load for a schema that the tables lack.
var ErrUnknownSchema = errors.New("no facts of this schema")

var errMalformed = errors.New("malformed table")

// Names are the schemas that are known, oldest first.
func Names() []string {
	return []string{"IFC2X3", "IFC4", "IFC4X3_ADD2"}
}

// NameOf returns the schema that a file names. It is empty where the schema is not known.
func NameOf(written string) string {
	switch name := strings.ToUpper(written); {
	case name == "IFC2X3", strings.HasPrefix(name, "IFC2X3_TC"):
		return "IFC2X3"
	case name == "IFC4", strings.HasPrefix(name, "IFC4_ADD"):
		return "IFC4"
	case name == "IFC4X3", strings.HasPrefix(name, "IFC4X3_ADD"), strings.HasPrefix(name, "IFC4X3_TC"):
		return "IFC4X3_ADD2"
	default:
		return ""
	}
}

// Load reads the facts of a schema. It takes milliseconds.
func Load(name string) (*Schema, error) {
	return Read(strings.NewReader(tables), name)
}

// Read reads a schema from tables that Write has written.
func Read(from io.Reader, name string) (*Schema, error) {
	plain, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("read schemas: %w", err)
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, longestLine)
	if !lines.Scan() {
		return nil, fmt.Errorf("read schemas: %w", errors.Join(errMalformed, lines.Err()))
	}
	bit := slices.Index(strings.Fields(lines.Text()), name)
	if bit < 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnknownSchema, name)
	}
	classes, types := make([]*Class, 0, commonClasses), []*Type{}
	for lines.Scan() {
		mask, rest, _ := bytes.Cut(lines.Bytes(), []byte(partSeparator))
		set, err := strconv.ParseUint(string(mask), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read schemas: %w", err)
		}
		if set&(1<<bit) == 0 {
			continue
		}
		parts := strings.Split(string(rest), partSeparator)
		const heading = 2
		if len(parts) < heading || len(parts[0]) != 1 {
			return nil, fmt.Errorf("%w: %q", errMalformed, rest)
		}
		if parts[0][0] != classForm {
			types = append(types, &Type{Name: parts[1], Form: Form(parts[0][0]), Of: parts[heading:]})
			continue
		}
		c, err := parseClass(parts[1:])
		if err != nil {
			return nil, err
		}
		classes = append(classes, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read schemas: %w", err)
	}
	return newSchema(name, classes, types), nil
}

// parseClass reads the name, the parent, the flags and the attributes of a class.
func parseClass(parts []string) (*Class, error) {
	const heading = 3
	if len(parts) < heading {
		return nil, fmt.Errorf("%w: class %q", errMalformed, parts)
	}
	c := &Class{
		Name: strings.ToUpper(parts[0]), Title: parts[0], parent: parts[1], Abstract: parts[2] == abstractMark,
	}
	for _, part := range parts[heading:] {
		if name, ok := strings.CutPrefix(part, derivedMark); ok {
			c.derived = append(c.derived, name)
			continue
		}
		name, of, ok := strings.Cut(part, typeSeparator)
		if !ok {
			return nil, fmt.Errorf("%w: attribute %q", errMalformed, part)
		}
		of, many := strings.CutPrefix(of, manyMark)
		c.own = append(c.own, Attribute{Name: name, Type: of, Many: many})
	}
	return c, nil
}

// Declared is a schema as its text declares it.
type Declared struct {
	Name    string
	Classes []DeclaredClass
	Types   []Type
}

// DeclaredClass is a class with what it declares itself.
type DeclaredClass struct {
	Name, Parent string
	Abstract     bool
	Attributes   []Attribute
	// Derived are the inherited attributes that have no value in files.
	Derived []string
}

// Write writes schemas, oldest first, as tables that share what the schemas have in common.
func Write(to io.Writer, schemas []Declared) error {
	names, masks := []string{}, map[string]uint64{}
	for bit, s := range schemas {
		names = append(names, s.Name)
		for _, c := range s.Classes {
			masks[formatClass(c)] |= 1 << bit
		}
		for _, t := range s.Types {
			parts := append([]string{string(t.Form), t.Name}, t.Of...)
			masks[strings.Join(parts, partSeparator)] |= 1 << bit
		}
	}
	packed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("write schemas: %w", err)
	}
	plain := bufio.NewWriter(packed)
	fmt.Fprintln(plain, strings.Join(names, " "))
	lines := make([]string, 0, len(masks))
	for line := range masks {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Fprintf(plain, "%x%s%s\n", masks[line], partSeparator, line)
	}
	if err := errors.Join(plain.Flush(), packed.Close()); err != nil {
		return fmt.Errorf("write schemas: %w", err)
	}
	return nil
}

func formatClass(c DeclaredClass) string {
	flags := ""
	if c.Abstract {
		flags = abstractMark
	}
	parts := []string{string(classForm), c.Name, c.Parent, flags}
	for _, a := range c.Attributes {
		of := a.Type
		if a.Many {
			of = manyMark + of
		}
		parts = append(parts, a.Name+typeSeparator+of)
	}
	for _, name := range c.Derived {
		parts = append(parts, derivedMark+name)
	}
	return strings.Join(parts, partSeparator)
}
