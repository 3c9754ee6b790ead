package tablefile

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// xlsxReader reads the rows of one sheet of an Office Open XML workbook (ECMA-376, part 1) as a stream. Libraries that
// were tried end quietly where a sheet is damaged, which would pass it, and do not tell dates from numbers in a stream.
type xlsxReader struct {
	book    *workbook
	sheet   string
	parts   *xmlParts
	dialect Dialect
	limits  engine.Limits
	// width is the number of fields that a row has at least: spreadsheets leave out empty cells at the end.
	width int

	record
	// ahead is the next row that the file has, and pending its cells; rows between it and the current one are blank.
	ahead   int
	pending []Value
	ended   bool
}

// openXLSX opens the sheet of the dialect, or the first one.
func openXLSX(
	ctx context.Context, content *io.SectionReader, dialect Dialect, columns int, limits engine.Limits,
) (*xlsxReader, error) {
	book, err := openWorkbook(ctx, content, content.Size(), limits)
	if err != nil {
		return nil, err
	}
	sheet, err := book.sheet(dialect.Sheet)
	if err != nil {
		return nil, err
	}
	r, err := book.rows(ctx, sheet, dialect)
	if err == nil && !dialect.HasHeader() {
		r.width = columns
	}
	return r, err
}

// rows reads a sheet.
func (b *workbook) rows(ctx context.Context, sheet sheetEntry, dialect Dialect) (*xlsxReader, error) {
	const expansion, least = 32, 32 << 20
	parts, err := b.open(ctx, sheet.part, min(b.limits.MaxTableBytes, expansion*b.size+least))
	return &xlsxReader{book: b, sheet: sheet.name, parts: parts, dialect: dialect, limits: b.limits}, err
}

// again opens the first sheets, of which little is read to look into them.
func (r *xlsxReader) again(ctx context.Context, dialect Dialect) []Source {
	const most, look = 20, 1 << 20
	var opened []Source
	for _, sheet := range r.book.sheets[:min(most, len(r.book.sheets))] {
		if again, err := r.book.rows(ctx, sheet, dialect); err == nil {
			again.parts.source.source = io.LimitReader(again.parts.source.source, look)
			opened = append(opened, again)
		}
	}
	return opened
}

// Blank implements Source.
func (r *xlsxReader) Blank() bool {
	return allEmpty(r.cells)
}

// Place counts rows and columns of the sheet as lines and columns. The excerpt has the address that people know.
func (r *xlsxReader) Place(f engine.Finding, start int) engine.Finding {
	f.Line, f.Column = r.line, start+1
	f.Excerpt = r.sheet + "!" + columnLetters(start) + strconv.Itoa(r.line)
	if start < len(r.cells) && len(r.cells[start].Text) > 0 {
		text := r.cells[start].Text
		if shown := r.cells[start].Shown; shown != "" {
			text = []byte(shown)
		}
		f.Excerpt += ": " + engine.Excerpt(text, 0, r.limits.MaxExcerpt)
	}
	return f
}

// Next reads the next row; rows that the file leaves out are blank. The header is the first row with a value, or as the
// dialect says.
func (r *xlsxReader) Next() error {
	for {
		if err := r.nextRow(); err != nil {
			return err
		}
		first, last := 0, 0
		if rows := r.dialect.HeaderRows; len(rows) > 0 {
			first, last = rows[0], rows[len(rows)-1]
		}
		switch comment := r.dialect.CommentChar; {
		case comment != "" && len(r.cells) > 0 && bytes.HasPrefix(r.cells[0].Text, []byte(comment)):
			continue
		case r.line >= first && (r.width == 0 && !r.Blank() || r.line <= last):
			r.width = max(r.width, len(r.cells))
		}
		for len(r.cells) < r.width {
			r.cells = append(r.cells, Value{Start: len(r.cells), Native: NativeNull})
		}
		if r.width > 0 {
			return nil
		}
	}
}

func (r *xlsxReader) nextRow() error {
	r.line++
	if r.ahead < r.line && !r.ended {
		if err := r.readRow(); err != nil {
			return err
		}
	}
	r.cells = r.cells[:0]
	switch {
	case r.ahead == r.line:
		r.cells, r.pending = r.pending, r.cells
	case r.ended && r.ahead < r.line:
		return io.EOF
	}
	return nil
}

