package table

import (
	"context"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// source gives the records of a table one by one, whatever the format of its file. A record and its fields are valid
// until the next one is read.
type source interface {
	// next reads one record. It returns io.EOF after the last one and *rowError for one that cannot be read.
	next() error
	// blank says that the current record has no text.
	blank() bool
	// fields are those of the current record.
	fields() []field
	// at is the line of the file or the row of the sheet where the current record begins.
	at() int
	// place fills in where a field of the current record is that begins at start.
	place(f engine.Finding, start int) engine.Finding
}

// keyed is a source whose records name their values. Its fields are those of the schema's columns.
type keyed interface {
	source
	// unknown are the members of the current record that the schema does not know.
	unknown() []field
}

// field is one value of a record.
type field struct {
	text []byte
	// start tells place where the field is.
	start  int
	native native
	// when is the value of a time.
	when time.Time
	// shown is what a spreadsheet shows of a number, where that is not its text.
	shown string
}

// native is the type that a value has in its file. In CSV every value is a text.
type native byte

const (
	nativeText native = iota
	nativeNull
	nativeNumber
	nativeTruth
	nativeTime
	nativeJSON
	// nativeFault is a cell of a spreadsheet whose formula failed.
	nativeFault
)

// rowError is why the rest of a table cannot be read, or why one record cannot.
type rowError struct {
	code    string
	message string
	// offset is where in the record the reason lies.
	offset int
	// final says that nothing after it can be read.
	final bool
}

// Error makes it an error of the source.
func (e *rowError) Error() string {
	return e.message
}

// tooLarge is the error of a part that is beyond a limit of bytes.
func tooLarge(what string, size uint64, limit int64) error {
	message := fmt.Sprintf("%s has %d bytes, at most %d are checked", what, size, limit)
	return &rowError{code: "csv.limit.bytes", message: message, final: true}
}

// fileFormat is how a file holds a table.
type fileFormat int

const (
	formatCSV fileFormat = iota
	formatXLSX
	formatJSONLines
	formatParquet
)

// formatOf goes by the media type, and by the ending of the name where the type says nothing.
func formatOf(doc engine.Document) fileFormat {
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err != nil || mediaType == mediatype.Binary {
		if types := mediatype.OfName(path.Base(doc.Filename)); len(types) > 0 {
			mediaType = types[0]
		}
	}
	switch mediatype.Canonical(strings.ToLower(mediaType)) {
	case mediatype.XLSX:
		return formatXLSX
	case mediatype.JSONLines:
		return formatJSONLines
	case mediatype.Parquet:
		return formatParquet
	default:
		return formatCSV
	}
}

// open returns the records of a document; close them. Its error is *rowError where the document is at fault.
//
//nolint:ireturn // which source it is depends on the document
func (e *Engine) open(ctx context.Context, doc engine.Document, content *io.SectionReader) (source, error) {
	switch formatOf(doc) {
	case formatXLSX:
		return openXLSX(ctx, content, e.dialect, len(e.columns), e.limits)
	case formatJSONLines:
		return newJSONLines(content, e.columns, e.limits), nil
	case formatParquet:
		return openParquet(ctx, content, e.dialect, e.limits)
	default:
		return e.openCSV(doc, content)
	}
}

// closeSource ends what goes on behind some sources.
func closeSource(records source) {
	if closer, ok := records.(io.Closer); ok {
		_ = closer.Close() // Everything that was wanted is read.
	}
}

//nolint:ireturn // as open
func (e *Engine) openCSV(doc engine.Document, content *io.SectionReader) (source, error) {
	encoding, err := e.encoding(content, doc.MediaType)
	if err != nil {
		return nil, err
	}
	decode, known := engine.DecoderFor(encoding)
	if !known {
		return nil, fmt.Errorf("unknown encoding %q in a compiled table", encoding)
	}
	return newCSVReader(decode(content), e.dialect.dialect(doc), e.limits)
}
