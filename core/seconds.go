package core

import "time"

// Seconds converts an interval that the database returns in seconds.
func Seconds(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
