package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestColumnsOfLongLines(t *testing.T) {
	t.Parallel()
	text := []byte("\naaaaa" + strings.Repeat("€é", 64<<10) + "\xff\xbf" + strings.Repeat("z", 9))
	lines := NewLines(text, 10)
	for offset := 1; offset < len(text); offset += 997 {
		want := utf8.RuneCount(text[1:offset]) + 1
		if got := lines.Place(Finding{}, offset).Column; got != want {
			t.Fatalf("column of offset %d = %d, want %d", offset, got, want)
		}
		if !utf8.RuneStart(text[offset]) {
			continue
		}
		byColumn, byOffset := lines.PlaceLine(Finding{}, 2, want).Excerpt, lines.Place(Finding{}, offset).Excerpt
		if byColumn != byOffset {
			t.Fatalf("excerpt at column %d = %q, at its offset %q", want, byColumn, byOffset)
		}
	}
}

func TestExcerpts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300) + "X" + strings.Repeat("ü", 300)
	index := NewLines([]byte("one\r\n"+long+"\nlast"), 10)
	tests := []struct {
		offset, line, column int
		excerpt              string
	}{
		{0, 1, 1, "one"},
		{5 + 600, 2, 301, "éééééXüüüü"},
		{5, 2, 1, "éééééééééé"},
		{10_000, 3, 5, "last"},
	}
	for _, tt := range tests {
		got := index.Place(Finding{}, tt.offset)
		want := Finding{Line: tt.line, Column: tt.column, Excerpt: tt.excerpt}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("place of %d (-want +got):\n%s", tt.offset, diff)
		}
	}
}
