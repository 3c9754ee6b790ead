package tablefile

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Dialect overrides what the media type and the name of the file say.
type Dialect struct {
	Delimiter string  `json:"delimiter,omitempty"`
	Quote     *string `json:"quote,omitempty"`
	Encoding  string  `json:"encoding,omitempty"`
	Header    *bool   `json:"header,omitempty"`
	// Sheet is the name of a sheet of a spreadsheet; without it the first one is checked.
	Sheet string `json:"sheet,omitempty"`
}

// Check returns what is wrong with a dialect.
func (d Dialect) Check() []engine.ConfigError {
	faults := []engine.ConfigError{}
	if d.Delimiter != "" && !isSeparator(d.Delimiter) {
		detail := "use one ASCII character"
		faults = append(faults, engine.NewConfigError("/dialect/delimiter", "dialect.delimiter", detail))
	}
	if d.Quote != nil && *d.Quote != "" && (!isSeparator(*d.Quote) || *d.Quote == d.Delimiter) {
		detail := "use one ASCII character other than the delimiter, or nothing"
		faults = append(faults, engine.NewConfigError("/dialect/quote", "dialect.quote", detail))
	}
	if _, known := engine.DecoderFor(d.Encoding); !known {
		detail := "use " + engine.KnownEncodings
		faults = append(faults, engine.NewConfigError("/dialect/encoding", "dialect.encoding", detail))
	}
	return faults
}

func isSeparator(text string) bool {
	return len(text) == 1 && text[0] < 0x7f && (text[0] >= ' ' || text[0] == '\t')
}

// csv is how the document is written: as configured, else as its type or name says.
func (d Dialect) csv(doc engine.Document) csvDialect {
	found := csvDialect{delimiter: ',', quote: '"'}
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err == nil && mediaType == "text/tab-separated-values" || strings.EqualFold(path.Ext(doc.Filename), ".tsv") {
		found.delimiter = '\t'
	}
	if d.Delimiter != "" {
		found.delimiter = d.Delimiter[0]
	}
	if d.Quote != nil {
		found.quote = 0
		if *d.Quote != "" {
			found.quote = (*d.Quote)[0]
		}
	}
	return found
}

// HasHeader reports whether the first record names the columns.
func (d Dialect) HasHeader() bool {
	return d.Header == nil || *d.Header
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
