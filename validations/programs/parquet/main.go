// Command parquet reads tables of Apache Parquet for steps of the type table (package port). A footer says how much
// memory its reader takes, so a few hostile bytes could end the whole service: the limits of a program bound them.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

func main() { port.Serve(Program{}) }

// Program answers the service.
type Program struct{}

// Configure refuses every configuration: no step names this program.
func (Program) Configure(json.RawMessage) ([]port.Fault, []port.Promise) {
	return []port.Fault{{Code: "parquet.type", Detail: "the program parquet is for steps of the type table"}}, nil
}

// Check checks nothing.
func (Program) Check(port.Request, io.Reader) (port.Report, error) {
	return port.Report{}, errors.New("this program is for steps of the type table")
}

// Rows writes the rows of a file, and at last why it cannot be read any further.
func (Program) Rows(request port.Request, document io.Reader, rows io.Writer) error {
	content := make([]byte, request.Size)
	if _, err := io.ReadFull(document, content); err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	out := bufio.NewWriterSize(rows, writtenAtOnce)
	if reason := writeRows(out, content); reason != nil {
		f := port.Finding{Severity: "ERROR", Code: "csv.malformed"}
		// A hostile file may quote itself at length.
		f.Message = fmt.Sprintf("%.*s", maxReason, reason.Error())
		if err := json.NewEncoder(out).Encode(port.Line{Finding: &f}); err != nil {
			return fmt.Errorf("write why the file cannot be read: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	return nil
}

const (
	// maxReason is how much is said of why a file cannot be read.
	maxReason = 1000
	// writtenAtOnce is how many bytes of rows are written together, and rowsAtOnce how many rows are decoded together.
	writtenAtOnce = 64 << 10
	rowsAtOnce    = 128
)

// writeRows writes the rows of a file. Its error is about the file, or that of the writer.
func writeRows(out io.Writer, content []byte) (err error) {
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
	w := newTableWriter(file)
	names := []string{}
	for _, c := range w.columns {
		names = append(names, "s"+c.name)
	}
	if err := json.NewEncoder(out).Encode(names); err != nil {
		return err
	}
	for _, group := range file.RowGroups() {
		if err := w.group(out, group); err != nil {
			return err
		}
	}
	return nil
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
	// leaf is its number among all leaves.
	leaf int
	// write writes a value of a column that is neither a list nor a group; it is nil for those.
	write valueWriter
}

type tableWriter struct {
	schema  *parquet.Schema
	columns []column
	// isNested says that a column must be assembled from several leaves.
	isNested   bool
	line, text []byte
}

func newTableWriter(file *parquet.File) *tableWriter {
	w := &tableWriter{schema: file.Schema()}
	for _, field := range file.Root().Columns() {
		c := column{name: field.Name(), leaf: field.Index()}
		if field.Leaf() && !field.Repeated() {
			c.write = writerOf(field)
		} else {
			w.isNested = true
		}
		w.columns = append(w.columns, c)
	}
	return w
}

func (w *tableWriter) group(out io.Writer, group parquet.RowGroup) error {
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
func (w *tableWriter) row(out io.Writer, row parquet.Row) error {
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
		for len(row) > 0 && row[0].Column() < c.leaf {
			row = row[1:]
		}
		var err error
		w.text = w.text[:0]
		switch {
		case c.write == nil:
			err = w.nested(nested[c.name])
		case len(row) == 0 || row[0].Column() != c.leaf:
			err = fmt.Errorf("read a row: it has no value of %q", c.name)
		case !row[0].IsNull():
			w.text = c.write(w.text, row[0])
		}
		switch {
		case err != nil:
			return err
		case len(w.text) == 0:
			w.line = append(w.line, "null"...)
		default:
			w.line, err = jsontext.AppendQuote(w.line, w.text)
		}
		if err != nil {
			return fmt.Errorf("write a row: %w", err)
		}
	}
	w.line = append(w.line, "]\n"...)
	_, err := out.Write(w.line)
	return err
}

func (w *tableWriter) nested(value any) error {
	if value == nil {
		return nil
	}
	text, err := jsonv2.Marshal(value, readable, jsonv2.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write a list or a group: %w", err)
	}
	w.text = append(append(w.text, 'j'), text...)
	return nil
}

var errChecksum = errors.New("a page does not have its checksum")

// checkDictionaries compares the checksums of dictionaries, because the library compares only those of the pages that
// follow. What else is wrong with a page is found when it is read.
func checkDictionaries(file *parquet.File, content []byte) error {
	var protocol thrift.CompactProtocol
	for _, group := range file.Metadata().RowGroups {
		for _, chunk := range group.Columns {
			at := chunk.MetaData.DictionaryPageOffset
			if at <= 0 || at >= int64(len(content)) {
				continue
			}
			reader := bytes.NewReader(content[at:])
			header := new(format.PageHeader)
			if err := thrift.NewDecoder(protocol.NewReader(reader)).Decode(header); err != nil {
				continue
			}
			page := content[len(content)-reader.Len():]
			size := int(header.CompressedPageSize)
			if header.CRC == 0 || size < 0 || size > len(page) {
				continue
			}
			if crc32.ChecksumIEEE(page[:size]) != uint32(header.CRC) { //nolint:gosec // the bits of the checksum
				return errChecksum
			}
		}
	}
	return nil
}
