package table

import (
	"errors"
	"fmt"
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

// timePattern is a pattern of strptime as a layout of the package time.
type timePattern struct {
	layout string
	// points and commas are how many a text has, since the package time takes decimals behind any seconds.
	points, commas int
}

// directives are those of strptime by what the package time has for them: the second word where a number needs all its
// digits, because another number stands beside it.
var directives = map[byte][2]string{
	'Y': {"2006", "2006"}, 'y': {"06", "06"}, 'm': {"1", "01"}, 'd': {"2", "02"}, 'j': {"002", "002"},
	'H': {"15", "15"}, 'I': {"3", "03"}, 'M': {"4", "04"}, 'S': {"5", "05"},
	'b': {"Jan", "Jan"}, 'B': {"January", "January"}, 'a': {"Mon", "Mon"}, 'A': {"Monday", "Monday"},
	'p': {"PM", "PM"}, 'z': {zoneWithColon, zoneWithColon}, '%': {"%", "%"},
}

const (
	numberDirectives = "YymdjHIMSf"
	zoneWithColon    = "Z07:00"
	zonePlain        = "Z0700"
	fraction         = "999999999"
)

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

// Digits and words stand between directives by mistake.
var (
	oneDirective = regexp.MustCompile(`%.`)
	noLiteral    = regexp.MustCompile(`[0-9]|[A-Za-z]{2}`)
)

// What the package time takes beyond clocks: zones of 24 hours or 60 minutes, and an hour 0 in the morning.
var (
	noZone = regexp.MustCompile(`[+-](?:2[4-9]|[3-9]\d|\d\d:?[6-9]\d)`)
	noHour = regexp.MustCompile(`(?:^|[^\d:])00?:.*[AP]M`)
)

var errDirective = errors.New("use the directives %Y %y %m %d %j %b %B %a %A %H %I %M %S %f %p %z %x %X %D %F %R %T %%")

// compileTimeFormat reads default, any, or a pattern of strptime.
func compileTimeFormat(kind columnType, format string) (timeFormat, error) {
	switch format {
	case "", "default":
		return timeFormat{}, nil
	case "any":
		return timeFormat{patterns: anyPatterns(kind), isAny: true}, nil
	}
	if !strings.Contains(format, "%") {
		return timeFormat{}, errors.New("use default, any, or a pattern such as %d.%m.%Y" + meantPattern(format))
	}
	patterns, err := compileTimePatterns(shortcuts.Replace(format))
	return timeFormat{patterns: patterns}, err
}

// compileTimePatterns reads a pattern of strptime: two where there is a zone, which has a colon or none.
func compileTimePatterns(format string) ([]timePattern, error) {
	if found := noLiteral.FindString(oneDirective.ReplaceAllString(format, "%")); found != "" {
		return nil, fmt.Errorf("%q cannot stand between directives", found)
	}
	layout := ""
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			layout += strings.ToUpper(format[i : i+1])
			continue
		}
		i++
		if i == len(format) {
			return nil, errDirective
		}
		words, known := directives[format[i]]
		// Behind an underscore the package time takes a 2 for a day with a space before it.
		isFixed := isNumber(format, i-3) || isNumber(format, i+1) || strings.HasSuffix(layout, "_")
		switch {
		case format[i] == 'f' && (strings.HasSuffix(layout, ".") || strings.HasSuffix(layout, ",")):
			layout += fraction
		case format[i] == 'f':
			return nil, errors.New("%f stands behind a point or a comma")
		case !known:
			return nil, errDirective
		case isFixed:
			layout += words[1]
		default:
			layout += words[0]
		}
	}
	patterns := []timePattern{{layout, strings.Count(layout, "."), strings.Count(layout, ",")}}
	if plain := strings.Replace(layout, zoneWithColon, zonePlain, 1); plain != layout {
		patterns = append(patterns, timePattern{plain, patterns[0].points, patterns[0].commas})
	}
	return patterns, nil
}

// parse reads a text in capitals.
func (p timePattern) parse(text string) (time.Time, bool) {
	if strings.Count(text, ".") != p.points || strings.Count(text, ",") != p.commas {
		return time.Time{}, false
	}
	moment, err := time.Parse(p.layout, text)
	isClock := !strings.Contains(p.layout, "Z07") || !noZone.MatchString(text[len(text)-min(len(text), len("+01:00")):])
	return moment, err == nil && isClock && !noHour.MatchString(text)
}

// isNumber reports whether a directive for a number begins at an offset.
func isNumber(format string, at int) bool {
	return at >= 0 && at+1 < len(format) && format[at] == '%' && strings.IndexByte(numberDirectives, format[at+1]) >= 0
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

func anyPatterns(kind columnType) []timePattern {
	formats := anyDate
	switch kind {
	case typeDate:
	case typeTime:
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
	var patterns []timePattern
	for _, format := range formats {
		compiled, _ := compileTimePatterns(format)
		patterns = append(patterns, compiled...)
	}
	return patterns
}

// parse reads a time. What has no zone is taken as UTC.
func (f timeFormat) parse(kind columnType, text string) (time.Time, error) {
	if f.patterns == nil {
		return parseDefaultTime(kind, text)
	}
	if f.isAny && oneDigit.MatchString(text) {
		return time.Time{}, errNotOfType
	}
	// The package time reads names of months in any case, but AM and PM in capitals only.
	upper := strings.ToUpper(text)
	for _, pattern := range f.patterns {
		if moment, ok := pattern.parse(upper); ok {
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
