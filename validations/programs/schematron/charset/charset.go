// Package charset makes UTF-8 of XML documents, by their byte order marks and declarations.
package charset

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

// Patterns of the XML declaration: the whole of it, its beginning, and the name of its encoding.
var (
	declaration = regexp.MustCompile(`^<\?xml\s+version\s*=\s*(?:"1\.0"|'1\.0')` +
		`(?:\s+encoding\s*=\s*(?:"[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*'))?` +
		`(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>`)
	declarationStart = regexp.MustCompile(`^<\?xml\s`)
	encodingName     = regexp.MustCompile(`encoding\s*=\s*["']([^"']*)`)
)

// Decode returns a document as UTF-8 with its declaration blanked out. A byte order mark of UTF-16 decides over the
// declaration. The text is also returned beside a fault.
func Decode(content []byte) ([]byte, *xpath.Fault) {
	wide := bytes.HasPrefix(content, []byte{0xff, 0xfe}) || bytes.HasPrefix(content, []byte{0xfe, 0xff})
	if wide {
		content = decode(content, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	}
	content = TrimBOM(content)
	declared := declaration.Find(content)
	if declared == nil && declarationStart.Match(content) {
		return content, &xpath.Fault{Code: "xml.malformed", Message: "the XML declaration is not one of XML 1.0"}
	}
	name := ""
	if found := encodingName.FindSubmatch(declared); found != nil {
		name = string(found[1])
	}
	text := bytes.Clone(content)
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
	case "utf-16", "utf-16le", "utf-16be":
		if !wide {
			message := "the declaration says " + name + ", but the text has no byte order mark of UTF-16"
			return content, &xpath.Fault{Code: "xml.encoding", Message: message}
		}
	case "iso-8859-1", "latin1":
		text = decode(content, charmap.ISO8859_1)
	case "windows-1252", "cp1252":
		text = decode(content, charmap.Windows1252)
	default:
		message := "the encoding " + findings.Quote(name) +
			" is not supported; use utf-8, utf-16, iso-8859-1 or windows-1252"
		return content, &xpath.Fault{Code: "xml.encoding", Message: message}
	}
	if at := badAt(text, wide); at >= 0 {
		message := "the text is not valid in its encoding, or contains NUL"
		return text, &xpath.Fault{Code: "xml.encoding", Message: message, Offset: at}
	}
	blank(text[:len(declared)])
	return text, nil
}

func decode(content []byte, from encoding.Encoding) []byte {
	// Neither a reader of bytes nor these decoders fail: what is invalid becomes U+FFFD.
	text, _ := io.ReadAll(from.NewDecoder().Reader(bytes.NewReader(content)))
	return text
}

// badAt returns the offset of the first NUL or invalid character, or -1. What a decoder has replaced is invalid.
func badAt(text []byte, replaced bool) int {
	for at := 0; at < len(text); {
		char, size := utf8.DecodeRune(text[at:])
		if char == 0 || char == utf8.RuneError && (size == 1 || replaced) {
			return at
		}
		at += size
	}
	return -1
}

// TrimBOM cuts the byte order mark of UTF-8 off.
func TrimBOM(content []byte) []byte {
	return bytes.TrimPrefix(content, []byte("\ufeff"))
}

// BlankDeclaration overwrites the declaration at the start of a text, if any.
func BlankDeclaration(text []byte) {
	blank(declaration.Find(text))
}

// blank overwrites a text with spaces and keeps its lines.
func blank(text []byte) {
	for i, b := range text {
		if b != '\n' && b != '\r' {
			text[i] = ' '
		}
	}
}
