package core

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Optional is a member of an answer that may be absent: a time, an address, an id, a key. The empty one is null in
// JSON, never "", because typed clients parse such values. Texts for people are plain strings, which are never null.
type Optional string

// MarshalJSON writes the value, or null where it is absent.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// OptionalID renders the id of an object that may not exist.
func OptionalID(id *uuid.UUID) Optional {
	if id == nil {
		return ""
	}
	return Optional(id.String())
}

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
