package pages

import (
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// formTime is the layout of times in forms, in UTC.
const formTime = "2006-01-02 15:04"

// ReadTime reads a time of a form in any of the layouts that people and programs use.
func ReadTime(name, text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" {
		return "", nil
	}
	for _, layout := range []string{
		formTime, time.DateTime, time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339,
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format(time.RFC3339), nil
		}
	}
	return text, core.InvalidParameter(name, "must be a day or a time like 2026-03-01 09:30, in UTC")
}

// TimeField is a time as ReadTime returns it, for a form to show.
func TimeField(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC().Format(formTime)
	}
	return text
}
