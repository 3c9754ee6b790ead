package tablefile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/program"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

const (
	// ParquetProgram is the name of the program that reads Parquet.
	ParquetProgram = "parquet"
	// leastParquetMemory is its memory for a small file, most of it for the pages of a column and their dictionary.
	leastParquetMemory = 256 << 20
	// parquetFactor is the memory for each byte of a large file.
	parquetFactor = 8
	// parquetTime is its processor time.
	parquetTime = time.Minute
)

// ParquetMemory is how many bytes of memory the reader of a Parquet file may use.
func ParquetMemory(size int64) int64 {
	return max(leastParquetMemory, parquetFactor*size)
}

// rowTypes are the types of values by their letters (port.Reader).
var rowTypes = map[byte]Native{
	's': NativeText, 'n': NativeNumber, 'b': NativeTruth, 't': NativeTime, 'j': NativeJSON,
}

// layoutLocal is that of a time without a zone, with or without fractions of a second.
const layoutLocal = "2006-01-02T15:04:05"

// rowLayouts are those of times. A year of more than four digits, or before the year 0, is a text that no column of
// times takes.
var rowLayouts = []string{layoutLocal + "Z", layoutLocal, time.DateOnly, time.TimeOnly}

// parquetFile reads a table of Apache Parquet, which a program decodes.
type parquetFile struct {
	io.Closer

	source lineReader
	limits engine.Limits

	record
	raw []byte
	// values are those of the current record: each has the letter of its type before it, and a missing one is empty.
	values []string
	// shown is the current record as findings quote it.
	shown []byte
}

// openParquet starts the program. The header is the first record, unless the dialect has none.
func openParquet(
	ctx context.Context, doc engine.Document, dialect Dialect, limits engine.Limits,
) (*parquetFile, error) {
	limits.MaxProgramTime = parquetTime
	output, err := program.Rows(ctx, ParquetProgram, ParquetMemory(doc.Size), doc, limits)
	if err != nil {
		return nil, fmt.Errorf("read a Parquet file: %w", err)
	}
	f := &parquetFile{
		Closer: output, limits: limits, record: record{line: -1},
		source: lineReader{bufio.NewReaderSize(output, window), limits.MaxRecordBytes},
	}
	if dialect.HasHeader() {
		return f, nil
	}
	if err := f.Next(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Blank implements Source.
func (f *parquetFile) Blank() bool { return false }

// Place implements Source.
func (f *parquetFile) Place(finding engine.Finding, start int) engine.Finding {
	finding.Excerpt = engine.Excerpt(f.shown, min(start, len(f.shown)), f.limits.MaxExcerpt)
	return finding
}

// Next implements Source.
func (f *parquetFile) Next() error {
	f.line++
	f.cells, f.shown = f.cells[:0], f.shown[:0]
	var err error
	if f.raw, err = f.source.read(f.raw[:0]); err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(f.raw, &f.values); err != nil {
		return f.unreadable(err)
	}
	for _, value := range f.values {
		if len(f.cells) > 0 {
			f.shown = append(f.shown, '\t')
		}
		cell := Value{Start: len(f.shown), Native: NativeNull}
		if value != "" {
			cell.Text, cell.Native = []byte(value[1:]), rowTypes[value[0]]
		}
		if cell.Native == NativeTime {
			var isTime bool
			if cell.When, isTime = parseMoment(value[1:], rowLayouts); !isTime {
				cell.Native = NativeText
			}
		}
		f.shown = append(f.shown, cell.Text...)
		f.cells = append(f.cells, cell)
	}
	return nil
}

// unreadable is the error of a line that is no row. The last one may say why the rest of the file cannot be read.
func (f *parquetFile) unreadable(err error) error {
	var last port.Line
	if jsonv2.Unmarshal(f.raw, &last) != nil || last.Finding == nil {
		reason := engine.ClipTo(err.Error(), engine.MaxMessage)
		return &engine.FailedError{Reason: "the program " + ParquetProgram + " gave an invalid answer: " + reason}
	}
	return final("csv.malformed", "the file cannot be read: %s", engine.ClipTo(last.Finding.Message, engine.MaxMessage))
}
