// Package tree reads JSON, YAML and XML documents as trees of values that know their places.
package tree

import (
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// Tree is a JSON, YAML or XML document as values: maps, slices, strings, json.Number, bool and nil.
type Tree struct {
	Value any
	// Textual says that the document knows no other type than text.
	Textual bool
	Lines   *engine.Lines
	// Locate walks the document once more and fills in the spots. Positions are only wanted of documents with faults,
	// so that good ones pay nothing for them.
	Locate func(wanted *Spot)
}

// Spots are the places of values by their paths, with their positions.
func (t *Tree) Spots(paths ...[]string) []*Spot {
	root := &Spot{}
	spots := engine.Each(paths, root.At)
	if len(paths) > 0 {
		t.Locate(root)
	}
	return spots
}

// Spot is a place of a document whose position is wanted, with the places below it.
type Spot struct {
	Children map[string]*Spot
	Name     engine.Position
	Value    engine.Position
}

// At returns the spot of a path below this one, creating what is missing.
func (s *Spot) At(tokens []string) *Spot {
	for _, token := range tokens {
		child, known := s.Children[token]
		if !known {
			child = &Spot{}
			if s.Children == nil {
				s.Children = map[string]*Spot{}
			}
			s.Children[token] = child
		}
		s = child
	}
	return s
}

// child returns the spot below, nil where nothing there is wanted. It may be called on nil.
func (s *Spot) child(token string) *Spot {
	if s == nil {
		return nil
	}
	return s.Children[token]
}

// treeFormat is a way to write a tree. Decode makes UTF-8 of the content; its text is also used beside a fault.
type format struct {
	name   string
	limit  int64
	decode func(content []byte) ([]byte, *engine.ReadError)
	parse  func(text []byte, limits engine.Limits) (*Tree, *engine.ReadError)
}

// Read reads a whole JSON or YAML document. The finding, if any, says why it cannot be read as a tree.
func Read(doc engine.Document, limits engine.Limits) (*Tree, *engine.Finding, error) {
	return readFormat(doc, formatOf(doc, limits), limits)
}

// ReadAny is Read for XML as well.
func ReadAny(doc engine.Document, limits engine.Limits) (*Tree, *engine.Finding, error) {
	if isNamed(doc, "xml", ".xml") {
		return readFormat(doc, format{"xml", limits.MaxTreeBytes, xmltext.Decode, parseXML}, limits)
	}
	return Read(doc, limits)
}

func readFormat(doc engine.Document, format format, limits engine.Limits) (*Tree, *engine.Finding, error) {
	read := func(content []byte) (*Tree, []byte, *engine.ReadError) {
		text, fault := format.decode(content)
		if fault != nil {
			return nil, text, fault
		}
		t, fault := format.parse(text, limits)
		return t, text, fault
	}
	return engine.ReadText(doc, format.limit, format.name, limits, read)
}

// formatOf is YAML where the document says so, and JSON otherwise.
func formatOf(doc engine.Document, limits engine.Limits) format {
	if isNamed(doc, "yaml", ".yaml", ".yml") {
		return format{"yaml", limits.MaxYAMLBytes, decodeUTF8("yaml"), parseYAML}
	}
	return format{"json", limits.MaxTreeBytes, decodeUTF8("json"), ParseJSON}
}

func decodeUTF8(format string) func(content []byte) ([]byte, *engine.ReadError) {
	return func(content []byte) ([]byte, *engine.ReadError) {
		if engine.IsUTF16(content) {
			return content, engine.ReadErrorAt(format+".invalid_utf8", "the text is UTF-16; save it as UTF-8", 0)
		}
		return engine.TrimBOM(content), nil
	}
}

// typeForm is that of media types of which documents are trees.
var typeForm = regexp.MustCompile(`(?:[/+]|/x-)(json|yaml|xml)$`)

// isNamed reports whether a document is of a format, by its media type and, where that names none, by its file's name.
func isNamed(doc engine.Document, format string, extensions ...string) bool {
	mediaType, _, err := mime.ParseMediaType(doc.MediaType)
	if named := typeForm.FindStringSubmatch(mediaType); err == nil && named != nil {
		return named[1] == format
	}
	return slices.Contains(extensions, strings.ToLower(path.Ext(doc.Filename)))
}
