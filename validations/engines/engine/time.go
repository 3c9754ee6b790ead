package engine

import (
	"strconv"
	"strings"
	"time"
)

// ParseDateTime reads a date-time of RFC 3339. The standard library would also take an hour of one digit, a comma
// before the fraction, and zones such as +24:00 and +01:60.
func ParseDateTime(text string) (time.Time, error) {
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, err
	}
	const hour, zone = len("2006-01-02T15"), len("+01:00")
	if text[hour] != ':' || strings.Contains(text, ",") {
		return time.Time{}, strconv.ErrSyntax
	}
	if at := len(text) - zone; text[len(text)-1] != 'Z' && (text[at+1:at+3] > "23" || text[at+4:] > "59") {
		return time.Time{}, strconv.ErrRange
	}
	return moment, nil
}