// readRow reads the next row that the file has into pending.
func (r *xlsxReader) readRow() error {
	for {
		start, err := r.parts.element("row", "sheetData")
		if errors.Is(err, io.EOF) {
			r.ended = true
			return r.parts.toEnd()
		}
		if err != nil {
			return err
		}
		if err := r.advance(start); err != nil {
			return err
		}
		if err := r.readCells(); err != nil {
			return err
		}
		if !allEmpty(r.pending) {
			return nil
		}
		// A row with formats but without values is left out as if the file did not have it.
	}
}

// maxSheetRows is how many rows a sheet can have.
const maxSheetRows = 1 << 20

// advance reads the number that a row says of itself, or takes the one after the last. Rows go downwards.
func (r *xlsxReader) advance(row xml.StartElement) error {
	number := r.ahead + 1
	if text := attribute(row, "r"); text != "" {
		var err error
		if number, err = strconv.Atoi(text); err != nil || number <= r.ahead {
			return r.malformed(fmt.Errorf("row %s is in the wrong place", engine.Quote(text)))
		}
	}
	if number > maxSheetRows {
		return final("csv.limit.rows", "a sheet has at most %d rows; the rest is not checked", maxSheetRows)
	}
	r.ahead, r.pending = number, r.pending[:0]
	return nil
}

func (r *xlsxReader) readCells() error {
	for {
		start, err := r.parts.element("c", "row")
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := r.cellColumn(start)
		if err != nil {
			return err
		}
		f, err := r.readCell(start)
		if err != nil {
			return err
		}
		if len(f.Text) == 0 {
			continue
		}
		if at >= r.limits.MaxColumns {
			return final("csv.limit.columns", "row has more than %d fields; the rest is not read", r.limits.MaxColumns)
		}
		for len(r.pending) < at {
			r.pending = append(r.pending, Value{Start: len(r.pending), Native: NativeNull})
		}
		f.Start = at
		r.pending = append(r.pending, f)
	}
}

// cellColumn is the column that a cell says of itself, or the one after the last. Cells go to the right.
func (r *xlsxReader) cellColumn(start xml.StartElement) (int, error) {
	reference := attribute(start, "r")
	if reference == "" {
		return len(r.pending), nil
	}
	at, err := columnOf(reference)
	if err != nil || at < len(r.pending) {
		return 0, r.malformed(fmt.Errorf("cell %s is in the wrong place", engine.Quote(reference)))
	}
	return at, nil
}

// readCell reads the value of one cell: its v, or its is for a text that stands in the cell itself. A formula whose
// value was not saved is a fault.
func (r *xlsxReader) readCell(start xml.StartElement) (Value, error) {
	var value, inline, formula strings.Builder
	kind, isSaved, depth := attribute(start, "t"), false, len(r.parts.path)
	for {
		token, err := r.parts.Token()
		if err != nil {
			return Value{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "f":
				formula.WriteByte('=')
			case "v":
				isSaved = kind == "str" // It may be empty.
			}
		case xml.EndElement:
			if len(r.parts.path) >= depth {
				continue
			}
			if formula.Len() > 0 && value.Len() == 0 && !isSaved {
				return Value{Text: []byte(formula.String()), Native: NativeFault}, nil
			}
			return r.typed(kind, attribute(start, "s"), value.String(), inline.String())
		case xml.CharData:
			switch strings.Join(r.parts.path[depth:], "/") {
			case "f":
				formula.Write(t)
			case "v":
				value.Write(t)
			case "is/t", "is/r/t":
				inline.Write(t)
			}
		}
	}
}

// typed reads a value by the type and the style of its cell (ECMA-376 part 1, 18.18.11).
func (r *xlsxReader) typed(kind, style, value, inline string) (Value, error) {
	switch kind {
	case "s":
		return r.shared(value)
	case "inlineStr":
		return Value{Text: []byte(inline)}, nil
	case "str":
		return Value{Text: []byte(value)}, nil
	case "e":
		return Value{Text: []byte(value), Native: NativeFault}, nil
	case "b":
		isTrue := strings.TrimSpace(value) == "1" || value == "true"
		return Value{Text: strconv.AppendBool(nil, isTrue), Native: NativeTruth}, nil
	case "d":
		if when, ok := parseMoment(value, []string{time.RFC3339Nano, layoutLocal, time.DateOnly}); ok {
			return Value{Text: []byte(value), Native: NativeTime, When: when}, nil
		}
		return Value{Text: []byte(value)}, nil
	default:
		return r.number(value, style)
	}
}

