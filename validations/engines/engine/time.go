package engine

import (
	"strconv"
	"strings"
	"time"
)

// ParseDateTime reads a date-time of RFC 3339. The standard library would also take an hour of one digit, and a comma
// before the fraction.
func ParseDateTime(text string) (time.Time, error) {
	moment, err := time.Parse(time.RFC3339, text)
	if err == nil && (text[len("2006-01-02T15")] != ':' || strings.Contains(text, ",")) {
		return time.Time{}, strconv.ErrSyntax
	}
	return moment, err
}
