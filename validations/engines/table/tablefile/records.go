package tablefile

import (
	"errors"
	"io"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Records reads the rows of a table as a step reads them, to display the table.
type Records struct {
	reader *CSV
	// Columns are the names of the columns: the header's, or the schema's if the table has no header.
	Columns []string
	// Header reports whether the first record is the header.
	Header bool
}

// Record is a row. Its cells are valid until the next record is read.
type Record struct {
	// Line is the line on which the record begins, and Last the one on which it ends.
	Line, Last int
	Cells      []string
	// Broken says that the record could not be split, and has all of its text in one cell.
	Broken bool
}

// IsCSV reports whether a document is a table whose rows are lines of text.
func IsCSV(doc engine.Document) bool { return FormatOf(doc) == FormatCSV }

// OpenRecords reads a table from a source in UTF-8. The names are those of the columns of a table without a header.
func OpenRecords(source io.Reader, d Dialect, names []string, doc engine.Document) (*Records, error) {
	reader, err := newCSV(source, d.csv(doc), engine.DefaultLimits())
	if err != nil {
		return nil, err
	}
	records := &Records{reader: reader, Header: d.HasHeader(), Columns: names}
	if !records.Header {
		return records, nil
	}
	header, err := records.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	records.Columns = header.Cells
	return records, nil
}

// Next reads a record that is not blank. The error is io.EOF at the end of the table, and where nothing more can be
// read of it.
func (r *Records) Next() (Record, error) {
	for {
		err := r.reader.Next()
		record := Record{Line: r.reader.line, Last: max(r.reader.line, r.reader.nextLine-1)}
		if fault, ok := errors.AsType[*Error](err); ok {
			if fault.Final {
				return Record{}, io.EOF
			}
			record.Cells, record.Broken = []string{string(r.reader.raw)}, true
			return record, nil
		}
		if err != nil {
			return Record{}, err
		}
		if r.reader.Blank() {
			continue
		}
		for _, field := range r.reader.cells {
			record.Cells = append(record.Cells, string(field.Text))
		}
		return record, nil
	}
}

// SkipTo passes over the records that end before a line.
func (r *Records) SkipTo(line int) error {
	for r.reader.nextLine < line {
		err := r.reader.Next()
		if fault, ok := errors.AsType[*Error](err); ok && !fault.Final {
			continue
		} else if ok {
			return io.EOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}
