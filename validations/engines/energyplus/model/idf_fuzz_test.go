package model

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// FuzzIDF reads whatever comes: it never panics, places faults inside of the text, and loses no text.
func FuzzIDF(f *testing.F) {
	for _, seed := range []string{
		"Version,23.2;", "Zone,\r\n A, !- Name\n ,\r;\n", "a,b", ";", ",,,;", "! only\n", "##include x\n", "\x00",
		"a!\n,b;", "é,ü;", "0,0\r0;",
	} {
		f.Add(seed)
	}
	limits := engine.DefaultLimits()
	limits.MaxValues = 1000
	f.Fuzz(func(t *testing.T, text string) {
		objects, fault := parseIDF([]byte(text), limits)
		if fault != nil {
			if fault.At.Offset < 0 || fault.At.Offset > len(text) || fault.Message == "" {
				t.Errorf("fault %+v lies outside of %q", fault, text)
			}
			return
		}
		separators := 0
		for _, object := range objects {
			for _, token := range append([]idfToken{object.class}, object.fields...) {
				if !strings.HasPrefix(text[token.offset:], token.text) {
					t.Errorf("%q is not at %d of %q", token.text, token.offset, text)
				}
				// A number may end with its line.
				if token.open == closed {
					separators++
				}
			}
		}
		if got := countSeparators(text); got != separators {
			t.Errorf("texts of %q = %d, want %d", text, separators, got)
		}
	})
}

// countSeparators counts what ends texts, outside of comments and without semicolons between objects.
func countSeparators(text string) int {
	n, comment, inside := 0, false, false
	for _, char := range text {
		switch {
		case char == '\n' || char == '\r':
			comment = false
		case char == '!':
			comment = true
		case comment || strings.ContainsRune(" \t\f\v", char):
		case char == ',':
			n++
		case char != ';':
			inside = true
		case inside:
			n++
			inside = false
		}
	}
	return n
}

//nolint:paralleltest // it measures time
func TestReadingModelsTakesLinearTime(t *testing.T) {
	measure := func(n int) time.Duration {
		text := []byte(strings.Repeat("Zone,a!b\n,c;", n) + strings.Repeat("!", n) + "\n" + strings.Repeat(" \t", n))
		best := time.Hour
		for range 3 {
			began := processorTime(t)
			if _, fault := parseIDF(text, engine.DefaultLimits()); fault != nil {
				t.Fatalf("read: %v", fault)
			}
			best = min(best, processorTime(t)-began)
		}
		return best
	}
	small, large := measure(10_000), measure(160_000)
	if large > 16*8*max(small, time.Millisecond) {
		t.Errorf("16 times the text took %v after %v, want about 16 times as long", large, small)
	}
}

// processorTime is what this process has computed, however busy the machine is with others.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
