package engines

import (
	"fmt"
	"io"
	"mime"
	"path"
	"strings"
)

// bom is the byte order mark that some programs write at the start of a text in UTF-8.
const bom = "\xef\xbb\xbf"

// tree is a JSON or YAML document as values: maps, slices, strings, json.Number, bool and nil.
type tree struct {
	value any
	lines *lineIndex
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

// readTree reads a whole document. The finding, if any, says why it cannot be read as a tree.
func readTree(doc Document, limits Limits) (*tree, *Finding, error) {
	prefix := "json"
	parse := parseJSON
	if isYAML(doc) {
		prefix, parse = "yaml", parseYAML
	}
	if doc.Size > limits.MaxTreeBytes {
		return nil, &Finding{
			Severity: SeverityError,
			Code:     prefix + ".too_large",
			Message:  fmt.Sprintf("the document has %d bytes, at most %d are checked", doc.Size, limits.MaxTreeBytes),
		}, nil
	}
	content := make([]byte, doc.Size)
	if _, err := io.ReadFull(io.NewSectionReader(doc.Content, 0, doc.Size), content); err != nil {
		return nil, nil, fmt.Errorf("read document: %w", err)
	}
	t, fault := parse(trimBOM(content), limits)
	if fault == nil {
		return t, nil, nil
	}
	lines := newLineIndex(trimBOM(content), limits.MaxExcerpt)
	finding := lines.placeAt(Finding{Severity: SeverityError, Code: fault.code, Message: fault.message}, fault.at)
	return nil, &finding, nil
}

func trimBOM(content []byte) []byte {
	if len(content) >= len(bom) && string(content[:len(bom)]) == bom {
		return content[len(bom):]
	}
	return content
}

// isYAML goes by the media type and, where that says neither, by the name.
func isYAML(doc Document) bool {
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if err != nil {
		mediaType = ""
	}
	switch {
	case strings.HasSuffix(mediaType, "/yaml"), strings.HasSuffix(mediaType, "/x-yaml"),
		strings.HasSuffix(mediaType, "+yaml"):
		return true
	case strings.HasSuffix(mediaType, "/json"), strings.HasSuffix(mediaType, "+json"):
		return false
	}
	extension := strings.ToLower(path.Ext(doc.Filename))
	return extension == ".yaml" || extension == ".yml"
}