// shared is one of the texts that the cells of a workbook share.
func (r *xlsxReader) shared(index string) (Value, error) {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(r.book.strings.ends) {
		return Value{}, r.malformed(fmt.Errorf("there is no shared string %s", engine.Quote(index)))
	}
	return Value{Text: r.book.strings.at(i)}, nil
}

// number is a number by its style: a time, or a number as people see it.
func (r *xlsxReader) number(value, index string) (Value, error) {
	if value == "" {
		return Value{}, nil
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
		return Value{}, r.malformed(fmt.Errorf("the number %s cannot be read", engine.Quote(value)))
	}
	style := r.book.styles.of(index)
	if when, ok := serialTime(number, r.book.from1904); ok && style.isTime {
		return Value{Text: []byte(timeText(when, number)), Native: NativeTime, When: when}, nil
	}
	text := strconv.FormatFloat(number, 'g', -1, 64)
	// Identifiers have 16 digits and more; larger numbers are written with an exponent everywhere.
	const plainBelow = 1e21
	if math.Abs(number) < plainBelow {
		text = strconv.FormatFloat(number, 'f', -1, 64)
	}
	shown := text
	if missing := style.digits - len(shown); missing > 0 && !strings.ContainsAny(shown, "-.e") {
		shown = strings.Repeat("0", missing) + shown
	}
	return Value{Text: []byte(text), Native: NativeNumber, Shown: shown}, nil
}

// serialTime is the time that a number of days means. Days are counted from 1900 as if that had been a leap year, or
// from 1904.
func serialTime(days float64, from1904 bool) (time.Time, bool) {
	const leapDay, lastDay = 60, 2958466
	if days < 0 || days >= lastDay {
		return time.Time{}, false
	}
	epoch := time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		epoch = time.Date(1904, time.January, 1, 0, 0, 0, 0, time.UTC)
	case days < leapDay:
		epoch = epoch.AddDate(0, 0, 1)
	}
	whole, part := math.Modf(days)
	// A double has the time of a day to about a microsecond; spreadsheets show milliseconds.
	offset := time.Duration(math.Round(part*24*60*60*1000)) * time.Millisecond
	return epoch.AddDate(0, 0, int(whole)).Add(offset), true
}

// timeText writes a time of a cell as Table Schema does: without a date below one day, without a time at midnight.
func timeText(when time.Time, days float64) string {
	switch whole, part := math.Modf(days); {
	case whole == 0 && part > 0:
		return when.Format("15:04:05.999")
	case part == 0:
		return when.Format(time.DateOnly)
	default:
		return when.Format("2006-01-02T15:04:05.999")
	}
}

func (r *xlsxReader) malformed(err error) error {
	r.line = max(r.line, r.ahead)
	return malformedWorkbook(err)
}

func malformedWorkbook(err error) error {
	return final("csv.malformed", "the workbook is damaged: %s", engine.ClipTo(err.Error(), engine.MaxMessage))
}

func allEmpty(fields []Value) bool {
	return !slices.ContainsFunc(fields, func(f Value) bool { return len(f.Text) > 0 })
}

// columnOf is the index of the column in a reference such as AB12.
func columnOf(reference string) (int, error) {
	const letters, maxLetters = 26, 3
	column, i := 0, 0
	for ; i < len(reference) && reference[i] >= 'A' && reference[i] <= 'Z'; i++ {
		column = column*letters + int(reference[i]-'A') + 1
	}
	if i == 0 || i > maxLetters {
		return 0, strconv.ErrSyntax
	}
	return column - 1, nil
}

// columnLetters is the name of a column in a spreadsheet.
func columnLetters(column int) string {
	const letters = 26
	name := ""
	for column++; column > 0; column = (column - 1) / letters {
		name = string(rune('A'+(column-1)%letters)) + name
	}
	return name
}
