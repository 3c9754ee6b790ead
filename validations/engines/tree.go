package engines

import (
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"strings"
)

// bom is the byte order mark that some programs write at the start of a text in UTF-8.
const bom = "\xef\xbb\xbf"

// tree is a JSON, YAML or XML document as values: maps, slices, strings, json.Number, bool and nil.
type tree struct {
	value any
	// textual says that the document knows no other type than text.
	textual bool
	lines   *lineIndex
	// locate walks the document once more and fills in the spots. Positions are only wanted of documents with faults,
	// so that good ones pay nothing for them.
	locate func(wanted *spot)
}

// position is where a value stands: a byte offset, or line and column where the parser gives those.
type position struct {
	offset, line, column int
}

// lineUnknown is the line of a position that no parser tells.
const lineUnknown = -1

// spot is a place of a document whose position is wanted, with the places below it.
type spot struct {
	children map[string]*spot
	name     position
	value    position
}

// treeError is what makes a document unreadable. It becomes a finding.
type treeError struct {
	code    string
	message string
	at      position
}

// Error makes a fault an error of the parsers' inner functions.
func (f *treeError) Error() string {
	return f.message
}

// at returns the spot of a path below this one, creating what is missing.
func (s *spot) at(tokens []string) *spot {
	for _, token := range tokens {
		child, known := s.children[token]
		if !known {
			child = &spot{}
			if s.children == nil {
				s.children = map[string]*spot{}
			}
			s.children[token] = child
		}
		s = child
	}
	return s
}

// child returns the spot below, nil where nothing there is wanted. It may be called on nil.
func (s *spot) child(token string) *spot {
	if s == nil {
		return nil
	}
	return s.children[token]
}

// placeAt fills in line, column and excerpt of a finding.
func (x *lineIndex) placeAt(f Finding, at position) Finding {
	if at.line != 0 {
		return x.placeLine(f, at.line, at.column)
	}
	return x.place(f, at.offset)
}

// treeFormat is a way to write a tree. Decode makes UTF-8 of the content; its text is also used beside a fault.
type treeFormat struct {
	name   string
	limit  int64
	decode func(content []byte) ([]byte, *treeError)
	parse  func(text []byte, limits Limits) (*tree, *treeError)
}

// readTree reads a whole JSON or YAML document. The finding, if any, says why it cannot be read as a tree.
func readTree(doc Document, limits Limits) (*tree, *Finding, error) {
	return readFormat(doc, formatOf(doc, limits), limits)
}

// readAnyTree is readTree for XML as well.
func readAnyTree(doc Document, limits Limits) (*tree, *Finding, error) {
	if isNamed(doc, "xml", ".xml") {
		return readFormat(doc, treeFormat{"xml", limits.MaxTreeBytes, decodeXML, parseXML}, limits)
	}
	return readTree(doc, limits)
}

func readFormat(doc Document, format treeFormat, limits Limits) (*tree, *Finding, error) {
	if doc.Size > format.limit {
		return nil, &Finding{
			Severity: SeverityError,
			Code:     format.name + ".too_large",
			Message:  fmt.Sprintf("the document has %d bytes, at most %d are checked", doc.Size, format.limit),
		}, nil
	}
	content := make([]byte, doc.Size)
	if _, err := io.ReadFull(io.NewSectionReader(doc.Content, 0, doc.Size), content); err != nil {
		return nil, nil, fmt.Errorf("read document: %w", err)
	}
	text, fault := format.decode(content)
	if fault == nil {
		var t *tree
		if t, fault = format.parse(text, limits); fault == nil {
			return t, nil, nil
		}
	}
	lines := newLineIndex(text, limits.MaxExcerpt)
	finding := lines.placeAt(Finding{Severity: SeverityError, Code: fault.code, Message: fault.message}, fault.at)
	return nil, &finding, nil
}

func trimBOM(content []byte) []byte {
	if len(content) >= len(bom) && string(content[:len(bom)]) == bom {
		return content[len(bom):]
	}
	return content
}

// formatOf is YAML where the document says so, and JSON otherwise.
func formatOf(doc Document, limits Limits) treeFormat {
	if isNamed(doc, "yaml", ".yaml", ".yml") {
		return treeFormat{"yaml", limits.MaxYAMLBytes, decodeUTF8("yaml"), parseYAML}
	}
	return treeFormat{"json", limits.MaxTreeBytes, decodeUTF8("json"), parseJSON}
}

func decodeUTF8(format string) func(content []byte) ([]byte, *treeError) {
	return func(content []byte) ([]byte, *treeError) {
		if isUTF16(content) {
			return content, &treeError{code: format + ".invalid_utf8", message: "the text is UTF-16; save it as UTF-8"}
		}
		return trimBOM(content), nil
	}
}

// isNamed says whether a document is of a format, by its media type and, where that names none, by its file's name.
func isNamed(doc Document, format string, extensions ...string) bool {
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err != nil {
		mediaType = ""
	}
	for _, known := range []string{"json", "yaml", "xml"} {
		if slices.ContainsFunc([]string{"/", "+", "/x-"}, func(mark string) bool {
			return strings.HasSuffix(mediaType, mark+known)
		}) {
			return known == format
		}
	}
	return slices.Contains(extensions, strings.ToLower(path.Ext(doc.Filename)))
}
