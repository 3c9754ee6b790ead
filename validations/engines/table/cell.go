package table

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// cell is one value of a table, in the field that fits the type of its column.
type cell struct {
	text string
	// canonical is the text by which values of types without a field of their own are the same.
	canonical string
	number    float64
	whole     int64
	truth     bool
	when      time.Time
	// missing says that the value is missing, broken that it does not have the type of the column.
	missing bool
	broken  bool
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
		if !slices.Contains([]columnType{typeObject, typeArray, typeGeopoint, typeGeoJSON, typeAny}, c.kind) {
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
	case typeBoolean, typeDate, typeDatetime, typeTime, typeYearMonth, typeObject, typeArray, typeGeopoint,
		typeDuration, typeGeoJSON, typeList:
		err = errNotOfType
	}
	value.broken = err != nil
	return value
}

// readTime reads a time of a typed file. A date is a time at midnight. A time of day has the year 0 in some files.
func (c *column) readTime(text string, when time.Time) cell {
	value := cell{text: text, canonical: text, when: when}
	midnight := when.Equal(when.Truncate(24 * time.Hour)) // a day of UTC
	switch c.kind {
	case typeAny:
	case typeDatetime:
		value.broken = when.Year() == 0
	case typeDate:
		value.broken = !midnight || when.Year() == 0
	case typeYearMonth:
		value.broken = !midnight || when.Day() != 1
	case typeTime:
		clock := when.Sub(when.Truncate(24 * time.Hour)) // a day of UTC
		value.when = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC).Add(clock)
		value.canonical = value.when.Format("15:04:05.999999999")
	case typeString:
		return c.parse(text)
	case typeNumber, typeInteger, typeYear, typeBoolean, typeObject, typeArray, typeGeopoint, typeDuration,
		typeGeoJSON, typeList:
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
		err = c.parseString(text)
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
	case typeObject, typeArray, typeGeopoint, typeGeoJSON, typeList, typeDuration:
		err = c.parseShape(&value)
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

func (c *column) parseString(text string) error {
	if holds := stringFormats[c.format]; holds != nil && !holds(text) {
		return errNotOfType
	}
	return nil
}
