package table

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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

	typeTime      columnType = "time"
	typeYear      columnType = "year"
	typeYearMonth columnType = "yearmonth"
	typeObject    columnType = "object"
	typeArray     columnType = "array"
	typeGeopoint  columnType = "geopoint"
	typeAny       columnType = "any"
)

// columnTypes are all types, with the words for a value that is of another one.
var columnTypes = map[columnType]string{
	typeString:    "",
	typeNumber:    "is not a number",
	typeInteger:   "is not an integer",
	typeBoolean:   "is not true or false",
	typeDate:      "is not a valid date",
	typeDatetime:  "is not a valid date-time",
	typeTime:      "is not a valid time",
	typeYear:      "is not a valid year",
	typeYearMonth: "is not a valid month of a year",
	typeObject:    "is not a JSON object",
	typeArray:     "is not a JSON array",
	typeGeopoint:  "is not a valid point",
	typeAny:       "",
}

// column is what one column must satisfy.
type column struct {
	name string
	kind columnType
	// format is that of strings and geopoints; times and numbers have theirs compiled.
	format      string
	times       timeFormat
	numbers     *numberFormat
	trueValues  []string
	falseValues []string
	// typeCode is the code of a value that is none of the type.
	typeCode  string
	required  bool
	unique    bool
	bounds    []bound
	minLength *int
	maxLength *int
	pattern   *engine.Pattern
	// patternText is the pattern as the schema has it, without the anchors.
	patternText string
	enum        []cell
	enumText    string
}

// cell is one value of a table, in the field that fits the type of its column.
type cell struct {
	text string
	// canonical is the text by which values of types without a field of their own are the same.
	canonical string
	number    float64
	whole     int64
	truth     bool
	when      time.Time
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
	if c.kind == "" {
		c.kind = typeString
	}
	c.typeCode = "csv.type." + string(c.kind)
	if _, known := columnTypes[c.kind]; !known {
		names := slices.Sorted(maps.Keys(columnTypes))
		detail := fmt.Sprintf("use one of %v", names)
		candidates := make([]string, len(names))
		for i, name := range names {
			candidates[i] = string(name)
		}
		if meant := engine.Nearest(field.Type, candidates); meant != "" {
			detail = "did you mean " + meant + "? " + detail
		}
		return c, engine.Refuse(at+"/type", "schema.type", detail)
	}
	faults := c.compileFormat(field, at)
	at += "/constraints"
	if (c.minLength != nil || c.maxLength != nil) && c.kind != typeString {
		faults = append(faults, engine.NewConfigError(at, "schema.constraint", "only strings have a length"))
	}
	for i, raw := range []json.RawMessage{
		field.Constraints.Minimum, field.Constraints.Maximum,
		field.Constraints.ExclusiveMinimum, field.Constraints.ExclusiveMaximum,
	} {
		faults = append(faults, c.compileBound(raw, boundKinds[i], at)...)
	}
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

// compileFormat reads how values are written.
func (c *column) compileFormat(field fieldConfig, at string) []engine.ConfigError {
	c.trueValues, c.falseValues = field.TrueValues, field.FalseValues
	if c.trueValues == nil {
		c.trueValues = defaultTrue
	}
	if c.falseValues == nil {
		c.falseValues = defaultFalse
	}
	decimalChar := cmp.Or(field.DecimalChar, ".")
	bare := field.BareNumber == nil || *field.BareNumber
	if decimalChar != "." || field.GroupChar != "" || !bare {
		c.numbers = newNumberFormat(decimalChar, field.GroupChar, bare)
	}
	if decimalChar == field.GroupChar || strings.ContainsAny(decimalChar+field.GroupChar, "0123456789+-") {
		detail := "decimalChar and groupChar must differ and be neither digits nor signs"
		return engine.Refuse(at+"/groupChar", "schema.format", detail)
	}
	if detail := c.compileNamedFormat(field.Format); detail != "" {
		return engine.Refuse(at+"/format", "schema.format", detail)
	}
	return nil
}

// compileNamedFormat reads the member format and returns what is wrong with it, if anything.
func (c *column) compileNamedFormat(format string) string {
	c.format = format
	if c.kind.isTime() && c.kind != typeYearMonth {
		var err error
		if c.times, err = compileTimeFormat(c.kind, format); err != nil {
			return err.Error()
		}
		return ""
	}
	if format == "" || format == "default" {
		return ""
	}
	switch c.kind {
	case typeString:
		if stringFormats[format] == nil {
			return "use default, email, uri, uuid or binary"
		}
	case typeGeopoint:
		if format != "array" && format != "object" {
			return "use default, array or object"
		}
	default:
		return "this type has the default format only"
	}
	return ""
}

// read reads a value as the column's type. A text of a typed file is read as one of CSV, as Table Schema has it.
func (c *column) read(f field, text string) cell {
	switch f.native {
	case nativeNumber:
		return c.readNumber(text, f.shown)
	case nativeTruth:
		isOther := c.kind != typeBoolean && c.kind != typeAny
		return cell{text: text, canonical: text, truth: text == "true", broken: isOther}
	case nativeTime:
		return c.readTime(text, f.when)
	case nativeJSON:
		if c.kind != typeObject && c.kind != typeArray && c.kind != typeGeopoint && c.kind != typeAny {
			return cell{text: text, broken: true}
		}
	default:
	}
	return c.parse(text)
}

// readNumber reads a number of a typed file. Columns of strings take those of spreadsheets as they are shown.
func (c *column) readNumber(text, shown string) cell {
	value := cell{text: text, canonical: text}
	var err error
	switch c.kind {
	case typeNumber:
		value.number, err = parseNumber(text)
	case typeInteger, typeYear:
		// Spreadsheets have no integers, and JSON writes some as 5.0.
		value.number, err = parseNumber(text)
		value.whole = int64(value.number)
		const exact = 1 << 53
		if value.number != math.Trunc(value.number) || math.Abs(value.number) >= exact {
			value.whole, err = strconv.ParseInt(text, 10, 64)
			value.number = float64(value.whole)
		}
	case typeAny:
	case typeString:
		if shown == "" {
			value.broken = true
			return value
		}
		return c.parse(shown)
	case typeBoolean, typeDate, typeDatetime, typeTime, typeYearMonth, typeObject, typeArray, typeGeopoint:
		err = errNotOfType
	}
	value.broken = err != nil
	return value
}

// readTime reads a time of a typed file. A date is a time at midnight. A time of day has the year 0 in some files.
func (c *column) readTime(text string, when time.Time) cell {
	value := cell{text: text, canonical: text, when: when}
	midnight := when.Equal(when.Truncate(24 * time.Hour)) //nolint:mnd // a day of UTC
	switch c.kind {
	case typeAny:
	case typeDatetime:
		value.broken = when.Year() == 0
	case typeDate:
		value.broken = !midnight || when.Year() == 0
	case typeYearMonth:
		value.broken = !midnight || when.Day() != 1
	case typeTime:
		clock := when.Sub(when.Truncate(24 * time.Hour)) //nolint:mnd // a day of UTC
		value.when = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC).Add(clock)
		value.canonical = value.when.Format("15:04:05.999999999")
	case typeString:
		return c.parse(text)
	case typeNumber, typeInteger, typeYear, typeBoolean, typeObject, typeArray, typeGeopoint:
		value.broken = true
	}
	return value
}

