package tableschema

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

// Type is a type of Table Schema.
type Type string

// The types, in the order of the specification; those of the last block came with its version 2.
const (
	TypeString   Type = "string"
	TypeNumber   Type = "number"
	TypeInteger  Type = "integer"
	TypeBoolean  Type = "boolean"
	TypeDate     Type = "date"
	TypeDatetime Type = "datetime"

	TypeTime      Type = "time"
	TypeYear      Type = "year"
	TypeYearMonth Type = "yearmonth"
	TypeObject    Type = "object"
	TypeArray     Type = "array"
	TypeGeopoint  Type = "geopoint"
	TypeAny       Type = "any"

	TypeDuration Type = "duration"
	TypeGeoJSON  Type = "geojson"
	TypeList     Type = "list"
)

// typeWords are all types, with the words for a value that is of another one.
var typeWords = map[string]string{
	string(TypeString):    "",
	string(TypeNumber):    "is not a number",
	string(TypeInteger):   "is not an integer",
	string(TypeBoolean):   "is not true or false",
	string(TypeDate):      "is not a valid date",
	string(TypeDatetime):  "is not a valid date-time",
	string(TypeTime):      "is not a valid time",
	string(TypeYear):      "is not a valid year",
	string(TypeYearMonth): "is not a valid month of a year",
	string(TypeObject):    "is not a JSON object",
	string(TypeArray):     "is not a JSON array",
	string(TypeGeopoint):  "is not a valid point",
	string(TypeAny):       "",
	string(TypeDuration):  "is not a valid duration",
	string(TypeGeoJSON):   "is not valid GeoJSON",
	string(TypeList):      "is not a list of the items that the schema describes",
}

// Column is what one column must satisfy.
type Column struct {
	Name string
	Kind Type
	// format is that of strings and geopoints; times and numbers have theirs compiled.
	format      string
	times       timeFormat
	numbers     *numberFormat
	trueValues  []string
	falseValues []string
	// typeCode is the code of a value of the wrong type.
	typeCode  string
	required  bool
	Unique    bool
	bounds    []bound
	minLength *int
	maxLength *int
	// pattern must match the whole of a text, patternText is how the schema has it, and mostWork what one match in RE2
	// may cost.
	pattern     *engine.ECMAPattern
	patternText string
	mostWork    int64
	// enum are the keys of the values that are allowed, nil for all, and enumText how the schema has them.
	enum     map[string]bool
	enumText string
	// items are the column of the items of a list, which stand between delimiters.
	items     *Column
	delimiter string
	// missing are the texts that mean no value.
	missing []string
}

// Compile returns the column of a field, or what is wrong with it. The texts that mean no value are those of the schema
// where the field has none of its own.
func Compile(
	field Field, missing MissingValues, at string, limits engine.Limits,
) (*Column, []engine.ConfigError) {
	c := &Column{
		Name:      field.Name,
		Kind:      Type(field.Type),
		required:  field.Constraints.Required,
		Unique:    field.Constraints.Unique,
		minLength: field.Constraints.MinLength,
		maxLength: field.Constraints.MaxLength,
		missing:   []string{""},
		mostWork:  limits.MaxPatternWork,
	}
	for _, values := range []MissingValues{missing, field.MissingValues} {
		if values != nil {
			c.missing = values.texts()
		}
	}
	if c.Kind == "" {
		c.Kind = TypeString
	}
	c.typeCode = "csv.type." + string(c.Kind)
	if _, known := typeWords[string(c.Kind)]; !known {
		names := slices.Sorted(maps.Keys(typeWords))
		detail := fmt.Sprintf("use one of %v", names)
		if meant := engine.Nearest(field.Type, names); meant != "" {
			detail = "did you mean " + meant + "? " + detail
		}
		return c, engine.Refuse(at+"/type", "schema.type", detail)
	}
	faults := c.compileFormat(field, at)
	at += "/constraints"
	refuse := func(member, code, detail string) {
		faults = append(faults, engine.NewConfigError(at+member, code, detail))
	}
	haveLength := []Type{TypeString, TypeAny, TypeArray, TypeObject, TypeGeoJSON, TypeList}
	if (c.minLength != nil || c.maxLength != nil) && !slices.Contains(haveLength, c.Kind) {
		refuse("", "schema.constraint", "only strings, lists, arrays and objects have a length")
	}
	if len(field.Constraints.JSONSchema) > 0 {
		refuse("/jsonSchema", "schema.constraint", "values are not checked by a JSON Schema")
	}
	for i, raw := range []json.RawMessage{
		field.Constraints.Minimum, field.Constraints.Maximum,
		field.Constraints.ExclusiveMinimum, field.Constraints.ExclusiveMaximum,
	} {
		faults = append(faults, c.compileBound(raw, boundKinds[i], at)...)
	}
	faults = append(faults, c.compileEnum(field.Constraints.Enum, at+"/enum")...)
	faults = append(faults, c.compileCategories(field, at)...)
	if c.patternText = field.Constraints.Pattern; c.patternText != "" {
		var err error
		if c.pattern, err = engine.CompileWholeECMA(c.patternText, limits); err != nil {
			refuse("/pattern", "schema.pattern", engine.ClipTo(err.Error(), 2*engine.MaxQuoted))
		}
	}
	return c, faults
}

