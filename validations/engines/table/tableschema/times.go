package tableschema

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// timeFormat reads times of one column.
type timeFormat struct {
	// patterns are tried in this order. Without any the default format is read.
	patterns []timePattern
	// isAny wants minutes and seconds of two digits, although patterns take one.
	isAny bool
}

// shortcuts are directives that stand for several others, as in the locale C.
var shortcuts = strings.NewReplacer("%%", "%%", "%x", "%m/%d/%y", "%X", "%H:%M:%S", "%D", "%m/%d/%y", "%F", "%Y-%m-%d",
	"%T", "%H:%M:%S", "%R", "%H:%M")

// Patterns of the format any: those in which no other day or month can be meant.
var (
	anyDate = []string{"%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y"}
	anyTime = []string{"%H:%M:%S", "%H:%M:%S.%f", "%H:%M", "%I:%M:%S %p", "%I:%M %p"}
	// oneDigit is what a number of minutes or seconds looks like that has lost a digit.
	oneDigit = regexp.MustCompile(`:\d(?:\D|$)`)
)

var errDirective = errors.New("use the directives %Y %y %m %d %j %b %B %a %A %H %I %M %S %f %p %z %x %X %D %F %R %T %%")

// compileTimeFormat reads default, any, or a pattern of strptime.
func compileTimeFormat(kind Type, format string) (timeFormat, error) {
	switch format {
	case "", "default":
		return timeFormat{}, nil
	case "any":
		return timeFormat{patterns: anyPatterns(kind), isAny: true}, nil
	}
	if !strings.Contains(format, "%") {
		return timeFormat{}, errors.New("use default, any, or a pattern such as %d.%m.%Y" + meantPattern(format))
	}
	pattern, err := compileTimePattern(shortcuts.Replace(format))
	return timeFormat{patterns: []timePattern{pattern}}, err
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

func anyPatterns(kind Type) []timePattern {
	formats := anyDate
	switch kind {
	case TypeDate:
	case TypeTime:
		formats = anyTime
	default:
		formats = nil
		for _, date := range anyDate {
			for _, between := range []string{"T", " "} {
				for _, clock := range anyTime {
					formats = append(formats, date+between+clock, date+between+clock+"%z")
				}
			}
		}
	}
	patterns := make([]timePattern, len(formats))
	for i, format := range formats {
		patterns[i], _ = compileTimePattern(format)
	}
	return patterns
}

// parse reads a time. What has no zone is taken as UTC.
func (f timeFormat) parse(kind Type, text string) (time.Time, error) {
	if f.patterns == nil {
		return parseDefaultTime(kind, text)
	}
	if f.isAny && oneDigit.MatchString(text) {
		return time.Time{}, errNotOfType
	}
	for _, pattern := range f.patterns {
		if moment, ok := pattern.parse(text); ok {
			return moment, nil
		}
	}
	return time.Time{}, errNotOfType
}

// parseDefaultTime reads ISO 8601 as XML Schema does. The package time alone would take an hour of one digit and a
// comma before decimals.
func parseDefaultTime(kind Type, text string) (time.Time, error) {
	switch kind {
	case TypeDate:
		return time.Parse(time.DateOnly, text)
	case TypeYearMonth:
		return time.Parse("2006-01", text)
	case TypeTime:
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
func (t Type) isTime() bool {
	return slices.Contains([]Type{TypeDate, TypeDatetime, TypeTime, TypeYearMonth}, t)
}
