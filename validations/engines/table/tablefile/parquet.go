package tablefile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/program"
)

const (
	// leastParquetMemory is the memory of a small file's reader, most of it for the pages of a column and their
	// dictionary.
	leastParquetMemory = 256 << 20
	// parquetFactor is the memory for each byte of a large file.
	parquetFactor = 8
	// parquetTime is the processor time of a reader.
	parquetTime = time.Minute
)

// ParquetMemory is how many bytes of memory the reader of a Parquet file may use.
func ParquetMemory(size int64) int64 {
	return max(leastParquetMemory, parquetFactor*size)
}

// parquetFile reads a table of Apache Parquet. Another process decodes it (RunChild), because what a hostile file
// makes its reader allocate has no other bound.
type parquetFile struct {
	process *program.Process
	ended   chan struct{}
	output  *io.PipeReader
	source  lineReader
	limits  engine.Limits

	record
	raw []byte
	// shown is the current record as findings quote it.
	shown []byte
}

// openParquet starts the process. The header is the first record, unless the dialect has none.
func openParquet(
	ctx context.Context, content *io.SectionReader, dialect Dialect, limits engine.Limits,
) (*parquetFile, error) {
	this, err := thisProgram()
	if err != nil {
		return nil, err
	}
	reader := program.Command{
		Path: this, Args: []string{parquetChild}, Memory: ParquetMemory(content.Size()), Time: parquetTime,
	}
	output, rows := io.Pipe()
	said := new(program.Said)
	process, err := reader.Start(ctx, program.Streams{In: content, Out: rows, Err: said})
	if err != nil {
		return nil, fmt.Errorf("read a Parquet file: %w", err)
	}
	f := &parquetFile{
		process: process, ended: make(chan struct{}), output: output, limits: limits,
		source: lineReader{bufio.NewReaderSize(output, window), limits.MaxRecordBytes},
		record: record{line: -1},
	}
	go func() {
		defer close(f.ended)
		end, err := process.Wait()
		if err == nil {
			err = parquetEnd(reader, end, said)
		}
		_ = rows.CloseWithError(err) // It never fails.
	}()
	if dialect.HasHeader() {
		return f, nil
	}
	if err := f.Next(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// thisProgram is the file of this process; on Linux it is the running release, even when an upgrade has replaced it.
func thisProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return path, nil
}

// parquetEnd is nil at the end of the file, or why the process ended before.
func parquetEnd(reader program.Command, end program.End, said *program.Said) error {
	reason := engine.ClipTo(strings.TrimSpace(said.String()), engine.MaxMessage)
	switch {
	case end == program.End{}:
		return nil
	case end.Code == exitMalformed:
		return final("csv.malformed", "the file cannot be read: %s", reason)
	case said.OutOfMemory():
		return reader.OutOfMemory()
	case end.OutOfTime:
		return reader.OutOfTime()
	}
	return fmt.Errorf("the reader of Parquet files ended with %d: %s", end.Code, reason)
}

// Close kills the reader; what it has not written is lost.
func (f *parquetFile) Close() error {
	f.process.Kill()
	err := f.output.Close()
	<-f.ended // It may still read the file.
	return err
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
	decoder := jsontext.NewDecoder(bytes.NewReader(f.raw))
	_, err = decoder.ReadToken()
	for err == nil && decoder.PeekKind() != jsontext.KindEndArray {
		var value jsontext.Value
		if value, err = decoder.ReadValue(); err == nil {
			err = f.add(value)
		}
	}
	if err != nil {
		return fmt.Errorf("read the rows of a Parquet file: %w", err)
	}
	return nil
}

// add adds a value of the current record.
func (f *parquetFile) add(value jsontext.Value) error {
	if len(f.cells) > 0 {
		f.shown = append(f.shown, '\t')
	}
	cell := Value{Start: len(f.shown), Native: NativeNull}
	if value.Kind() != jsontext.KindNull {
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return err
		}
		cell.Text, cell.Native = text[1:], parquetTypes[text[0]]
	}
	if cell.Native == NativeTime {
		// A year of more than four digits, or before the year 0, is a text that no column of times takes.
		var isTime bool
		layouts := []string{layoutUTC, layoutLocal, time.DateOnly, layoutTime}
		if cell.When, isTime = parseMoment(string(cell.Text), layouts); !isTime {
			cell.Native = NativeText
		}
	}
	f.shown = append(f.shown, cell.Text...)
	f.cells = append(f.cells, cell)
	return nil
}
