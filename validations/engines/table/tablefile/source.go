// Package tablefile reads the records of a table from CSV, XLSX, JSON Lines and Parquet as streams, in bounded memory.
// It knows the columns by their names only; what their values have to be is the matter of package tableschema.
package tablefile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Source gives the records of a table one by one, whatever the format of its file. A record and its values are valid
// until the next one is read.
type Source interface {
	// Next reads one record. It returns io.EOF after the last one and *Error for one that cannot be read.
	Next() error
	// Blank says that the current record has no text.
	Blank() bool
	// Values are those of the current record.
	Values() []Value
	// At is the line of the file or the row of the sheet where the current record begins.
	At() int
	// Place fills in where a value of the current record is that begins at start.
	Place(f engine.Finding, start int) engine.Finding
}

// Value is one value of a record.
type Value struct {
	Text []byte
	// Start tells Place where the value is.
	Start  int
	Native Native
	// When is the value of a time.
	When time.Time
	// Shown is what a spreadsheet shows of a number, where that is not its text.
	Shown string
}

// record is the current record of a source.
type record struct {
	cells []Value
	// line is where it begins: the line of the file, or the row of the sheet.
	line int
}

// Values implements Source.
func (r *record) Values() []Value { return r.cells }

// At implements Source.
func (r *record) At() int { return r.line }

// Native is the type that a value has in its file. In CSV every value is a text.
type Native byte

// The types of values. NativeFault is a cell of a spreadsheet whose formula failed.
const (
	NativeText Native = iota
	NativeNull
	NativeNumber
	NativeTruth
	NativeTime
	NativeJSON
	NativeFault
)

// Error is why the rest of a table cannot be read, or why one record cannot.
type Error struct {
	Code    string
	Message string
	// Offset is where in the record the reason lies.
	Offset int
	// Final says that nothing after it can be read.
	Final bool
}

// Error makes it an error of the source.
func (e *Error) Error() string {
	return e.Message
}

// final is the error after which nothing of a table can be read.
func final(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Final: true}
}

// typeOf is the media type of a table, or what its name ends with stands for where the type says nothing.
func typeOf(doc engine.Document) string {
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err != nil || mediaType == mediatype.Binary {
		if types := mediatype.OfName(path.Base(doc.Filename)); len(types) > 0 {
			mediaType = types[0]
		}
	}
	return mediatype.Canonical(strings.ToLower(mediaType))
}

// IsCSV reports whether a document is a table whose rows are lines of text.
func IsCSV(doc engine.Document) bool {
	return !slices.Contains([]string{mediatype.XLSX, mediatype.JSONLines, mediatype.Parquet}, typeOf(doc))
}

// Open returns the records of a document, for columns of these names; close them. Its error is *Error where the
// document is at fault.
//
//nolint:ireturn // which source it is depends on the document
func Open(
	ctx context.Context, doc engine.Document, content *io.SectionReader, d Dialect, columns []string,
	limits engine.Limits,
) (Source, error) {
	switch typeOf(doc) {
	case mediatype.XLSX:
		return openXLSX(ctx, content, d, len(columns), limits)
	case mediatype.JSONLines:
		return newJSONLines(content, columns, limits), nil
	case mediatype.Parquet:
		return openParquet(ctx, doc, d, limits)
	default:
		encoding, err := d.Charset(content, doc.MediaType)
		if err != nil {
			return nil, err
		}
		decode, known := engine.DecoderFor(encoding)
		if !known {
			return nil, fmt.Errorf("unknown encoding %q in a compiled table", encoding)
		}
		return newCSV(decode(content), d.csv(doc), limits), nil
	}
}

// Again opens a table once more from its start, to look into it: of a workbook the first sheets. What cannot be opened
// is left out, and so is a table of Parquet, whose header has no other place.
func Again(ctx context.Context, records Source, doc engine.Document, d Dialect, limits engine.Limits) []Source {
	d.HeaderRows = nil
	switch records := records.(type) {
	case *xlsxReader:
		return records.again(ctx, d)
	case *CSV:
		again, err := Open(ctx, doc, io.NewSectionReader(doc.Content, 0, doc.Size), d, nil, limits)
		if err == nil {
			return []Source{again}
		}
	}
	return nil
}

// SheetOf is the name of the sheet that a source reads, "" if there is none.
func SheetOf(records Source) string {
	if sheet, ok := records.(*xlsxReader); ok {
		return sheet.sheet
	}
	return ""
}

// Close ends what goes on behind some sources.
func Close(records Source) {
	if closer, ok := records.(io.Closer); ok {
		_ = closer.Close() // Everything that was wanted is read.
	}
}

// CheckEnd makes sure that a table of text that ended was read to the end of its document.
func CheckEnd(records Source, content *io.SectionReader) error {
	switch records.(type) {
	case *CSV, *JSONLines:
		if at, err := content.Seek(0, io.SeekCurrent); err != nil || at < content.Size() {
			return fmt.Errorf("read table: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
	}
	return nil
}

// window is how much of a file of text is read at once.
const window = 64 << 10

// lineReader reads lines up to a length.
type lineReader struct {
	source *bufio.Reader
	most   int
}

// read appends the next line to a text. The error is io.EOF at the end, also behind a last line without an end.
func (r lineReader) read(line []byte) ([]byte, error) {
	for {
		part, err := r.source.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > r.most:
			return line, final("csv.limit.record", "row is longer than %d bytes", r.most)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && !errors.Is(err, io.EOF):
			return line, fmt.Errorf("read table: %w", err)
		default:
			return line, err
		}
	}
}

// jsonTypes are the types of values of JSON other than texts.
var jsonTypes = map[jsontext.Kind]Native{
	'n': NativeNull, 't': NativeTruth, 'f': NativeTruth, '0': NativeNumber, '{': NativeJSON, '[': NativeJSON,
}

// scalar reads a value of JSON.
func scalar(value jsontext.Value) (Value, error) {
	if native, isOther := jsonTypes[value.Kind()]; isOther {
		return Value{Native: native, Text: bytes.Clone(value)}, nil
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return Value{Text: text}, err
}

// parseMoment reads a time of one of the layouts. A time without a zone is one in UTC.
func parseMoment(text string, layouts []string) (time.Time, bool) {
	for _, layout := range layouts {
		if when, err := time.Parse(layout, text); err == nil {
			return when.UTC(), true
		}
	}
	return time.Time{}, false
}
