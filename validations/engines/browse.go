package engines

import (
	"encoding/json"
	"io"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/table"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// Records reads the rows of a table one by one.
type Records = tablefile.Records

// Record is a row of a table.
type Record = tablefile.Record

// OpenRecords reads a table from a source in UTF-8, as a table step with the configuration does.
func OpenRecords(source io.Reader, config json.RawMessage, document Document) (*Records, error) {
	dialect, names := table.Layout(config)
	return tablefile.OpenRecords(source, dialect, names, document)
}

// IsCSV reports whether a document that a table step checks has its rows as lines of text.
func IsCSV(document Document) bool { return tablefile.IsCSV(document) }

// TableEncoding is the encoding in which a table step with the configuration reads a document.
func TableEncoding(config json.RawMessage, content io.ReaderAt, mediaType string) (string, error) {
	dialect, _ := table.Layout(config)
	return dialect.Charset(content, mediaType)
}

// Decode turns a text of the named encoding into UTF-8. It returns the source itself for an encoding that is not known.
func Decode(source io.Reader, encoding string) io.Reader {
	decode, known := engine.DecoderFor(encoding)
	if !known {
		return source
	}
	return decode(source)
}

// DecodeXML turns a text of XML into UTF-8, as its byte order mark or its declaration says. The declaration is blanked
// out.
func DecodeXML(content []byte) ([]byte, error) {
	text, fault := xmltext.Decode(content)
	if fault != nil {
		return nil, fault
	}
	return text, nil
}

// IsKnownXML reports whether an XML Schema may import a namespace that its step has no schema for.
func IsKnownXML(namespace string) bool { return xmltext.IsKnown(namespace) }
