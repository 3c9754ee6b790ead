package main

import (
	"strings"
	"testing"
	"time"
)

func TestOther(t *testing.T) {
	t.Parallel()

	t.Run("NamesWhatToInstall", func(t *testing.T) {
		t.Parallel()
		const want = "needs the Debian packages puma, ruby-sequel"
		o := other{name: "Ruby", probe: []string{"/nowhere/ruby"}, remedy: want}
		missing, err := o.missing(t.Context())
		if err != nil {
			t.Fatalf("look for packages: %v", err)
		}
		got := o.goal(nil, missing)
		if got.note != want || got.verdict() != "not measured" {
			t.Errorf("note = %q, %s, want %q, not measured", got.note, got.verdict(), want)
		}
	})

	t.Run("ComparesRates", func(t *testing.T) {
		t.Parallel()
		o := other{name: "Ruby"}
		pairs := []pair{{yardstick: made(100, time.Second), service: made(2000, time.Second)}}
		var page strings.Builder
		writeGoals(&page, []goal{o.goal(pairs, o.note(pairs))})
		const want = "in Ruby | at least 15.00 times | 20.00 times |  | met | " +
			"2,000 a second with 300 µs of PostgreSQL and 150 µs of the service each, " +
			"Ruby 100 with 6000 µs and 3000 µs |"
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no line with %q:\n%s", want, page.String())
		}
	})
}
