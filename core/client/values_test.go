package client_test

import (
	"encoding/json"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/client"
)

func TestTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`null`, `"2026-03-01T09:15:04.128Z"`} {
		var at client.Time
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(at)
		if err != nil || string(again) != text || at.IsZero() != (text == `null`) {
			t.Errorf("time = %s (zero %t) and error %v, want %s", again, at.IsZero(), err, text)
		}
	}
	for _, text := range []string{`"soon"`, `""`} {
		var at client.Time
		if err := json.Unmarshal([]byte(text), &at); err == nil {
			t.Errorf("error = nil for %s, which is not a time, want one", text)
		}
	}
}
