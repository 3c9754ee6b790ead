package tableschema

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// timePattern is a pattern of strptime, part by part. The package time has layouts instead, which take decimals behind
// any seconds, an hour 0 in the morning and zones of 24 hours, and refuse am where they want AM.
type timePattern []timePart

// timePart is a directive, or a byte that means itself.
type timePart struct {
	directive byte
	literal   byte
	// isFixed says that a number has all its digits, because another number stands beside it.
	isFixed bool
}

// clockTime collects what the parts of a text say.
type clockTime struct {
	year, month, day, yearDay  int
	hour, minute, second, nano int
	offset, weekday            int
	// half is 1 in the morning, 2 in the afternoon, and 0 where nothing says.
	half int
}

// directive is a number, or one of some names, which count from 1.
type directive struct {
	// layout writes it as the package time does.
	layout string
	names  []string
	// digits are the most of a number, which lies between bounds.
	digits, low, high int
	// of is where it belongs.
	of func(c *clockTime) *int
}

var directives = map[byte]directive{
	'Y': {layout: "2006", digits: 4, high: 9999, of: func(c *clockTime) *int { return &c.year }},
	'y': {layout: "06", digits: 2, high: 99, of: func(c *clockTime) *int { return &c.year }},
	'm': {layout: "01", digits: 2, low: 1, high: 12, of: func(c *clockTime) *int { return &c.month }},
	'd': {layout: "02", digits: 2, low: 1, high: 31, of: func(c *clockTime) *int { return &c.day }},
	'j': {layout: "002", digits: 3, low: 1, high: 366, of: func(c *clockTime) *int { return &c.yearDay }},
	'H': {layout: "15", digits: 2, high: 23, of: func(c *clockTime) *int { return &c.hour }},
	'I': {layout: "03", digits: 2, low: 1, high: 12, of: func(c *clockTime) *int { return &c.hour }},
	'M': {layout: "04", digits: 2, high: 59, of: func(c *clockTime) *int { return &c.minute }},
	'S': {layout: "05", digits: 2, high: 59, of: func(c *clockTime) *int { return &c.second }},
	'f': {layout: "000000", digits: 9, high: 999_999_999, of: func(c *clockTime) *int { return &c.nano }},
	'b': {layout: "Jan", names: strings.Fields("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"), of: monthOf},
	'B': {layout: "January", of: monthOf, names: strings.Fields(
		"January February March April May June July August September October November December")},
	'a': {layout: "Mon", names: strings.Fields("Sun Mon Tue Wed Thu Fri Sat"), of: weekdayOf},
	'A': {layout: "Monday", of: weekdayOf, names: strings.Fields(
		"Sunday Monday Tuesday Wednesday Thursday Friday Saturday")},
	'p': {layout: "PM", names: []string{"AM", "PM"}, of: func(c *clockTime) *int { return &c.half }},
	'z': {layout: "-0700"},
}

func monthOf(c *clockTime) *int { return &c.month }

func weekdayOf(c *clockTime) *int { return &c.weekday }

// example is a time as the pattern has it.
func (p timePattern) example() string {
	when, text := time.Date(2026, time.March, 1, 6, 0, 0, 0, time.UTC), []byte(nil)
	for _, part := range p {
		if part.directive == 0 {
			text = append(text, part.literal)
		}
		text = when.AppendFormat(text, directives[part.directive].layout)
	}
	return string(text)
}

// compileTimePattern reads a pattern of strptime.
func compileTimePattern(format string) (timePattern, error) {
	var pattern timePattern
	// One space stands for any number of them.
	format = spaces.ReplaceAllString(format, " ")
	for i := 0; i < len(format); i++ {
		part := timePart{literal: format[i]}
		if format[i] != '%' && !isLiteral(format, i) {
			return nil, fmt.Errorf("%q cannot stand between directives", format[i:i+1])
		}
		if format[i] == '%' {
			i++
			switch letter := format[i:min(i+1, len(format))]; {
			case letter == "%":
			case letter == "" || directives[letter[0]].layout == "":
				return nil, errDirective
			default:
				part = timePart{directive: letter[0]}
			}
		}
		pattern = append(pattern, part)
	}
	for i, part := range pattern {
		hasNeighbour := pattern.isNumber(i-1) || pattern.isNumber(i+1)
		isYear := part.directive == 'Y' || part.directive == 'y'
		pattern[i].isFixed = isYear || hasNeighbour && part.directive != 'f'
	}
	return pattern, nil
}

