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
	// HasHeader reports whether the table has a header.
	HasHeader bool
	Header    Record
}

// Record is a row. Its cells are valid until the next record is read.
type Record struct {
	// Line is the line on which the record begins, and Last the one on which it ends.
	Line, Last int
	Cells      []string
	// Broken says that the record could not be split, and has all of its text in one cell.
	Broken bool
}

// OpenRecords reads a table from a source in UTF-8. The names are those of the columns of a table without a header.
func OpenRecords(source io.Reader, d Dialect, names []string, doc engine.Document) (*Records, error) {
	reader := newCSV(source, d.csv(doc), engine.DefaultLimits())
	records := &Records{reader: reader, HasHeader: d.HasHeader(), Columns: names}
	if !records.HasHeader {
		return records, nil
	}
	header, err := d.ReadHeader(reader, func() error {
		var err error
		records.Header, err = records.Next()
		return err
	})
	if _, isFault := errors.AsType[*Error](err); err != nil && !isFault && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !records.Header.Broken {
		records.Header = records.record(header)
	}
	records.Columns = records.Header.Cells
	return records, nil
}

// Next reads a record that is not blank. The error is io.EOF at the end of the table, and where nothing more can be
// read of it.
func (r *Records) Next() (Record, error) {
	for {
		err := r.reader.Next()
		if fault, ok := errors.AsType[*Error](err); ok {
			if fault.Final {
				return Record{}, io.EOF
			}
			record := r.record([]Value{{Text: r.reader.raw}})
			record.Broken = true
			return record, nil
		}
		if err != nil {
			return Record{}, err
		}
		if !r.reader.Blank() {
			return r.record(r.reader.cells), nil
		}
	}
}

// record is the current record with these values.
func (r *Records) record(values []Value) Record {
	cells := engine.Each(values, func(value Value) string { return string(value.Text) })
	return Record{Line: r.reader.line, Last: max(r.reader.line, r.reader.nextLine-1), Cells: cells}
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
