package client

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a time that may be absent, such as the end of an unfinished run. The zero time is null in JSON.
type Time struct {
	time.Time
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

// MarshalJSON writes the time in UTC with milliseconds, or null for the zero time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Optional is an id, a key or an address that may be absent. It is null in JSON and "" here.
type Optional string

// MarshalJSON writes the value, or null where it is absent.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// Completed reports whether the run has ended.
func (r Run) Completed() bool { return r.State == RunStateCompleted }

// Ended reports whether the step is over, whatever it found.
func (s Step) Ended() bool {
	return s.Status == StepStatusPassed || s.Status == StepStatusFailed || s.Status == StepStatusSkipped
}
