package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`null`, `"2026-03-01T09:15:04.128Z"`} {
		var at api.Time
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(at)
		if err != nil || string(again) != text || at.IsZero() != (text == `null`) {
			t.Errorf("time = %s (zero %t) and error %v, want %s", again, at.IsZero(), err, text)
		}
	}
	for _, text := range []string{`"soon"`, `""`} {
		var at api.Time
		if err := json.Unmarshal([]byte(text), &at); err == nil {
			t.Errorf("error = nil for %s, which is not a time, want one", text)
		}
	}
}

// TestWrittenForm is the form of every time and of every absent value in an answer.
func TestWrittenForm(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*60*60)
	come := time.Date(2026, 3, 1, 11, 15, 4, 120_999_000, zone)
	id := uuid.MustParse("00000000-0000-7000-8000-000000000001")
	for want, value := range map[string]any{
		`"2026-03-01T09:15:04.120Z"`:             api.At(come),
		`"2026-03-01T09:15:04.000Z"`:             api.MaybeAt(new(come.Truncate(time.Second))),
		`[null,null,null]`:                       []any{api.MaybeAt(nil), api.MaybeID(nil), api.Optional("")},
		`"a \"key\""`:                            api.Optional(`a "key"`),
		`"00000000-0000-7000-8000-000000000001"`: api.MaybeID(&id),
	} {
		if got, err := json.Marshal(value); err != nil || string(got) != want {
			t.Errorf("%v is written %s (error %v), want %s", value, got, err, want)
		}
	}
}
