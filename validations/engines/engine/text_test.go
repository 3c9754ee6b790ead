package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNearestNames(t *testing.T) {
	t.Parallel()
	candidates := []string{"floor_area_m2", "name", "id", "setpoint_c"}
	tests := map[string]string{
		"flor_area_m2": "floor_area_m2", "naem": "name", "Name": "name", "xd": "", "zzz": "", "setpoint": "setpoint_c",
		strings.Repeat("n", 1000): "", "flo": "", "floor": "floor_area_m2",
	}
	for name, want := range tests {
		if got := Nearest(name, candidates); got != want {
			t.Errorf("nearest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

func TestEditDistanceUpToALimit(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	word := func() []rune {
		letters := make([]rune, source.IntN(9))
		for i := range letters {
			letters[i] = 'a' + source.Int32N(3)
		}
		return letters
	}
	for range 20_000 {
		x, y := word(), word()
		full := editDistance(x, y, len(x)+len(y)+1)
		for limit := 1; limit < 5; limit++ {
			if got := editDistance(x, y, limit); got != min(full, limit) {
				t.Fatalf("distance of %q and %q up to %d = %d, want %d", x, y, limit, got, min(full, limit))
			}
		}
	}
}

// TestQuote holds that a message has the lines of a document, and nothing that databases refuse.
func TestQuote(t *testing.T) {
	t.Parallel()
	if got, want := Quote("a\r\nb\tc\x01\xff\x00"), "\"a\r\nb\tc\ufffd\ufffd\ufffd\""; got != want {
		t.Errorf("quote = %q, want %q", got, want)
	}
}
