package viewer

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations"
)

// Text is a window of lines.
type Text struct {
	Lines []Line
	// Total is the number of lines of the document.
	Total int
}

// Line is a line of a text.
type Line struct {
	Number int
	Pieces []Piece
	// Length is the number of its characters.
	Length int
	// Whole is set if a mark is about the whole line.
	Whole bool
	// Notes are the findings on the line, and Tone is that of the gravest; "" for a line without one.
	Notes []validations.ShownFinding
	Tone  string
	// Here says that the address of the page names this line.
	Here bool
}

// Piece is a part of a line: a text, or the number of characters that are not shown.
type Piece struct {
	Text    string
	Marked  bool
	Skipped int64
}

// Cut reports whether a part of the line is not shown.
func (l Line) Cut() bool {
	return slices.ContainsFunc(l.Pieces, func(p Piece) bool { return p.Skipped > 0 })
}

// Plain is the text of the line up to the first part that is not shown.
func (l Line) Plain() string {
	var text strings.Builder
	for _, piece := range l.Pieces {
		if piece.Skipped > 0 {
			break
		}
		text.WriteString(piece.Text)
	}
	return text.String()
}

const (
	// lineMarks bounds the marks of one line.
	lineMarks = 20
	// around is how many characters on each side of a mark are shown in a line that is too long.
	around = 60
)

// readText reads a window of lines from a source in UTF-8.
func readText(source io.Reader, window Window) (Text, error) {
	counter := &lineCounter{source: source}
	reader := bufio.NewReaderSize(counter, buffer)
	if err := skipBOM(reader); err != nil {
		return Text{}, err
	}
	marks := make(map[int][]Mark)
	for _, mark := range window.Marks {
		marks[mark.Line] = append(marks[mark.Line], mark)
	}
	var text Text
	err := skipLines(reader, window.From-1)
	for number := window.From; err == nil && number < window.From+window.Count; number++ {
		line := newLineReader(number, marks[number], window.Head)
		if err = line.read(reader); err == nil || line.line.Length > 0 || len(marks[number]) > 0 {
			text.Lines = append(text.Lines, line.line)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return Text{}, fmt.Errorf("read a document: %w", err)
	}
	text.Total, err = counter.total()
	if n := len(text.Lines); n > 0 {
		text.Total = max(text.Total, text.Lines[n-1].Number)
	}
	return text, err
}

func skipBOM(reader *bufio.Reader) error {
	const mark = "\xef\xbb\xbf"
	head, err := reader.Peek(len(mark))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a document: %w", err)
	}
	if string(head) == mark {
		_, err = reader.Discard(len(mark))
		return err
	}
	return nil
}

func skipLines(reader *bufio.Reader, count int) error {
	for count > 0 {
		switch _, err := reader.ReadSlice('\n'); {
		case err == nil:
			count--
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
	return nil
}

// span is a range of characters of a line.
type span struct{ begin, end int }

// lineReader keeps the shown parts of a line.
type lineReader struct {
	line Line
	// shown and marked are ranges in their order, without those that the reading has passed.
	shown, marked []span
	text          strings.Builder
	isMarked      bool
	skipped       int64
}

func newLineReader(number int, marks []Mark, head int) *lineReader {
	r := &lineReader{line: Line{Number: number}}
	marks = slices.SortedFunc(slices.Values(marks), func(a, b Mark) int { return cmp.Compare(a.Column, b.Column) })
	r.shown = []span{{0, head}}
	for _, mark := range marks[:min(len(marks), lineMarks)] {
		if mark.Column == 0 {
			r.line.Whole = true
			continue
		}
		marked := span{mark.Column - 1, mark.Column - 1 + min(max(mark.Length, 1), head)}
		r.marked = append(r.marked, marked)
		r.shown = append(r.shown, span{marked.begin - around, marked.end + around})
	}
	return r
}

// read reads the line to its end. The error is io.EOF if the document ends there.
func (r *lineReader) read(reader *bufio.Reader) error {
	returned := false
	for {
		char, _, err := reader.ReadRune()
		if err == nil && char == '\n' || errors.Is(err, io.EOF) {
			r.end()
			return err
		}
		if err != nil {
			return err
		}
		if returned {
			r.add('\r')
		}
		if returned = char == '\r'; returned {
			continue
		}
		r.add(char)
	}
}

func (r *lineReader) add(char rune) {
	at := r.line.Length
	r.line.Length++
	if !within(&r.shown, at) {
		r.flush()
		r.skipped++
		return
	}
	if r.skipped > 0 {
		r.line.Pieces = append(r.line.Pieces, Piece{Skipped: r.skipped})
		r.skipped = 0
	}
	if marked := within(&r.marked, at); marked != r.isMarked {
		r.flush()
		r.isMarked = marked
	}
	r.text.WriteRune(visible(char))
}

func (r *lineReader) flush() {
	if r.text.Len() > 0 {
		r.line.Pieces = append(r.line.Pieces, Piece{Text: r.text.String(), Marked: r.isMarked})
		r.text.Reset()
	}
}

func (r *lineReader) end() {
	r.flush()
	if r.skipped > 0 {
		r.line.Pieces = append(r.line.Pieces, Piece{Skipped: r.skipped})
	}
}

// within reports whether a character is in one of the ranges, which are in the order of their beginnings. It drops
// those that end before the character.
func within(spans *[]span, at int) bool {
	for len(*spans) > 0 && (*spans)[0].end <= at {
		*spans = (*spans)[1:]
	}
	return slices.ContainsFunc(*spans, func(s span) bool { return s.begin <= at && at < s.end })
}
