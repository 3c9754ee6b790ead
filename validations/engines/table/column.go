package table

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// columnType is a type of Table Schema.
type columnType string

const (
	typeString   columnType = "string"
	typeNumber   columnType = "number"
	typeInteger  columnType = "integer"
	typeBoolean  columnType = "boolean"
	typeDate     columnType = "date"
	typeDatetime columnType = "datetime"
)

// column is what one column must satisfy.
type column struct {
	name      string
	kind      columnType
	required  bool
	unique    bool
	minimum   *bound
	maximum   *bound
	minLength *int
	maxLength *int
	pattern   *engine.Pattern
	// patternText is the pattern as the schema has it, without the anchors.
	patternText string
	enum      []cell
	enumText  string
}

// bound is a limit with the words that the configuration has for it.
type bound struct {
	value cell
	text  string
}

// cell is one value of a table, in the field that fits the type of its column.
type cell struct {
	text   string
	number float64
	whole  int64
	truth  bool
	when   time.Time
	// missing says that there is no value, broken that there is one but it is none of the column's type.
	missing bool
	broken  bool
}

func compileColumn(field fieldConfig, at string, limits engine.Limits) (*column, []engine.ConfigError) {
	c := &column{
		name:      field.Name,
		kind:      columnType(field.Type),
		required:  field.Constraints.Required,
		unique:    field.Constraints.Unique,
		minLength: field.Constraints.MinLength,
		maxLength: field.Constraints.MaxLength,
	}
	kinds := []columnType{typeString, typeNumber, typeInteger, typeBoolean, typeDate, typeDatetime}
	if !slices.Contains(kinds, c.kind) {
		return c, engine.Refuse(at+"/type", "schema.type", "use string, number, integer, boolean, date or datetime")
	}
	faults := []engine.ConfigError{}
	if field.Format != "" && field.Format != "default" {
		detail := "only the default format is supported"
		faults = append(faults, engine.NewConfigError(at+"/format", "schema.format", detail))
	}
	at += "/constraints"
	if (c.minLength != nil || c.maxLength != nil) && c.kind != typeString {
		faults = append(faults, engine.NewConfigError(at, "schema.constraint", "only strings have a length"))
	}
	var found []engine.ConfigError
	c.minimum, found = c.compileBound(field.Constraints.Minimum, at+"/minimum")
	faults = append(faults, found...)
	c.maximum, found = c.compileBound(field.Constraints.Maximum, at+"/maximum")
	faults = append(faults, found...)
	faults = append(faults, c.compileEnum(field.Constraints.Enum, at+"/enum")...)
	if field.Constraints.Pattern != "" {
		p, err := engine.CompileWholePattern(field.Constraints.Pattern, limits)
		if err != nil {
			detail := engine.ClipTo(err.Error(), 2*engine.MaxQuoted)
			faults = append(faults, engine.NewConfigError(at+"/pattern", "schema.pattern", detail))
		}
		c.pattern, c.patternText = &p, field.Constraints.Pattern
	}
	return c, faults
}

func (c *column) compileBound(raw json.RawMessage, at string) (*bound, []engine.ConfigError) {
	if len(raw) == 0 {
		return nil, nil
	}
	if c.kind == typeString || c.kind == typeBoolean {
		return nil, engine.Refuse(at, "schema.constraint", "only numbers and times have a minimum and a maximum")
	}
	text := scalarText(raw)
	value := c.parse(text)
	if value.broken {
		return nil, engine.Refuse(at, "schema.constraint", engine.Quote(text)+" is not of the field's type")
	}
	return &bound{value: value, text: text}, nil
}

func (c *column) compileEnum(raw []json.RawMessage, at string) []engine.ConfigError {
	const most = 1000
	if len(raw) > most {
		return engine.Refuse(at, "schema.constraint", fmt.Sprintf("at most %d values are allowed", most))
	}
	texts := []string{}
	for i, item := range raw {
		text := scalarText(item)
		value := c.parse(text)
		if value.broken {
			return engine.Refuse(at+engine.Pointer(strconv.Itoa(i)), "schema.constraint", "is not of the field's type")
		}
		c.enum = append(c.enum, value)
		texts = append(texts, text)
	}
	const shown = 10
	c.enumText = strings.Join(texts[:min(shown, len(texts))], ", ")
	if more := len(texts) - shown; more > 0 {
		c.enumText += fmt.Sprintf(", %d more", more)
	}
	return nil
}

// scalarText is a value of the configuration as a cell would have it.
func scalarText(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text
	}
	return string(raw)
}

// parse reads a text as the column's type.
func (c *column) parse(text string) cell {
	value := cell{text: text}
	var err error
	switch c.kind {
	case typeString:
	case typeNumber:
		value.number, err = parseNumber(text)
	case typeInteger:
		value.whole, err = strconv.ParseInt(text, 10, 64)
		value.number = float64(value.whole)
	case typeBoolean:
		value.truth, err = parseTruth(text)
	case typeDate:
		value.when, err = time.Parse(time.DateOnly, text)
	case typeDatetime:
		value.when, err = engine.ParseDateTime(text)
	}
	value.broken = err != nil
	return value
}

