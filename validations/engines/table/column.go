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

	typeDuration columnType = "duration"
	typeGeoJSON  columnType = "geojson"
	typeList     columnType = "list"
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
	typeDuration:  "is not a valid duration",
	typeGeoJSON:   "is not valid GeoJSON",
	typeList:      "is not a list of the items that the schema describes",
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
	// typeCode is the code of a value of the wrong type.
	typeCode  string
	required  bool
	unique    bool
	bounds    []bound
	minLength *int
	maxLength *int
	pattern   *wholePattern
	enum      []cell
	enumText  string
	// items are the column of the items of a list, which stand between delimiters.
	items     *column
	delimiter string
	// missing are the texts that mean no value.
	missing []string
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
	if (c.minLength != nil || c.maxLength != nil) && !c.kind.hasLength() {
		detail := "only strings, lists, arrays and objects have a length"
		faults = append(faults, engine.NewConfigError(at, "schema.constraint", detail))
	}
	if len(field.Constraints.JSONSchema) > 0 {
		detail := "values are not checked by a JSON Schema"
		faults = append(faults, engine.NewConfigError(at+"/jsonSchema", "schema.constraint", detail))
	}
	for i, raw := range []json.RawMessage{
		field.Constraints.Minimum, field.Constraints.Maximum,
		field.Constraints.ExclusiveMinimum, field.Constraints.ExclusiveMaximum,
	} {
		faults = append(faults, c.compileBound(raw, boundKinds[i], at)...)
	}
	faults = append(faults, c.compileEnum(field.Constraints.Enum, at+"/enum")...)
	faults = append(faults, c.compileCategories(field, at)...)
	if field.Constraints.Pattern != "" {
		var err error
		if c.pattern, err = compilePattern(field.Constraints.Pattern, limits); err != nil {
			detail := engine.ClipTo(err.Error(), 2*engine.MaxQuoted)
			faults = append(faults, engine.NewConfigError(at+"/pattern", "schema.pattern", detail))
		}
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
	if c.kind == typeList {
		return c.compileItems(field, at)
	}
	return nil
}

// compileItems reads what the items of a list are.
func (c *column) compileItems(field fieldConfig, at string) []engine.ConfigError {
	c.delimiter = cmp.Or(field.Delimiter, ",")
	kind := columnType(cmp.Or(field.ItemType, string(typeString)))
	if kind != typeString && kind != typeInteger && kind != typeNumber && kind != typeBoolean && !kind.isTime() {
		detail := "items are of the type string, integer, number, boolean, date, datetime or time"
		return engine.Refuse(at+"/itemType", "schema.type", detail)
	}
	c.items = &column{kind: kind, trueValues: defaultTrue, falseValues: defaultFalse}
	return nil
}

const defaultOnly = "this type has the default format only"

// namedFormats are the formats beside the default, and what to say of others.
var namedFormats = map[columnType]struct {
	names []string
	words string
}{
	typeString:    {slices.Sorted(maps.Keys(stringFormats)), "use default, email, uri, uuid or binary"},
	typeGeopoint:  {[]string{"array", "object"}, "use default, array or object"},
	typeGeoJSON:   {[]string{formatTopoJSON}, "use default or topojson"},
	typeYear:      {[]string{"any"}, defaultOnly},
	typeYearMonth: {[]string{"any"}, defaultOnly},
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
	known := namedFormats[c.kind]
	switch {
	case slices.Contains(known.names, format):
		return ""
	case c.kind == typeString && strings.Contains(format, "%"):
		return known.words + "; only the types date, datetime and time have patterns such as " + engine.Clip(format)
	default:
		return cmp.Or(known.words, defaultOnly)
	}
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

// wrongType is the message about a value of the wrong type.
func wrongType(c *column, value cell) string {
	words := columnTypes[c.kind]
	switch {
	case c.kind == typeInteger && outOfRange(value.text):
		words = "does not fit into a 64-bit integer; the type number accepts it, rounded"
	case c.kind == typeNumber && slices.Contains([]string{"nan", "inf", "-inf"}, strings.ToLower(value.text)):
		words += `; list it in "missingValues" if it stands for a missing value`
	case c.kind == typeNumber && outOfRange(value.text):
		words = "is outside the range of numbers, about ±1.8e308"
	case c.kind == typeString:
		words = "is not a string"
		if stringFormats[c.format] != nil {
			words = "is not a valid " + c.format
		}
	}
	return c.name + " " + engine.Quote(value.text) + " " + words
}

// outOfRange reports whether a text that its column refuses is a number nevertheless.
func outOfRange(text string) bool {
	_, whole := strconv.ParseInt(text, 10, 64)
	_, decimal := strconv.ParseFloat(text, 64)
	return errors.Is(whole, strconv.ErrRange) || errors.Is(decimal, strconv.ErrRange)
}
