package tablefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// csvDialect is how a table is written. A quote of 0 means that nothing is quoted.
type csvDialect struct {
	delimiter byte
	quote     byte
	// comment is what lines begin with that are left out; "" leaves out none.
	comment string
	// skipsSpace says that spaces before a field are no part of it.
	skipsSpace bool
}

// CSV is a table of lines of text. It reads records one by one and keeps only the current one. The standard library's
// reader has no bound on a field and counts columns in bytes.
type CSV struct {
	source  *bufio.Reader
	dialect csvDialect

	// The start of a value includes its quote.
	textRecord
	// nextLine is the line behind the current record.
	nextLine int
	// values holds the texts of the cells, with quotes removed; ends are their ends in it.
	values []byte
	ends   []int
}

func newCSV(source io.Reader, dialect csvDialect, limits engine.Limits) *CSV {
	r := &CSV{source: bufio.NewReaderSize(source, window), dialect: dialect, nextLine: 1}
	r.limits = limits
	r.skip(engine.BOM)
	return r
}

// skip passes over a text if it comes next. An error comes again with the next byte.
func (r *CSV) skip(text string) {
	if head, _ := r.source.Peek(len(text)); string(head) == text {
		_, _ = r.source.Discard(len(text)) // It was looked at.
	}
}

// Raw is the current record as it stands in the file, without the end of its last line.
func (r *CSV) Raw() []byte {
	return r.raw
}

// ForeignFormat names the format of a file by its first bytes, where it is one that people rename to .csv.
func ForeignFormat(head []byte) string {
	for _, known := range []struct{ magic, name string }{
		{"PK\x03\x04", "a spreadsheet (.xlsx, .ods) or a ZIP archive; send .xlsx as such, or export the sheet as CSV"},
		{"\xd0\xcf\x11\xe0", "a spreadsheet of Excel (.xls); export the sheet as CSV"},
		{"\x1f\x8b", "a file compressed by gzip; decompress it"},
		{"PAR1", "Parquet; export the table as CSV"},
	} {
		if bytes.HasPrefix(head, []byte(known.magic)) {
			return known.name
		}
	}
	return ""
}

// Blank reports whether the current record is a line without any text.
func (r *CSV) Blank() bool {
	return len(r.raw) == 0
}

// textRecord is the current record of a text. The start of a value is its offset in raw.
type textRecord struct {
	record

	limits engine.Limits
	// raw is the current record as it stands in the file, without the end of its last line.
	raw []byte
}

// Place implements Source.
func (r *textRecord) Place(f engine.Finding, start int) engine.Finding {
	start = min(start, len(r.raw))
	begin := bytes.LastIndexByte(r.raw[:start], '\n') + 1
	end := len(r.raw)
	if length := bytes.IndexByte(r.raw[begin:], '\n'); length >= 0 {
		end = begin + length
	}
	f.Line = r.line + bytes.Count(r.raw[:start], []byte("\n"))
	f.Column = utf8.RuneCount(r.raw[begin:start]) + 1
	f.Excerpt = engine.Excerpt(r.raw[begin:end], start-begin, r.limits.MaxExcerpt)
	return f
}

// Next reads one record, up to the end of a line that no quote holds open. It returns io.EOF at the end and *Error
// for a record that cannot be read.
func (r *CSV) Next() error {
	r.begin()
	for r.dialect.comment != "" {
		// What cannot be looked at is read below, with its error.
		if head, _ := r.source.Peek(len(r.dialect.comment)); string(head) != r.dialect.comment {
			break
		}
		if err := r.skipLine(); err != nil {
			return err
		}
		r.begin()
	}
	for {
		more, err := r.cell()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if len(r.cells) >= r.limits.MaxColumns {
			return final("csv.limit.columns", "row has more than %d fields; the rest is not read", r.limits.MaxColumns)
		}
	}
	begin := 0
	for i, end := range r.ends {
		r.cells[i].Text = r.values[begin:end:end]
		begin = end
	}
	if at := engine.BadTextAt(r.raw); at >= 0 {
		return &Error{Code: "csv.encoding", Message: "the row is not text in the table's encoding", Offset: at}
	}
	return nil
}

