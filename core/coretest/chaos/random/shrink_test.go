package random

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// units are parts of a run that can be left out: faults and clients, by their ids. Nil is all of them.
type units map[string]bool

func (u units) has(id string) bool { return u == nil || u[id] }

// unitsOf reads a list of units.
func unitsOf(list string) units {
	if list == "" {
		return nil
	}
	u := make(units)
	for id := range strings.SplitSeq(list, ",") {
		u[id] = true
	}
	return u
}

// shrink leaves out parts of what fails, halves at first and single ones in the end, as long as the rest fails. It
// begins with the last, without which a run is shorter.
func shrink(all []string, fails func(kept []string) bool) []string {
	for parts := 2; len(all) > 1; {
		size := (len(all) + parts - 1) / parts
		smaller := false
		for end := len(all); end > 0 && !smaller; end -= size {
			kept := slices.Concat(all[:max(0, end-size)], all[end:])
			if smaller = fails(kept); smaller {
				all, parts = kept, max(2, parts-1)
			}
		}
		if !smaller && size == 1 {
			break
		}
		if !smaller {
			parts = min(2*parts, len(all))
		}
	}
	return all
}

func TestShrink(t *testing.T) {
	t.Parallel()
	var all []string
	for n := range 100 {
		all = append(all, fmt.Sprint("o", n))
	}
	tried := 0
	got := shrink(all, func(kept []string) bool {
		tried++
		return slices.Contains(kept, "o7") && slices.Contains(kept, "o70")
	})
	if !slices.Equal(got, []string{"o7", "o70"}) || tried > 60 {
		t.Errorf("smallest = %v after %d tries, want o7 and o70 soon", got, tried)
	}
}
