package model

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

// tables has all dictionaries in the form that its tests write.
//
//go:embed tables.gz
var tables string

// The tables are text: a line with the versions, then a line for each different description of a class. A line begins
// with a bit set of the versions that it holds for. Its parts are separated by tabs, the attributes of a part by bars.
const (
	partSeparator      = "\t"
	attributeSeparator = "|"
	listSeparator      = ","
	labelMark          = "@"
	groupMark          = "*"
)

const (
	longestLine = 1 << 20
	// commonClasses is about as many as a version has.
	commonClasses = 1000
)

// ErrUnknownVersion is the error of LoadDictionary for a version that the tables lack.
var ErrUnknownVersion = errors.New("no dictionary of this version")

var errMalformed = errors.New("malformed table")

// Versions are the versions of EnergyPlus whose dictionaries are known, oldest first.
func Versions() []string {
	return []string{
		"8.9", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5", "9.6",
		"22.1", "22.2", "23.1", "23.2", "24.1", "24.2", "25.1", "25.2", "26.1",
	}
}

// LoadDictionary reads the dictionary of a version such as "23.2". It takes milliseconds, so keep the result.
func LoadDictionary(version string) (*Dictionary, error) {
	return ReadDictionary(strings.NewReader(tables), version)
}

// ReadDictionary reads the dictionary of a version from tables in that form.
func ReadDictionary(from io.Reader, version string) (*Dictionary, error) {
	plain, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("read dictionary: %w", err)
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, longestLine)
	if !lines.Scan() {
		return nil, fmt.Errorf("read dictionary: %w", errors.Join(errMalformed, lines.Err()))
	}
	bit := slices.Index(strings.Fields(lines.Text()), version)
	if bit < 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnknownVersion, version)
	}
	classes := make([]*Class, 0, commonClasses)
	for lines.Scan() {
		mask, description, _ := bytes.Cut(lines.Bytes(), []byte(partSeparator))
		set, err := strconv.ParseUint(string(mask), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read dictionary: %w", err)
		}
		if set&(1<<bit) == 0 {
			continue
		}
		class, err := parseClass(string(description))
		if err != nil {
			return nil, fmt.Errorf("read dictionary: %w", err)
		}
		classes = append(classes, class)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read dictionary: %w", err)
	}
	return NewDictionary(version, classes), nil
}

func parseClass(description string) (*Class, error) {
	parts := strings.Split(description, partSeparator)
	const heading = 3
	if len(parts) < heading {
		return nil, fmt.Errorf("%w: class %q", errMalformed, description)
	}
	c := &Class{
		Name:   parts[0],
		Unique: strings.Contains(parts[1], "u"), Required: strings.Contains(parts[1], "r"),
		TypeLists: splitList(parts[2]),
	}
	for _, part := range parts[heading:] {
		if group, ok := strings.CutPrefix(part, groupMark); ok {
			g, err := parseGroup(group)
			if err != nil {
				return nil, err
			}
			c.Repeated = g
			continue
		}
		label, isLabel := strings.CutPrefix(part, labelMark)
		f, err := parseField(label)
		switch {
		case err != nil:
			return nil, err
		case isLabel:
			c.Label = f
		case c.Repeated != nil:
			c.Repeated.Fields = append(c.Repeated.Fields, f)
		default:
			c.Fields = append(c.Fields, f)
		}
	}
	return c, nil
}

func parseGroup(text string) (*Group, error) {
	attributes := strings.Split(text, attributeSeparator)
	const bounds = 3
	if len(attributes) != bounds {
		return nil, fmt.Errorf("%w: group %q", errMalformed, text)
	}
	least, leastErr := strconv.Atoi(attributes[1])
	most, mostErr := strconv.Atoi(attributes[2])
	if err := errors.Join(leastErr, mostErr); err != nil {
		return nil, fmt.Errorf("%w: group %q: %w", errMalformed, text, err)
	}
	return &Group{Name: attributes[0], Least: least, Most: most}, nil
}

func parseField(text string) (*FieldSpec, error) {
	name, rest, _ := strings.Cut(text, attributeSeparator)
	kind, rest, more := strings.Cut(rest, attributeSeparator)
	if name == "" || len(kind) != 1 {
		return nil, fmt.Errorf("%w: field %q", errMalformed, text)
	}
	f := &FieldSpec{Name: name, Kind: Kind(kind[0])}
	for more {
		var attribute string
		attribute, rest, more = strings.Cut(rest, attributeSeparator)
		if err := f.set(attribute); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// set reads one attribute of a field, which begins with a letter or a sign that says which one it is.
func (f *FieldSpec) set(attribute string) error {
	if attribute == "" {
		return fmt.Errorf("%w: empty attribute of %q", errMalformed, f.Name)
	}
	var err error
	switch value := attribute[1:]; attribute[0] {
	case 'r':
		f.Required = true
	case '>':
		f.Minimum, err = parseBound(value)
	case '<':
		f.Maximum, err = parseBound(value)
	case 'c':
		f.Choices = splitList(value)
	case 'w':
		f.Words = splitList(value)
	case 'o':
		f.Refers = splitList(value)
	case 'l':
		f.Gives = splitList(value)
	case 'u':
		f.Units = value
	case 'd':
		f.Default = value
	default:
		err = fmt.Errorf("%w: attribute %q of %q", errMalformed, attribute, f.Name)
	}
	return err
}

func parseBound(text string) (Bound, error) {
	digits, inclusive := strings.CutPrefix(text, "=")
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return Bound{}, fmt.Errorf("%w: bound %q: %w", errMalformed, text, err)
	}
	return Bound{Value: value, Exclusive: !inclusive, Set: true}, nil
}

func splitList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, listSeparator)
}