// compileFormat reads how values are written.
func (c *Column) compileFormat(field Field, at string) []engine.ConfigError {
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
	if c.Kind == TypeList {
		return c.compileItems(field, at)
	}
	return nil
}

// compileItems reads what the items of a list are.
func (c *Column) compileItems(field Field, at string) []engine.ConfigError {
	c.delimiter = cmp.Or(field.Delimiter, ",")
	kind := Type(cmp.Or(field.ItemType, string(TypeString)))
	if kind != TypeString && kind != TypeInteger && kind != TypeNumber && kind != TypeBoolean && !kind.isTime() {
		detail := "items are of the type string, integer, number, boolean, date, datetime or time"
		return engine.Refuse(at+"/itemType", "schema.type", detail)
	}
	c.items = &Column{Kind: kind, trueValues: defaultTrue, falseValues: defaultFalse}
	return nil
}

// namedFormats are the formats beside the default.
var namedFormats = map[Type][]string{
	TypeString: slices.Sorted(maps.Keys(stringFormats)), TypeGeopoint: {"array", "object"},
	TypeGeoJSON: {formatTopoJSON}, TypeYear: {"any"}, TypeYearMonth: {"any"},
}

// compileNamedFormat reads the member format and returns what is wrong with it, if anything.
func (c *Column) compileNamedFormat(format string) string {
	c.format = format
	if c.Kind.isTime() && c.Kind != TypeYearMonth {
		var err error
		if c.times, err = compileTimeFormat(c.Kind, format); err != nil {
			return err.Error()
		}
		return ""
	}
	known := namedFormats[c.Kind]
	words := "use default or " + strings.Join(known, ", ")
	switch {
	case format == "" || format == "default" || slices.Contains(known, format):
		return ""
	case len(known) == 0:
		return "this type has the default format only"
	case c.Kind == TypeString && strings.Contains(format, "%"):
		words += "; only the types date, datetime and time have patterns such as " + engine.Clip(format)
	}
	return words
}

// Numeric reports whether the values of the column are numbers.
func (c *Column) Numeric() bool {
	return c.Kind == TypeNumber || c.Kind == TypeInteger
}

// Timed reports whether rules see the values of the column as timestamps.
func (c *Column) Timed() bool {
	return c.Kind == TypeDate || c.Kind == TypeDatetime
}

// Compare orders two values of the column.
func (c *Column) Compare(a, b Cell) int {
	switch c.Kind {
	case TypeNumber:
		if a.Number != b.Number || a.canonical == b.canonical {
			return cmp.Compare(a.Number, b.Number)
		}
		return exact(a.canonical).Cmp(exact(b.canonical))
	case TypeInteger, TypeYear:
		return cmp.Compare(a.whole, b.whole)
	case TypeDate, TypeDatetime, TypeTime, TypeYearMonth:
		return a.When.Compare(b.When)
	default:
		return strings.Compare(a.canonical, b.canonical)
	}
}

