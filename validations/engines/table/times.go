package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// timeFormat reads times of one column.
type timeFormat struct {
	// layouts are those of the package time, tried in this order. Without any the default format is read.
	layouts []string
	// fraction says that seconds may have decimals; the package time takes them whatever the layout.
	fraction bool
}

// directives are those of strptime, with the layouts that take one digit or two, and those for numbers without anything
// between them.
var directives = map[byte]struct{ loose, fixed string }{
	'Y': {"2006", "2006"}, 'y': {"06", "06"}, 'm': {"1", "01"}, 'd': {"2", "02"}, 'j': {"002", "002"},
	'H': {"15", "15"}, 'I': {"3", "03"}, 'M': {"4", "04"}, 'S': {"5", "05"}, 'p': {"PM", "PM"},
	'b': {"Jan", "Jan"}, 'B': {"January", "January"}, 'a': {"Mon", "Mon"}, 'A': {"Monday", "Monday"},
}

// shortcuts are directives that stand for several others, as in the locale C.
var shortcuts = strings.NewReplacer("%%", "%%", "%x", "%m/%d/%y", "%X", "%H:%M:%S", "%D", "%m/%d/%y", "%F", "%Y-%m-%d",
	"%T", "%H:%M:%S", "%R", "%H:%M")

// Layouts of the format any: those in which no other day or month can be meant.
var (
	anyDate = []string{time.DateOnly, "2006/1/2", "20060102", "2 January 2006", "2 Jan 2006", "January 2, 2006"}
	anyTime = []string{"15:04:05", "15:04", "3:04:05 PM", "3:04 PM"}
	zones   = []string{"", "Z07:00", "Z0700"}
)

var errDirective = errors.New("use the directives %Y %y %m %d %j %b %B %a %A %H %I %M %S %f %p %z %x %X %D %F %R %T %%")

// compileTimeFormat reads default, any, or a pattern of strptime.
func compileTimeFormat(kind columnType, format string) (timeFormat, error) {
	switch format {
	case "", "default":
		return timeFormat{fraction: true}, nil
	case "any":
		return timeFormat{layouts: anyLayouts(kind), fraction: true}, nil
	}
	if !strings.Contains(format, "%") {
		return timeFormat{}, errors.New("use default, any, or a pattern such as %d.%m.%Y" + meantPattern(format))
	}
	layout, err := layoutOf(format)
	if err != nil {
		return timeFormat{}, err
	}
	compiled := timeFormat{layouts: []string{layout}, fraction: strings.Contains(format, "%f")}
	if strings.Contains(layout, zones[2]) {
		compiled.layouts = append(compiled.layouts, strings.Replace(layout, zones[2], zones[1], 1))
	}
	return compiled, nil
}

// meantPattern suggests a pattern of strptime for one that is written in another way, as DD.MM.YYYY is.
func meantPattern(format string) string {
	meant := strings.NewReplacer("YYYY", "%Y", "yyyy", "%Y", "DD", "%d", "dd", "%d", "HH", "%H", "hh", "%H",
		"mm:ss", "%M:%S", ":mm", ":%M", "ss", "%S", "SS", "%S", "MM", "%m", "mm", "%m").Replace(format)
	if meant == format {
		return ""
	}
	return "; did you mean " + engine.Quote(meant) + "?"
}

func anyLayouts(kind columnType) []string {
	if kind == typeDate {
		return anyDate
	}
	if kind == typeTime {
		return anyTime
	}
	var layouts []string
	for _, date := range anyDate {
		for _, between := range []string{"T", " "} {
			for _, clock := range anyTime {
				for _, zone := range zones {
					layouts = append(layouts, date+between+clock+zone)
				}
			}
		}
	}
	return layouts
}

// layoutOf turns a pattern of strptime into a layout of the package time.
func layoutOf(format string) (string, error) {
	format = shortcuts.Replace(format)
	// The package time takes decimals behind seconds by itself.
	format = strings.ReplaceAll(format, "%S.%f", "%S")
	var layout strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] == '%' {
			i++
			if i == len(format) {
				return "", errDirective
			}
			part, err := layoutPart(format, i)
			if err != nil {
				return "", err
			}
			layout.WriteString(part)
			continue
		}
		if !isLiteral(format, i) {
			return "", fmt.Errorf("%q is not allowed between directives", format[i:i+1])
		}
		layout.WriteByte(format[i])
	}
	return layout.String(), nil
}

// layoutPart is the layout of the directive whose letter is at an offset.
func layoutPart(format string, i int) (string, error) {
	switch format[i] {
	case '%':
		return "%", nil
	case 'z':
		return zones[2], nil
	}
	directive, known := directives[format[i]]
	if !known {
		return "", errDirective
	}
	// An underscore before a day would be read as a space in the layout.
	before, behind := format[:i-1], format[i+1:]
	if isDirective(before) || strings.HasSuffix(before, "_") || strings.HasPrefix(behind, "%") {
		return directive.fixed, nil
	}
	return directive.loose, nil
}

// isLiteral reports whether a byte means itself in a layout: digits do not, nor words such as Jan or PM.
func isLiteral(format string, i int) bool {
	isLetter := func(at int) bool {
		return at >= 0 && at < len(format) && (format[at]|0x20 >= 'a' && format[at]|0x20 <= 'z') &&
			(at == 0 || format[at-1] != '%')
	}
	if isLetter(i) {
		return !isLetter(i-1) && !isLetter(i+1)
	}
	return format[i] < '0' || format[i] > '9'
}

// isDirective reports whether a text ends with a directive.
func isDirective(text string) bool {
	return len(text) > 1 && text[len(text)-2] == '%'
}

// parse reads a time. What has no zone is taken as UTC.
func (f timeFormat) parse(kind columnType, text string) (time.Time, error) {
	if f.layouts == nil {
		return parseDefaultTime(kind, text)
	}
	for _, layout := range f.layouts {
		moment, err := time.Parse(layout, text)
		if err == nil && (f.fraction || moment.Nanosecond() == 0) {
			return moment, nil
		}
	}
	return time.Time{}, errNotOfType
}

// parseDefaultTime reads ISO 8601 as XML Schema does. The package time alone would take an hour of one digit and a
// comma before decimals.
func parseDefaultTime(kind columnType, text string) (time.Time, error) {
	switch kind {
	case typeDate:
		return time.Parse(time.DateOnly, text)
	case typeYearMonth:
		return time.Parse("2006-01", text)
	case typeTime:
		const hour = "15"
		if len(text) < len(time.TimeOnly) || text[len(hour)] != ':' || strings.Contains(text, ",") {
			return time.Time{}, errNotOfType
		}
		return time.Parse(time.TimeOnly, text)
	default:
		zone := strings.LastIndexAny(text, "Z+-")
		switch {
		case zone < len(time.DateOnly):
			text += "Z"
		case len(text)-zone == len("+0100"):
			// ISO 8601 has zones without a colon as well, and many programs write them.
			text = text[:zone+len("+01")] + ":" + text[zone+len("+01"):]
		}
		return engine.ParseDateTime(text)
	}
}

// isTime reports whether values of a type are moments, days, months or times of day.
func (t columnType) isTime() bool {
	return slices.Contains([]columnType{typeDate, typeDatetime, typeTime, typeYearMonth}, t)
}