// isLiteral reports whether a byte of a pattern may mean itself: digits and words stand there by mistake.
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

// isNumber reports whether there is a part of this index, and it is a number.
func (p timePattern) isNumber(i int) bool {
	return i >= 0 && i < len(p) && directives[p[i].directive].digits > 0
}

// parse reads a time of exactly this form. Without a zone it is UTC.
func (p timePattern) parse(text string) (time.Time, bool) {
	c := clockTime{month: 1, day: 1}
	for _, part := range p {
		n := part.read(text, &c)
		if n < 0 {
			return time.Time{}, false
		}
		text = text[n:]
	}
	if text != "" {
		return time.Time{}, false
	}
	return c.moment()
}

// read answers how many bytes at the beginning of a text the part takes, -1 for none that fit.
func (p timePart) read(text string, c *clockTime) int {
	switch d := directives[p.directive]; {
	case d.names != nil:
		return readName(text, d.names, d.of(c))
	case d.digits > 0:
		return p.readNumber(text, d, c)
	case p.directive == 'z':
		return readZone(text, c)
	case text == "" || text[0] != p.literal:
		return -1
	case p.literal == ' ':
		return len(text) - len(strings.TrimLeft(text, " "))
	}
	return 1
}

// readName reads one of some names in any case, and counts it from 1.
func readName(text string, names []string, into *int) int {
	for i, name := range names {
		if n := len(name); len(text) >= n && strings.EqualFold(text[:n], name) {
			*into = i + 1
			return n
		}
	}
	return -1
}

// zoneForm is a zone such as Z, +0100 or +01:00.
var (
	zoneForm = regexp.MustCompile(`^(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)`)
	spaces   = regexp.MustCompile(` +`)
)

func readZone(text string, c *clockTime) int {
	zone := zoneForm.FindString(text)
	if zone == "" {
		return -1
	}
	if moment, err := time.Parse("-0700", strings.Replace(zone, ":", "", 1)); err == nil {
		_, c.offset = moment.Zone()
	}
	return len(zone)
}

func (p timePart) readNumber(text string, number directive, c *clockTime) int {
	n, value := 0, 0
	for n < min(number.digits, len(text)) && text[n] >= '0' && text[n] <= '9' {
		value = 10*value + int(text[n]-'0')
		n++
	}
	if n == 0 || p.isFixed && n < number.digits || value < number.low || value > number.high {
		return -1
	}
	*number.of(c) = p.meant(value, number.digits-n)
	return n
}

// meant is the year of a century and the nanoseconds of a fraction that lacks some digits, and other numbers as such.
func (p timePart) meant(value, lacking int) int {
	switch {
	case p.directive == 'f':
		for range lacking {
			value *= 10
		}
	case p.directive == 'y' && value >= 69:
		// As POSIX has it, 69 is 1969 and 68 is 2068.
		value += 1900
	case p.directive == 'y':
		value += 2000
	}
	return value
}

// moment answers false for a day that the month or the year does not have.
func (c clockTime) moment() (time.Time, bool) {
	if c.half > 0 {
		c.hour = c.hour%12 + 12*(c.half-1)
	}
	if c.yearDay > 0 {
		c.day = c.yearDay
		c.month = 1
	}
	zone := time.UTC
	if c.offset != 0 {
		zone = time.FixedZone("", c.offset)
	}
	moment := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, c.nano, zone)
	if c.yearDay > 0 {
		return moment, moment.Year() == c.year
	}
	return moment, moment.Day() == c.day
}