// AppendKey writes a value so that two values have equal bytes exactly when they are the same.
func (c *Column) AppendKey(key []byte, value Cell) []byte {
	switch c.Kind {
	case TypeNumber:
		number, rest := value.Number+0, unrounded(value) // Adding zero makes -0 and 0 one value.
		if rest != "" {
			return appendText(binary.LittleEndian.AppendUint64(key, math.Float64bits(math.NaN())), rest)
		}
		return binary.LittleEndian.AppendUint64(key, math.Float64bits(number))
	case TypeInteger, TypeYear:
		return binary.LittleEndian.AppendUint64(key, uint64(value.whole)) //nolint:gosec // only the bits matter
	case TypeDate, TypeDatetime, TypeTime, TypeYearMonth:
		return value.When.UTC().AppendFormat(key, time.RFC3339Nano)
	case TypeBoolean:
		return strconv.AppendBool(key, value.truth)
	default:
		return appendText(key, value.canonical)
	}
}

// appendText writes the length first, so that the texts of a key do not run together.
func appendText(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

// NativeOf is the value as expressions see it. Of a broken value only messages make use.
func (c *Column) NativeOf(value Cell) any {
	if value.Missing {
		return nil
	}
	if value.Broken {
		return value.Text
	}
	switch c.Kind {
	case TypeNumber:
		return value.Number
	case TypeInteger, TypeYear:
		return value.whole
	case TypeBoolean:
		return value.truth
	case TypeDate, TypeDatetime:
		return value.When
	case TypeTime:
		return value.canonical
	default:
		return value.Text
	}
}

// Found takes something that is wrong with a value.
type Found func(code string, value Cell, words Wording)

// Wording makes the message of a finding about a value. Those of a column are made once, so that nothing is spent where
// a finding is only counted.
type Wording func(c *Column, value Cell) string

func missingValue(c *Column, _ Cell) string {
	return c.Name + " is missing"
}

func failedFormula(c *Column, value Cell) string {
	if strings.HasPrefix(value.Text, "=") {
		return c.Name + " has a formula without a saved value; open the workbook in a spreadsheet program and save it"
	}
	return c.Name + " has no value: its formula ended with " + engine.Quote(value.Text)
}

// wrongType is the message about a value of the wrong type.
func wrongType(c *Column, value Cell) string {
	words := typeWords[string(c.Kind)] + c.notation()
	switch {
	case c.Kind == TypeInteger && outOfRange(value.Text):
		words = "does not fit into a 64-bit integer; the type number accepts it"
	case c.Kind == TypeNumber && slices.Contains([]string{"nan", "inf", "-inf"}, strings.ToLower(value.Text)):
		words += `; list it in "missingValues" if it stands for a missing value`
	case c.Kind == TypeNumber && outOfRange(value.Text):
		words = "is outside the range of numbers, about ±1.8e308"
	case c.Kind == TypeString:
		words = "is not a string"
		if stringFormats[c.format] != nil {
			words = "is not a valid " + c.format
		}
	}
	return c.Name + " " + engine.Quote(value.Text) + " " + words
}

// notation is an example of a value, for a column that has its own form of them.
func (c *Column) notation() string {
	switch {
	case len(c.times.patterns) == 1:
		return " such as " + c.times.patterns[0].example()
	case c.numbers == nil || !c.Numeric():
		return ""
	}
	example := "20"
	if c.numbers.groupChar != "" {
		example = "1" + c.numbers.groupChar + "234"
	}
	if c.Kind == TypeNumber {
		example += c.numbers.decimalChar + "5"
	}
	return " such as " + example
}

// outOfRange reports whether a text that its column refuses is a number nevertheless.
func outOfRange(text string) bool {
	_, whole := strconv.ParseInt(text, 10, 64)
	_, decimal := strconv.ParseFloat(text, 64)
	return errors.Is(whole, strconv.ErrRange) || errors.Is(decimal, strconv.ErrRange)
}