// parse reads a text as the column's type.
func (c *column) parse(text string) cell {
	value := cell{text: text, canonical: text}
	var err error
	switch c.kind {
	case typeString:
		if holds := stringFormats[c.format]; holds != nil && !holds(text) {
			err = errNotOfType
		}
	case typeNumber, typeInteger:
		err = c.parseNumber(&value)
	case typeYear:
		value.whole, err = parseYear(text)
	case typeBoolean:
		value.truth, err = c.parseTruth(text)
	case typeDate, typeDatetime, typeYearMonth:
		value.when, err = c.times.parse(c.kind, text)
	case typeTime:
		value.when, err = c.times.parse(c.kind, text)
		value.canonical = value.when.Format("15:04:05.999999999")
	case typeObject, typeArray:
		value.canonical, err = parseJSON(text, c.kind)
	case typeGeopoint:
		value.canonical, err = parseGeopoint(text, c.format)
	case typeAny:
	}
	value.broken = err != nil
	return value
}

func (c *column) parseNumber(value *cell) error {
	text := value.text
	if c.numbers != nil {
		var ok bool
		if text, ok = c.numbers.plain(text); !ok {
			return errNotOfType
		}
	}
	var err error
	if c.kind == typeNumber {
		value.number, err = parseNumber(text)
		return err
	}
	value.whole, err = strconv.ParseInt(text, 10, 64)
	value.number = float64(value.whole)
	return err
}

// compare orders two values of the column.
func (c *column) compare(a, b cell) int {
	switch c.kind {
	case typeNumber:
		return cmp.Compare(a.number, b.number)
	case typeInteger, typeYear:
		return cmp.Compare(a.whole, b.whole)
	case typeDate, typeDatetime, typeTime, typeYearMonth:
		return a.when.Compare(b.when)
	default:
		return strings.Compare(a.canonical, b.canonical)
	}
}

// same reports whether two texts mean the same value, such as 1 and 1.0 in a column of numbers.
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
	case typeInteger, typeYear:
		return binary.LittleEndian.AppendUint64(key, uint64(value.whole)) //nolint:gosec // only the bits matter
	case typeDate, typeDatetime, typeTime, typeYearMonth:
		return value.when.UTC().AppendFormat(key, time.RFC3339Nano)
	case typeBoolean:
		return strconv.AppendBool(key, value.truth)
	default:
		key = binary.AppendUvarint(key, uint64(len(value.canonical)))
		return append(key, value.canonical...)
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
	case typeInteger, typeYear:
		return value.whole
	case typeBoolean:
		return value.truth
	case typeDate, typeDatetime:
		return value.when
	case typeTime:
		return value.canonical
	default:
		return value.text
	}
}

// wording makes the message of a finding about a value. Those of a column are made once, so that nothing is spent where
// a finding is only counted.
type wording func(c *column, value cell) string

func missingValue(c *column, _ cell) string {
	return c.name + " is missing"
}

func failedFormula(c *column, value cell) string {
	return c.name + " has no value: its formula ended with " + engine.Quote(value.text)
}

// wrongType is the wording for a value that is none of the type.
func wrongType(c *column, value cell) string {
	words := columnTypes[c.kind]
	switch {
	case c.kind == typeInteger && outOfRange(value.text):
		words = "is beyond the 64 bits of an integer; the type number takes it, rounded"
	case c.kind == typeNumber && outOfRange(value.text):
		words = "is beyond the range of numbers, about 1.8e308"
	case c.kind == typeString:
		words = "is not a string"
		if stringFormats[c.format] != nil {
			words = "is not a valid " + c.format
		}
	}
	return c.name + " " + engine.Quote(value.text) + " " + words
}

// outOfRange reports whether a text which is no value of its column is a number.
func outOfRange(text string) bool {
	_, whole := strconv.ParseInt(text, 10, 64)
	_, decimal := strconv.ParseFloat(text, 64)
	return errors.Is(whole, strconv.ErrRange) || errors.Is(decimal, strconv.ErrRange)
}
