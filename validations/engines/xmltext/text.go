package xmltext

import (
	"bytes"
	"fmt"
	"io"
	"regexp"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Patterns of the XML declaration: the whole of it, its beginning, and the name of its encoding.
var (
	declarationForm = regexp.MustCompile(`^<\?xml\s+version\s*=\s*(?:"1\.0"|'1\.0')` +
		`(?:\s+encoding\s*=\s*(?:"[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*'))?` +
		`(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>`)
	declarationStart = regexp.MustCompile(`^<\?xml\s`)
	encodingName     = regexp.MustCompile(`encoding\s*=\s*["']([^"']*)`)
	asciiName        = regexp.MustCompile(`^(?i:us-ascii|ascii)$`)
	utf16Name        = regexp.MustCompile(`^(?i:utf-16(?:le|be)?)$`)
)

const utf16 = "utf-16"

// Decode returns a document as UTF-8 with its declaration blanked out, so that every reader sees the same characters at
// the same lines and columns. A byte order mark of UTF-16 decides over the declaration. The text is also returned
// beside a fault.
func Decode(content []byte) ([]byte, *engine.ReadError) {
	wide := engine.IsUTF16(content)
	if wide {
		text, fault := toUTF8(content, utf16)
		if fault != nil {
			return content, fault
		}
		content = text
	}
	content = engine.TrimBOM(content)
	declared := declarationForm.Find(content)
	if declared == nil && declarationStart.Match(content) {
		message := "the XML declaration is not one of XML 1.0"
		return content, &engine.ReadError{Code: "xml.malformed", Message: message}
	}
	name := ""
	if found := encodingName.FindSubmatch(declared); found != nil {
		name = string(found[1])
	}
	if utf16Name.MatchString(name) {
		if !wide {
			message := "the declaration says " + name + ", but the text has no byte order mark of UTF-16"
			return content, &engine.ReadError{Code: "xml.encoding", Message: message}
		}
		name = ""
	}
	text, fault := toUTF8(content, name)
	if fault != nil {
		return content, fault
	}
	if at := engine.BadTextAt(text); at >= 0 {
		message := "the text is not valid in its encoding, or contains NUL"
		return text, engine.ReadErrorAt("xml.encoding", message, at)
	}
	blank(text[:len(declared)])
	return text, nil
}

// toUTF8 copies the content, since parts of the copy are blanked out.
func toUTF8(content []byte, encoding string) ([]byte, *engine.ReadError) {
	if encoding == "" || asciiName.MatchString(encoding) {
		encoding = "utf-8"
	}
	decode, known := engine.DecoderFor(encoding)
	if !known {
		message := fmt.Sprintf("the encoding %s is not supported; use "+
			"%s", engine.Quote(encoding), engine.KnownEncodings)
		return nil, &engine.ReadError{Code: "xml.encoding", Message: message}
	}
	text, err := io.ReadAll(decode(bytes.NewReader(content)))
	if err != nil {
		return nil, &engine.ReadError{Code: "xml.encoding", Message: "the text is not valid in its encoding"}
	}
	return text, nil
}

// BlankDeclaration overwrites the declaration at the start of a text, if any.
func BlankDeclaration(text []byte) {
	blank(declarationForm.Find(text))
}

// blank overwrites a text with spaces and keeps its lines.
func blank(text []byte) {
	for i, b := range text {
		if b != '\n' && b != '\r' {
			text[i] = ' '
		}
	}
}
