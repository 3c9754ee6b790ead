// Package parquetrows writes the rows of a Parquet file as JSON, in a separate process.
//
// A footer says how much memory its reader takes, so a few hostile bytes could end the whole service. The process that
// reads one has limits of memory and processor time, and nothing but that file.
//
// The first line is an array of the columns' names; each further line is an array of a row's values. A value is written
// as JSON has it. Two kinds that JSON lacks are objects: {"t": TEXT} is a date, a time or a timestamp in ISO 8601, and
// {"j": VALUE} is a list, a map or a group.
package parquetrows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// rowsAtOnce is how many rows are decoded together.
const rowsAtOnce = 128

// Write writes the rows of a file. Its error is about the file, or that of the writer.
func Write(to io.Writer, content []byte) (err error) {
	defer func() {
		// The library panics where a file contradicts itself.
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the file contradicts itself: %v", reason)
		}
	}()
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("it is not a Parquet file: %w", err)
	}
	if err := checkCompression(file); err != nil {
		return err
	}
	if err := checkDictionaries(file, content); err != nil {
		return err
	}
	out := bufio.NewWriter(to)
	w := newWriter(file.Schema())
	if err := w.header(out); err != nil {
		return err
	}
	for _, group := range file.RowGroups() {
		if err := w.group(out, group); err != nil {
			return err
		}
	}
	return out.Flush()
}

// checkCompression refuses files that are compressed with LZ4. The library does not know the older one, and answers the
// newer one with pages of zeros: it drops what the codec has decompressed into its own buffer.
func checkCompression(file *parquet.File) error {
	for _, group := range file.Metadata().RowGroups {
		for _, chunk := range group.Columns {
			if codec := chunk.MetaData.Codec; codec == format.Lz4 || codec == format.Lz4Raw {
				return fmt.Errorf("it is compressed with %s; Snappy, gzip, Brotli and Zstandard can be read", codec)
			}
		}
	}
	return nil
}

// column is a top-level field of the file.
type column struct {
	name string
	// first is the number of its first leaf.
	first int
	// write writes a value of a column that is neither a list nor a group; it is nil for those.
	write valueWriter
}

type writer struct {
	schema  *parquet.Schema
	columns []column
	// isNested says that a column must be assembled from several leaves.
	isNested bool
	line     []byte
}

func newWriter(schema *parquet.Schema) *writer {
	w := &writer{schema: schema}
	leaves := 0
	for _, field := range schema.Fields() {
		c := column{name: field.Name(), first: leaves}
		if field.Leaf() && !field.Repeated() {
			c.write = writerOf(field)
		} else {
			w.isNested = true
		}
		w.columns = append(w.columns, c)
		leaves += countLeaves(field)
	}
	return w
}

func countLeaves(node parquet.Node) int {
	if node.Leaf() {
		return 1
	}
	leaves := 0
	for _, field := range node.Fields() {
		leaves += countLeaves(field)
	}
	return leaves
}

func (w *writer) header(out io.Writer) error {
	names := make([]string, 0, len(w.columns))
	for _, c := range w.columns {
		names = append(names, c.name)
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

func (w *writer) group(out io.Writer, group parquet.RowGroup) error {
	rows := group.Rows()
	defer func() { _ = rows.Close() }() // It reads from memory.
	buffer := make([]parquet.Row, rowsAtOnce)
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if err := w.row(out, row); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read rows: %w", err)
		case n == 0:
			return errors.New("read rows: the file ends too early")
		}
	}
}

// row writes a row, whose values are in the order of their leaves.
func (w *writer) row(out io.Writer, row parquet.Row) error {
	nested := map[string]any{}
	if w.isNested {
		if err := w.schema.Reconstruct(&nested, row); err != nil {
			return fmt.Errorf("read a row: %w", err)
		}
	}
	w.line = append(w.line[:0], '[')
	for _, c := range w.columns {
		if len(w.line) > 1 {
			w.line = append(w.line, ',')
		}
		var err error
		if c.write == nil {
			err = w.nested(nested[c.name])
		} else {
			row, err = w.leaf(c, row)
		}
		if err != nil {
			return err
		}
	}
	w.line = append(w.line, "]\n"...)
	_, err := out.Write(w.line)
	return err
}

// leaf writes the value of a column, and returns the row from that value on.
func (w *writer) leaf(c column, row parquet.Row) (parquet.Row, error) {
	for len(row) > 0 && row[0].Column() < c.first {
		row = row[1:]
	}
	switch {
	case len(row) == 0 || row[0].Column() != c.first:
		return row, fmt.Errorf("read a row: it has no value of %q", c.name)
	case row[0].IsNull():
		w.line = append(w.line, "null"...)
	default:
		w.line = c.write(w.line, row[0])
	}
	return row, nil
}

func (w *writer) nested(value any) error {
	if value == nil {
		w.line = append(w.line, "null"...)
		return nil
	}
	text, err := json.Marshal(readable(value))
	if err != nil {
		return fmt.Errorf("write a list or a group: %w", err)
	}
	w.line = append(append(append(w.line, `{"j":`...), text...), '}')
	return nil
}
