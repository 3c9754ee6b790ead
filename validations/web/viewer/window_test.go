package viewer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// lines writes a window as one text: marks in [], what is not shown as …n….
func lines(text Text) string {
	var b strings.Builder
	for _, line := range text.Lines {
		whole := ""
		if line.Whole {
			whole = "!"
		}
		fmt.Fprintf(&b, "%d%s:", line.Number, whole)
		for _, piece := range line.Pieces {
			switch {
			case piece.Skipped > 0:
				fmt.Fprintf(&b, "…%d…", piece.Skipped)
			case piece.Marked:
				b.WriteString("[" + piece.Text + "]")
			default:
				b.WriteString(piece.Text)
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "of %d", text.Total)
	return b.String()
}

func TestReadText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300) + "BAD" + strings.Repeat("z", 300)
	for name, tt := range map[string]struct {
		text   string
		window Window
		want   string
	}{
		"Empty":          {"", Window{From: 1, Count: 5}, "of 0"},
		"OneLine":        {"a", Window{From: 1, Count: 5}, "1:a\nof 1"},
		"EndOfLastLine":  {"a\nb\n", Window{From: 1, Count: 5}, "1:a\n2:b\nof 2"},
		"EmptyLines":     {"\n\nb", Window{From: 1, Count: 5}, "1:\n2:\n3:b\nof 3"},
		"Window":         {"a\nb\nc\nd\n", Window{From: 2, Count: 2}, "2:b\n3:c\nof 4"},
		"BeyondTheEnd":   {"a\nb\n", Window{From: 9, Count: 2}, "of 2"},
		"CarriageReturn": {"a\r\nb\rc\r\n", Window{From: 1, Count: 5}, "1:a\n2:b␍c\nof 2"},
		"ByteOrderMark": {
			"\xef\xbb\xbfab",
			Window{From: 1, Count: 1, Marks: []Mark{{Line: 1, Column: 1, Length: 1}}},
			"1:[a]b\nof 1",
		},
		"Marks": {
			"äbc\n", Window{From: 1, Count: 1, Marks: []Mark{
				{Line: 1, Column: 2, Length: 1}, {Line: 7, Column: 1, Length: 1},
			}}, "1:ä[b]c\nof 1",
		},
		"WholeLine": {
			"a,b\n", Window{From: 1, Count: 1, Marks: []Mark{{Line: 1}}}, "1!:a,b\nof 1",
		},
		"MarkBehindTheEnd": {
			"a\n", Window{From: 1, Count: 9, Marks: []Mark{{Line: 2, Column: 1}}}, "1:a\n2:\nof 2",
		},
		"LongLine": {
			long,
			Window{From: 1, Count: 1, Head: 4, Marks: []Mark{{Line: 1, Column: 301, Length: 3}}},
			"1:aaaa…236…" + strings.Repeat("a", 60) + "[BAD]" + strings.Repeat("z", 60) + "…240…\nof 1",
		},
		"Hostile": {
			"<b>\x00\x1b\u202e\u200b\xff\x7f\u2028</b>",
			Window{From: 1, Count: 1},
			"1:<b>␀␛\ufffd\ufffd\ufffd␡\ufffd</b>\nof 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.window.Head == 0 {
				tt.window.Head = 100
			}
			for reading, source := range map[string]io.Reader{
				"whole": strings.NewReader(tt.text), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.text)),
			} {
				got, err := readText(source, tt.window)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", reading, diff)
				}
			}
		})
	}
}

// A window never has more of a document than it shows, however long the lines are and however many marks they have.
func TestReadTextIsBounded(t *testing.T) {
	t.Parallel()
	marks := make([]Mark, 5000)
	for i := range marks {
		marks[i] = Mark{Line: 1, Column: 1 + i*200, Length: 1 << 20}
	}
	got, err := readText(strings.NewReader(strings.Repeat("x", 1<<20)+"\nend"),
		Window{From: 1, Count: 100, Head: 240, Marks: marks})
	if err != nil {
		t.Fatal(err)
	}
	size := len(lines(got))
	if size > 20_000 || got.Total != 2 || got.Lines[1].Plain() != "end" {
		t.Errorf("a window of %d bytes, %d lines, want at most 20,000 bytes of 2 lines", size, got.Total)
	}
}

func TestReadFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, text := range []string{"", "a\nb\nc", strings.Repeat("x", 100_000)} {
		source := func() io.Reader { return io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)) }
		for _, from := range []int{1, 50} {
			window := Window{From: from, Count: 2, Head: 9}
			if _, err := readText(source(), window); !errors.Is(err, broken) {
				t.Errorf("readText from %d: %v, want %v", from, err, broken)
			}
			if _, err := readTable(source(), nil, engines.Document{}, window); !errors.Is(err, broken) {
				t.Errorf("readTable from %d: %v, want %v", from, err, broken)
			}
		}
	}
}

