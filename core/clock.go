package core

import "time"

// FormatTime renders a time as clients see it: RFC 3339 in UTC with milliseconds.
func FormatTime(at time.Time) string {
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// OptionalTime renders a time that may not have come; null stands for it until then.
func OptionalTime(at *time.Time) Optional {
	if at == nil {
		return ""
	}
	return Optional(FormatTime(*at))
}

// Seconds converts an interval that the database returns in seconds.
func Seconds(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
