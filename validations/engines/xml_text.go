package engines

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
)

// xmlDeclaration is the whole of an XML declaration; its group is the name of the encoding.
const xmlDeclaration = `^<\?xml\s+version\s*=\s*(?:"1\.0"|'1\.0')` +
	`(?:\s+encoding\s*=\s*(?:"[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*'))?` +
	`(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>`

// decodeXML returns a document as UTF-8 with its declaration blanked out, so that whoever reads the text reads the same
// characters, at the same lines and columns. The text is also returned beside a fault.
func decodeXML(content []byte) ([]byte, *treeError) {
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		return content, &treeError{code: "xml.encoding", message: "UTF-16 is not read; use " + knownEncodings}
	}
	content = trimBOM(content)
	declaration := regexp.MustCompile(xmlDeclaration).Find(content)
	if declaration == nil && regexp.MustCompile(`^<\?xml\s`).Match(content) {
		message := "the XML declaration is not one of XML 1.0"
		return content, &treeError{code: "xml.malformed", message: message}
	}
	name := ""
	if found := regexp.MustCompile(`encoding\s*=\s*["']([^"']*)`).FindSubmatch(declaration); found != nil {
		name = string(found[1])
	}
	text, fault := toUTF8(content, name)
	if fault != nil {
		return content, fault
	}
	if at := badText(text); at >= 0 {
		message := "the text is not in its encoding, or holds NUL"
		return text, &treeError{"xml.encoding", message, position{offset: at}}
	}
	blank(text[:len(declaration)])
	return text, nil
}

// toUTF8 copies the content, since parts of the copy are blanked out.
func toUTF8(content []byte, encoding string) ([]byte, *treeError) {
	if encoding == "" || regexp.MustCompile(`^(?i:us-ascii|ascii)$`).MatchString(encoding) {
		encoding = "utf-8"
	}
	decode, known := decoderFor(encoding)
	if !known {
		message := fmt.Sprintf("the encoding %s is not read; use %s", quote(encoding), knownEncodings)
		return nil, &treeError{code: "xml.encoding", message: message}
	}
	text, err := io.ReadAll(decode(bytes.NewReader(content)))
	if err != nil {
		return nil, &treeError{code: "xml.encoding", message: "the text is not in its encoding"}
	}
	return text, nil
}

// blank overwrites a text with spaces and keeps its lines.
func blank(text []byte) {
	for i, b := range text {
		if b != '\n' && b != '\r' {
			text[i] = ' '
		}
	}
}