// begin begins a record on the next line.
func (r *CSV) begin() {
	r.line = r.nextLine
	r.raw, r.values = r.raw[:0], r.values[:0]
	r.ends, r.cells = r.ends[:0], r.cells[:0]
}

// cell reads one field and the delimiter or line end behind it. It answers whether another field follows.
func (r *CSV) cell() (bool, error) {
	start := len(r.raw)
	b, err := r.byte()
	for err == nil && b == ' ' && r.dialect.skipsSpace {
		start = len(r.raw)
		b, err = r.byte()
	}
	switch {
	case err != nil:
	case b == r.dialect.quote && r.dialect.quote != 0:
		b, err = r.quoted(start)
	default:
		b, err = r.plain(start, b)
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(r.raw) == 0) {
		return false, err
	}
	r.cells = append(r.cells, Value{Start: start})
	r.ends = append(r.ends, len(r.values))
	if err == nil && b != r.dialect.delimiter {
		r.endLine(b)
	}
	return err == nil && b == r.dialect.delimiter, nil
}

// plain reads to the end of a field that is not quoted and returns the byte that ended it.
func (r *CSV) plain(start int, b byte) (byte, error) {
	var err error
	for err == nil && b != r.dialect.delimiter && b != '\n' && b != '\r' {
		// Up to the end of the field or of the buffer the bytes are taken together.
		ahead, _ := r.source.Peek(min(r.source.Buffered(), r.limits.MaxRecordBytes-len(r.raw)))
		n := 0
		for n < len(ahead) && ahead[n] != r.dialect.delimiter && ahead[n] != '\n' && ahead[n] != '\r' {
			n++
		}
		r.raw = append(r.raw, ahead[:n]...)
		_, _ = r.source.Discard(n) // It is there.
		b, err = r.byte()
	}
	end := len(r.raw)
	if err == nil {
		end--
	}
	r.values = append(r.values, r.raw[start:end]...)
	return b, err
}

// quoted reads a quoted field, in which the quote itself is doubled and lines may end.
func (r *CSV) quoted(start int) (byte, error) {
	for {
		b, err := r.byte()
		if errors.Is(err, io.EOF) {
			message := "a quoted field is not closed"
			return 0, &Error{Code: "csv.malformed", Message: message, Offset: start, Final: true}
		}
		if err != nil {
			return 0, err
		}
		if b != r.dialect.quote {
			r.values = append(r.values, b)
			continue
		}
		if b, err = r.byte(); err != nil {
			return 0, err
		}
		switch b {
		case r.dialect.quote:
			r.values = append(r.values, b)
		case r.dialect.delimiter, '\n', '\r':
			return b, nil
		default:
			malformed := &Error{
				Code: "csv.malformed", Message: "text follows the end of a quoted field", Offset: len(r.raw) - 1,
			}
			if err := r.skipLine(); err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
			return 0, malformed
		}
	}
}

// skipLine passes over the rest of a line. It returns io.EOF where no line follows.
func (r *CSV) skipLine() error {
	for {
		b, err := r.byte()
		if err != nil {
			return err
		}
		if b == '\n' || b == '\r' {
			r.endLine(b)
			return nil
		}
	}
}

// endLine takes the end of the line off the record. Lines end with LF, CRLF or CR, also mixed.
func (r *CSV) endLine(b byte) {
	r.raw = r.raw[:len(r.raw)-1]
	r.nextLine = r.line + bytes.Count(r.raw, []byte("\n")) + 1
	if b == '\r' {
		r.skip("\n")
	}
}

// byte reads one byte into the record.
func (r *CSV) byte() (byte, error) {
	b, err := r.source.ReadByte()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("read table: %w", err)
	}
	if len(r.raw) >= r.limits.MaxRecordBytes {
		return 0, final("csv.limit.record", "row is longer than %d bytes; is a quote not closed?",
			r.limits.MaxRecordBytes)
	}
	r.raw = append(r.raw, b)
	return b, nil
}