// rows writes a window of a table as one text.
func rows(table Table) string {
	var b strings.Builder
	cells := func(cells []Cell) {
		for _, cell := range cells {
			text := cell.Text
			if cell.Cut {
				text += "…"
			}
			if cell.Marked {
				text = "[" + text + "]"
			}
			b.WriteString(" " + text)
		}
		b.WriteString("\n")
	}
	b.WriteString("columns")
	cells(table.Columns)
	for _, row := range table.Rows {
		marked := ""
		if row.Marked {
			marked = "!"
		}
		fmt.Fprintf(&b, "%d-%d%s", row.Line, row.Last, marked)
		cells(row.Cells)
	}
	fmt.Fprintf(&b, "%d hidden, of %d", table.Hidden, table.Total)
	return b.String()
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat("c,", 29) + "last\n" + strings.Repeat("1,", 29) + "bad\n"
	for name, tt := range map[string]struct {
		text, config string
		window       Window
		want         string
	}{
		"Cells": {
			"a,b\n1,2\n3,4\n", "",
			Window{Marks: []Mark{{Line: 3, Column: 3, Path: "b"}}},
			"columns a b\n2-2 1 2\n3-3 3 [4]\n0 hidden, of 3",
		},
		"SeveralColumns": {
			"a,b\n1,2\n", "",
			Window{Marks: []Mark{{Line: 2, Path: "a, b"}}},
			"columns a b\n2-2 [1] [2]\n0 hidden, of 2",
		},
		"WholeRow": {
			"a,b\n1\n", "",
			Window{Marks: []Mark{{Line: 2, Column: 1}}},
			"columns a b\n2-2! 1\n0 hidden, of 2",
		},
		"LinesInCells": {
			"a,b\n\"1\n2\",x\n3,4\n", "",
			Window{Marks: []Mark{{Line: 3, Path: "b"}}},
			"columns a b\n2-3 1 2 [x]\n4-4 3 4\n0 hidden, of 4",
		},
		"Window": {
			"a\n1\n2\n3\n4\n", "", Window{From: 3, Count: 2}, "columns a\n3-3 2\n4-4 3\n0 hidden, of 5",
		},
		"BrokenRow": {
			"a,b\n\"1\"x,2\n3,4\n", "", Window{}, "columns a b\n2-2! \"1\"x,2\n3-3 3 4\n0 hidden, of 3",
		},
		"Dialect": {
			"1;'a;b'\n",
			`{"dialect":{"delimiter":";","quote":"'","header":false},"schema":{"fields":[{"name":"n"}]}}`,
			Window{},
			"columns n \n1-1 1 a;b\n0 hidden, of 1",
		},
		"Header": {
			"a,b\n1,2\n", "",
			Window{Marks: []Mark{{Line: 1, Path: "b"}}},
			"columns a [b]\n2-2 1 2\n0 hidden, of 2",
		},
		"HeaderBelow": {
			"Log \"x\"\n\n# a,c\na,b\n1,2\n", `{"dialect":{"headerRows":[3],"commentChar":"#"}}`,
			Window{Marks: []Mark{{Line: 4, Path: "b"}}},
			"columns a [b]\n5-5 1 2\n0 hidden, of 5",
		},
		"ManyColumns": {
			wide, "",
			Window{Marks: []Mark{{Line: 2, Path: "last"}}},
			"columns" + strings.Repeat(" c", 19) + " last\n2-2" + strings.Repeat(" 1", 19) + " [bad]\n10 hidden, of 2",
		},
		"LongCell": {
			"a\n" + strings.Repeat("é", 50) + "\n", "",
			Window{Head: 3},
			"columns a\n2-2 ééé…\n0 hidden, of 2",
		},
		"Hostile": {
			"<b>,\x00\n\u202e,\xff\n", "", Window{}, "columns <b>,␀\n2-2! \ufffd,\ufffd\n0 hidden, of 2",
		},
		"Unclosed": {"a\n1\n\"", "", Window{}, "columns a\n2-2 1\n0 hidden, of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			window := Window{From: max(1, tt.window.From), Count: 10, Head: 40, Marks: tt.window.Marks}
			if tt.window.Count > 0 {
				window.Count = tt.window.Count
			}
			if tt.window.Head > 0 {
				window.Head = tt.window.Head
			}
			got, err := readTable(strings.NewReader(tt.text), []byte(tt.config), engines.Document{}, window)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, rows(got)); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsBinary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "a,b\r\n\x00": false, "PK\x03\x04": true, "%PDF-1.7": true, "\xff\xfea\x00": false,
		strings.Repeat("\x01", 20): true, strings.Repeat("text\n", 100) + "\x00\x01": false,
	} {
		if got := isBinary([]byte(text)); got != want {
			t.Errorf("isBinary(%.20q) = %t, want %t", text, got, want)
		}
	}
}