// parseNumber accepts decimal numbers; Go would also take hexadecimal ones, underscores, infinities and NaN.
func parseNumber(text string) (float64, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" || !engine.NumberInRange(text) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

func parseTruth(text string) (bool, error) {
	switch text {
	case "true", "True", "TRUE", "1":
		return true, nil
	case "false", "False", "FALSE", "0":
		return false, nil
	default:
		return false, strconv.ErrSyntax
	}
}

// compare orders two values of the column.
func (c *column) compare(a, b cell) int {
	switch c.kind {
	case typeNumber:
		return cmp.Compare(a.number, b.number)
	case typeInteger:
		return cmp.Compare(a.whole, b.whole)
	case typeDate, typeDatetime:
		return a.when.Compare(b.when)
	default:
		return strings.Compare(a.text, b.text)
	}
}

// same says whether two texts mean the same value, such as 1 and 1.0 in a column of numbers.
func (c *column) same(a, b cell) bool {
	if c.kind == typeBoolean {
		return a.truth == b.truth
	}
	return c.compare(a, b) == 0
}

// appendKey writes a value so that two values have equal bytes exactly when they are the same.
func (c *column) appendKey(key []byte, value cell) []byte {
	switch c.kind {
	case typeNumber:
		// Adding zero makes -0 and 0 one value.
		return binary.LittleEndian.AppendUint64(key, math.Float64bits(value.number+0))
	case typeInteger:
		return binary.LittleEndian.AppendUint64(key, uint64(value.whole)) //nolint:gosec // only the bits matter
	case typeDate, typeDatetime:
		return value.when.UTC().AppendFormat(key, time.RFC3339Nano)
	case typeBoolean:
		return strconv.AppendBool(key, value.truth)
	default:
		key = binary.AppendUvarint(key, uint64(len(value.text)))
		return append(key, value.text...)
	}
}

// native is the value as expressions see it. Of a broken value only messages make use.
func (c *column) native(value cell) any {
	if value.missing {
		return nil
	}
	if value.broken {
		return value.text
	}
	switch c.kind {
	case typeNumber:
		return value.number
	case typeInteger:
		return value.whole
	case typeBoolean:
		return value.truth
	case typeDate, typeDatetime:
		return value.when
	default:
		return value.text
	}
}

// typeFault returns the code and the message for a value that is none of the type.
func (c *column) typeFault(text string) (string, string) {
	wanted := map[columnType]string{
		typeNumber:   "is not a number",
		typeInteger:  "is not an integer",
		typeBoolean:  "is not true or false",
		typeDate:     "is not a valid date",
		typeDatetime: "is not a valid date-time",
	}
	return "csv.type." + string(c.kind), c.name + " " + engine.Quote(text) + " " + wanted[c.kind]
}

// violations calls found for each constraint that a value breaks.
func (c *column) violations(value cell, maxWork int64, found func(code, message string)) {
	if c.minimum != nil && c.compare(value, c.minimum.value) < 0 {
		found("csv.minimum", c.name+" "+engine.Clip(value.text)+" is less than "+c.minimum.text)
	}
	if c.maximum != nil && c.compare(value, c.maximum.value) > 0 {
		found("csv.maximum", c.name+" "+engine.Clip(value.text)+" is more than "+c.maximum.text)
	}
	if c.minLength != nil || c.maxLength != nil {
		c.lengthViolations(value, found)
	}
	if c.pattern != nil {
		c.patternViolation(value, maxWork, found)
	}
	if len(c.enum) > 0 && !slices.ContainsFunc(c.enum, func(e cell) bool { return c.same(e, value) }) {
		found("csv.enum", c.name+" "+engine.Quote(value.text)+" is not one of "+c.enumText)
	}
}

func (c *column) lengthViolations(value cell, found func(code, message string)) {
	length := utf8.RuneCountInString(value.text)
	subject := c.name + " " + engine.Quote(value.text) + " "
	if c.minLength != nil && length < *c.minLength {
		found("csv.min_length", subject+engine.AtLeast(length, *c.minLength, "character", "characters"))
	}
	if c.maxLength != nil && length > *c.maxLength {
		found("csv.max_length", subject+engine.AtMost(length, *c.maxLength, "character", "characters"))
	}
}

func (c *column) patternViolation(value cell, maxWork int64, found func(code, message string)) {
	switch {
	case c.pattern.Work(value.text) > maxWork:
		found("csv.pattern", c.name+" was not evaluated: the pattern costs too much on a text of this length")
	case !c.pattern.RE.MatchString(value.text):
		found("csv.pattern", c.name+" "+engine.Quote(value.text)+" does not match "+c.patternText)
	}
}
