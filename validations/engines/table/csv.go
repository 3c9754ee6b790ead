package table

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
}

// csvReader reads records one by one and keeps only the current one. The standard library's reader has no bound on a
// field and counts columns in bytes.
type csvReader struct {
	source  *bufio.Reader
	dialect csvDialect
	limits  engine.Limits

	// line is the line on which the current record begins, nextLine the one behind it.
	line     int
	nextLine int
	// raw is the current record as it stands in the file, without the end of its last line.
	raw        []byte
	lineStarts []int
	// values holds the texts of the cells, with quotes removed; ends are their ends in it.
	values []byte
	ends   []int
	cells  []field
}

func newCSVReader(source io.Reader, dialect csvDialect, limits engine.Limits) (*csvReader, error) {
	const window = 64 << 10
	r := &csvReader{source: bufio.NewReaderSize(source, window), dialect: dialect, limits: limits, nextLine: 1}
	head, err := r.source.Peek(len(engine.BOM))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read table: %w", err)
	}
	if string(head) == engine.BOM {
		if _, err := r.source.Discard(len(engine.BOM)); err != nil {
			return nil, fmt.Errorf("read table: %w", err)
		}
	}
	return r, nil
}

// at is the line on which the current record begins.
func (r *csvReader) at() int {
	return r.line
}

// fields are those of the current record. A field's start is its offset in the record, its quote included.
func (r *csvReader) fields() []field {
	return r.cells
}

// foreignFormat names the format of a file by its first bytes, where it is one that people rename to .csv.
func foreignFormat(head []byte) string {
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

// blank reports whether the current record is a line without any text.
func (r *csvReader) blank() bool {
	return len(r.raw) == 0
}

// place fills in where a cell of the current record is.
func (r *csvReader) place(f engine.Finding, start int) engine.Finding {
	start = min(start, len(r.raw))
	begin, line := 0, r.line
	for _, lineStart := range r.lineStarts {
		if lineStart > start {
			break
		}
		begin = lineStart
		line++
	}
	end := len(r.raw)
	if newline := bytes.IndexByte(r.raw[begin:], '\n'); newline >= 0 {
		end = begin + newline
	}
	f.Line = line
	f.Column = utf8.RuneCount(r.raw[begin:start]) + 1
	f.Excerpt = engine.Excerpt(r.raw[begin:end], start-begin, r.limits.MaxExcerpt)
	return f
}

// next reads one record, up to the end of a line that no quote holds open. It returns io.EOF at the end and *rowError
// for a record that cannot be read.
func (r *csvReader) next() error {
	r.line = r.nextLine
	r.raw, r.values = r.raw[:0], r.values[:0]
	r.lineStarts, r.ends, r.cells = r.lineStarts[:0], r.ends[:0], r.cells[:0]
	for {
		more, err := r.cell()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if len(r.cells) >= r.limits.MaxColumns {
			message := fmt.Sprintf("row has more than %d fields; the rest is not read", r.limits.MaxColumns)
			return &rowError{code: "csv.limit.columns", message: message, final: true}
		}
	}
	begin := 0
	for i, end := range r.ends {
		r.cells[i].text = r.values[begin:end:end]
		begin = end
	}
	if at := engine.BadTextAt(r.raw); at >= 0 {
		return &rowError{code: "csv.encoding", message: "the row is not text in the table's encoding", offset: at}
	}
	return nil
}

// cell reads one field and the delimiter or line end behind it. It answers whether another field follows.
func (r *csvReader) cell() (bool, error) {
	start := len(r.raw)
	b, err := r.byte()
	if err != nil {
		if errors.Is(err, io.EOF) && (start > 0 || len(r.cells) > 0) {
			r.endCell(start)
			return false, nil
		}
		return false, err
	}
	if b == r.dialect.quote && r.dialect.quote != 0 {
		b, err = r.quoted(start)
	} else {
		b, err = r.plain(b)
	}
	if errors.Is(err, io.EOF) {
		r.endCell(start)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.endCell(start)
	if b == r.dialect.delimiter {
		return true, nil
	}
	return false, r.endLine(b)
}

func (r *csvReader) endCell(start int) {
	r.cells = append(r.cells, field{start: start})
	r.ends = append(r.ends, len(r.values))
}

// plain reads to the end of a field that is not quoted and returns the byte that ended it.
func (r *csvReader) plain(b byte) (byte, error) {
	for b != r.dialect.delimiter && b != '\n' && b != '\r' {
		r.values = append(r.values, b)
		var err error
		if b, err = r.byte(); err != nil {
			return 0, err
		}
	}
	return b, nil
}

// quoted reads a quoted field, in which the quote itself is doubled and lines may end.
func (r *csvReader) quoted(start int) (byte, error) {
	for {
		b, err := r.byte()
		if errors.Is(err, io.EOF) {
			message := "a quoted field is not closed"
			return 0, &rowError{code: "csv.malformed", message: message, offset: start, final: true}
		}
		if err != nil {
			return 0, err
		}
		if b != r.dialect.quote {
			r.values = append(r.values, b)
			if b == '\n' {
				r.lineStarts = append(r.lineStarts, len(r.raw))
			}
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
			return 0, r.skipLine(len(r.raw) - 1)
		}
	}
}

// skipLine passes over the rest of a line that has text behind a closing quote.
func (r *csvReader) skipLine(offset int) error {
	malformed := &rowError{code: "csv.malformed", message: "text follows the end of a quoted field", offset: offset}
	for {
		b, err := r.byte()
		if errors.Is(err, io.EOF) {
			return malformed
		}
		if err != nil {
			return err
		}
		if b == '\n' || b == '\r' {
			if err := r.endLine(b); err != nil {
				return err
			}
			return malformed
		}
	}
}

// endLine takes the end of the line off the record. Lines end with LF, CRLF or CR, also mixed.
func (r *csvReader) endLine(b byte) error {
	r.raw = r.raw[:len(r.raw)-1]
	r.nextLine = r.line + len(r.lineStarts) + 1
	if b != '\r' {
		return nil
	}
	following, err := r.source.Peek(1)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("read table: %w", err)
	}
	if following[0] == '\n' {
		_, err = r.source.Discard(1)
	}
	return err
}

// byte reads one byte into the record.
func (r *csvReader) byte() (byte, error) {
	b, err := r.source.ReadByte()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("read table: %w", err)
	}
	if len(r.raw) >= r.limits.MaxRecordBytes {
		message := fmt.Sprintf("row is longer than %d bytes; is a quote not closed?", r.limits.MaxRecordBytes)
		return 0, &rowError{code: "csv.limit.record", message: message, final: true}
	}
	r.raw = append(r.raw, b)
	return b, nil
}
