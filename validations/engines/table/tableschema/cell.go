// Package tableschema reads fields of a Table Schema and checks values against them. It does not know what files
// tables are in.
package tableschema

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
)

// Cell is one value of a table, in the member that fits the type of its column.
type Cell struct {
	Text string
	// canonical is the text by which values of types without a member of their own are the same, and that of a number
	// with a point and without groups.
	canonical string
	Number    float64
	whole     int64
	truth     bool
	When      time.Time
	// Missing says that the value is missing, Broken that it does not have the type of the column.
	Missing bool
	Broken  bool
}

// Check reads a value and calls found for everything that is wrong with it. Its error is why there is no verdict.
func (c *Column) Check(f tablefile.Value, found Found) (Cell, error) {
	text := string(f.Text)
	if f.Native == tablefile.NativeNull || f.Native == tablefile.NativeText && slices.Contains(c.missing, text) {
		value := Cell{Missing: true, Broken: c.required}
		if c.required {
			found("csv.required", value, missingValue)
		}
		return value, nil
	}
	if f.Native == tablefile.NativeFault {
		value := Cell{Text: text, Broken: true}
		found("csv.cell_error", value, failedFormula)
		return value, nil
	}
	value := c.Read(f, text)
	if value.Broken {
		found(c.typeCode, value, wrongType)
		return value, nil
	}
	return value, c.violations(value, found)
}

// Read reads a value as the column's type. A text of a typed file is read as one of CSV, as Table Schema has it.
func (c *Column) Read(f tablefile.Value, text string) Cell {
	switch f.Native {
	case tablefile.NativeNumber:
		return c.readNumber(text, f.Shown)
	case tablefile.NativeTruth:
		isOther := c.Kind != TypeBoolean && c.Kind != TypeAny
		return Cell{Text: text, canonical: text, truth: text == "true", Broken: isOther}
	case tablefile.NativeTime:
		return c.readTime(text, f.When)
	case tablefile.NativeJSON:
		if !slices.Contains([]Type{TypeObject, TypeArray, TypeGeopoint, TypeGeoJSON, TypeAny}, c.Kind) {
			return Cell{Text: text, Broken: true}
		}
	default:
	}
	return c.Parse(text)
}

// readNumber reads a number of a typed file. Columns of strings take those of spreadsheets as they are shown.
func (c *Column) readNumber(text, shown string) Cell {
	value := Cell{Text: text, canonical: text}
	var err error
	switch c.Kind {
	case TypeNumber:
		value.Number, err = parseNumber(text)
	case TypeInteger, TypeYear:
		// Spreadsheets have no integers, and JSON writes some as 5.0.
		value.Number, err = parseNumber(text)
		value.whole = int64(value.Number)
		const exact = 1 << 53
		if value.Number != math.Trunc(value.Number) || math.Abs(value.Number) >= exact {
			value.whole, err = strconv.ParseInt(text, 10, 64)
			value.Number = float64(value.whole)
		}
	case TypeAny:
	case TypeString:
		if shown == "" {
			value.Broken = true
			return value
		}
		return c.Parse(shown)
	default:
		err = errNotOfType
	}
	value.Broken = err != nil
	return value
}

// readTime reads a time of a typed file. A date is a time at midnight. A time of day has the year 0 in some files.
func (c *Column) readTime(text string, when time.Time) Cell {
	value := Cell{Text: text, canonical: text, When: when}
	midnight := when.Equal(when.Truncate(24 * time.Hour)) // a day of UTC
	switch c.Kind {
	case TypeAny:
	case TypeDatetime:
		value.Broken = when.Year() == 0
	case TypeDate:
		value.Broken = !midnight || when.Year() == 0
	case TypeYearMonth:
		value.Broken = !midnight || when.Day() != 1
	case TypeTime:
		clock := when.Sub(when.Truncate(24 * time.Hour)) // a day of UTC
		value.When = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC).Add(clock)
		value.canonical = value.When.Format("15:04:05.999999999")
	case TypeString:
		return c.Parse(text)
	default:
		value.Broken = true
	}
	return value
}

// Parse reads a text as the column's type.
func (c *Column) Parse(text string) Cell {
	value := Cell{Text: text, canonical: text}
	var err error
	switch c.Kind {
	case TypeString:
		if holds := stringFormats[c.format]; holds != nil && !holds(text) {
			err = errNotOfType
		}
	case TypeNumber, TypeInteger:
		err = c.parseNumber(&value)
	case TypeYear:
		if value.whole, err = strconv.ParseInt(text, 10, 64); !yearPattern.MatchString(text) {
			err = errNotOfType
		}
	case TypeBoolean:
		value.truth, err = c.parseTruth(text)
	case TypeDate, TypeDatetime, TypeYearMonth:
		value.When, err = c.times.parse(c.Kind, text)
	case TypeTime:
		value.When, err = c.times.parse(c.Kind, text)
		value.canonical = value.When.Format("15:04:05.999999999")
	case TypeAny:
	default:
		err = c.parseShape(&value)
	}
	value.Broken = err != nil
	return value
}

// parseShape reads a value that is more than a number or a word.
func (c *Column) parseShape(value *Cell) error {
	var err error
	text := value.Text
	switch c.Kind {
	case TypeObject, TypeArray:
		value.canonical, err = parseJSON(text, c.Kind)
	case TypeGeopoint:
		value.canonical, err = parseGeopoint(text, c.format)
	case TypeGeoJSON:
		value.canonical, err = parseGeoJSON(text, c.format)
	case TypeList:
		for item := range strings.SplitSeq(text, c.delimiter) {
			if c.items.Parse(item).Broken {
				return errNotOfType
			}
		}
	default:
		if !durationPattern.MatchString(text) || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
			return errNotOfType
		}
	}
	return err
}

func (c *Column) parseNumber(value *Cell) error {
	text := value.Text
	if c.numbers != nil {
		var ok bool
		if text, ok = c.numbers.plain(text); !ok {
			return errNotOfType
		}
	}
	var err error
	if c.Kind == TypeNumber {
		value.canonical = text
		value.Number, err = parseNumber(text)
		return err
	}
	value.whole, err = strconv.ParseInt(text, 10, 64)
	value.Number = float64(value.whole)
	return err
}
