package tablefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Dialect overrides what the media type and the name of the file say.
type Dialect struct {
	Delimiter string  `json:"delimiter,omitempty"`
	Quote     *string `json:"quote,omitempty"`
	Encoding  string  `json:"encoding,omitempty"`
	Header    *bool   `json:"header,omitempty"`
	// HeaderRows are the rows of the header, which stand below others that are passed over.
	HeaderRows []int `json:"headerRows,omitempty"` //nolint:tagliatelle // Table Dialect's own name
	// CommentChar is what rows begin with that are no part of the table.
	CommentChar      string `json:"commentChar,omitempty"`     //nolint:tagliatelle // Table Dialect's own name
	SkipInitialSpace bool   `json:"skipInitialSpace,omitzero"` //nolint:tagliatelle // Table Dialect's own name
	// Sheet is the name of a sheet of a spreadsheet; without it the first one is checked.
	Sheet string `json:"sheet,omitempty"`
}

// Check returns what is wrong with a dialect.
func (d Dialect) Check() []engine.ConfigError {
	faults := []engine.ConfigError{}
	refuse := func(member, code, detail string) {
		faults = append(faults, engine.NewConfigError("/dialect/"+member, "dialect."+code, detail))
	}
	if d.Delimiter != "" && !isSeparator(d.Delimiter) {
		refuse("delimiter", "delimiter", "use one ASCII character")
	}
	if d.Quote != nil && *d.Quote != "" && (!isSeparator(*d.Quote) || *d.Quote == d.Delimiter) {
		refuse("quote", "quote", "use one ASCII character other than the delimiter, or nothing")
	}
	if _, known := engine.DecoderFor(d.Encoding); !known {
		refuse("encoding", "encoding", "use "+engine.KnownEncodings)
	}
	const lowest = 1000
	last := 0
	for _, row := range d.HeaderRows {
		if row <= last || row > lowest || !d.HasHeader() {
			refuse("headerRows", "header_rows",
				fmt.Sprintf("name rows of the header, from 1 to %d in ascending order", lowest))
			break
		}
		last = row
	}
	return faults
}

func isSeparator(text string) bool {
	return len(text) == 1 && text[0] < 0x7f && (text[0] >= ' ' || text[0] == '\t')
}

// csv is how the document is written: as configured, else as its type or name says.
func (d Dialect) csv(doc engine.Document) csvDialect {
	found := csvDialect{delimiter: ',', quote: '"', comment: d.CommentChar, skipsSpace: d.SkipInitialSpace}
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err == nil && mediaType == "text/tab-separated-values" || strings.EqualFold(path.Ext(doc.Filename), ".tsv") {
		found.delimiter = '\t'
	}
	if d.Delimiter != "" {
		found.delimiter = d.Delimiter[0]
	}
	if d.Quote != nil {
		found.quote = (*d.Quote + "\x00")[0]
	}
	return found
}

// HasHeader reports whether the first record names the columns.
func (d Dialect) HasHeader() bool {
	return d.Header == nil || *d.Header
}

// ReadHeader returns the names of the columns: the record that next reads, or those of the rows that the dialect names,
// joined by spaces. What stands above these rows is passed over, whatever it is.
func (d Dialect) ReadHeader(records Source, next func() error) ([]Value, error) {
	if _, isParquet := records.(*parquetFile); isParquet || len(d.HeaderRows) == 0 {
		err := next()
		return records.Values(), err
	}
	var names []Value
	for _, row := range d.HeaderRows {
		for records.At() < row || records.Blank() {
			err := records.Next()
			fault, isFault := errors.AsType[*Error](err)
			if err != nil && (!isFault || fault.Final || records.At() >= row) {
				return nil, err
			}
		}
		above := names
		names = slices.Clone(records.Values())
		for i := range names {
			names[i].Text = bytes.Clone(names[i].Text)
			if i < len(above) {
				names[i].Text = bytes.TrimSpace(slices.Concat(above[i].Text, []byte(" "), names[i].Text))
			}
		}
	}
	return names, nil
}

// Charset is the dialect's encoding, else the charset of the media type, else UTF-16 where the file has its byte order
// mark, as spreadsheets write "Unicode text".
func (d Dialect) Charset(content io.ReaderAt, mediaType string) (string, error) {
	if d.Encoding != "" {
		return d.Encoding, nil
	}
	if _, parameters, err := mime.ParseMediaType(mediaType); err == nil {
		if _, known := engine.DecoderFor(parameters["charset"]); known && parameters["charset"] != "" {
			return parameters["charset"], nil
		}
	}
	var mark [2]byte
	if _, err := content.ReadAt(mark[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read table: %w", err)
	}
	if engine.IsUTF16(mark[:]) {
		return "utf-16", nil
	}
	return "", nil
}
