package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Time is a time that may be absent, such as the end of an unfinished run. The zero time is null in JSON.
type Time struct {
	time.Time
}

// At is a time that is known.
func At(at time.Time) Time { return Time{at} }

// MaybeAt is a time that may be absent.
func MaybeAt(at *time.Time) Time {
	if at == nil {
		return Time{}
	}
	return Time{*at}
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// String returns the time as it is in JSON, RFC 3339 in UTC with milliseconds; "" for the zero time.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// MarshalJSON writes the time, or null for the zero time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return t.UTC().AppendFormat(nil, `"`+timeLayout+`"`), nil
}

// UnmarshalJSON reads a time, or null.
func (t *Time) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		t.Time = time.Time{}
		return nil
	}
	if err := t.Time.UnmarshalJSON(text); err != nil {
		return fmt.Errorf("read a time: %w", err)
	}
	return nil
}

// Optional is an id, a key or an address that may be absent. It is "" in Go and null in JSON, because typed clients
// parse such values. Texts for people are plain strings, which are never null.
type Optional string

// MaybeID is the id of an object that may not exist.
func MaybeID(id *uuid.UUID) Optional {
	if id == nil {
		return ""
	}
	return Optional(id.String())
}

// MarshalJSON writes the value, or null where it is absent.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Page is one page of a list, newest first. Next and Previous are the relative addresses of the pages beside it, absent
// at the ends of the list.
type Page[T any] struct {
	Next     Optional `json:"next"`
	Previous Optional `json:"previous"`
	Results  []T      `json:"results"`
}

var roles = []Role{RoleViewer, RoleExecutor, RoleAuthor, RoleAdmin, RoleOwner}

// Roles lists the roles from the least to the most.
func Roles() []Role { return slices.Clone(roles) }

// Allows reports whether the role includes the needed one. An unknown role allows nothing.
func (r Role) Allows(needed Role) bool {
	have := slices.Index(roles, r)
	return have >= 0 && have >= slices.Index(roles, needed)
}

// Lesser returns the lower of two roles.
func (r Role) Lesser(other Role) Role {
	if r.Allows(other) {
		return other
	}
	return r
}

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Name is what the parameter or the member is called in a form.
func (f FieldError) Name() string {
	if f.Parameter != "" {
		return f.Parameter
	}
	return strings.ReplaceAll(strings.TrimPrefix(f.Pointer, "/"), "/", "-")
}

// Completed reports whether the run has ended.
func (r Run) Completed() bool { return r.State == RunStateCompleted }

// Ended reports whether the step is over, whatever it found.
func (s Step) Ended() bool {
	return s.Status == StepStatusPassed || s.Status == StepStatusFailed || s.Status == StepStatusSkipped
}
