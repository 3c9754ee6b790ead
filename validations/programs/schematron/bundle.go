package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/charset"
)

// bundle writes the schema of a file with all that it includes in place, which the operator asks for on the command
// line. Steps read no other file than their schema.
func bundle(file string, out io.Writer) error {
	text, err := readSchemaFile(file)
	if err != nil {
		return err
	}
	if text, err = expand(text, []string{filepath.Clean(file)}); err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// readSchemaFile returns the text of a file in UTF-8, without its declaration, and with the line ends of this system.
func readSchemaFile(file string) (string, error) {
	content, err := os.ReadFile(file) //nolint:gosec // The user names it, or a schema of the user does.
	if err != nil {
		return "", err
	}
	text, fault := charset.Decode(content)
	if fault != nil {
		return "", fmt.Errorf("%s: %s", file, fault.Message)
	}
	return strings.TrimLeft(strings.ReplaceAll(string(text), "\r\n", "\n"), " \n"), nil
}

// expand puts what a text includes in the place of the elements that include it. The files are those that led to the
// text, its own last.
func expand(text string, from []string) (string, error) {
	last := from[len(from)-1]
	pieces, err := readPieces(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", last, err)
	}
	var whole strings.Builder
	var problems []error
	at := 0
	for _, piece := range pieces {
		href := piece.attribute("href")
		if piece.begin < at || href == "" || !piece.includes() {
			continue
		}
		inside, err := included(piece, href, from)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: <%s href=%q>: %w", last, piece.name, href, err))
			continue
		}
		whole.WriteString(text[at:piece.begin])
		whole.WriteString(inside)
		at = piece.end
	}
	whole.WriteString(text[at:])
	if whole.Len() > maxSchema {
		problems = append(problems, fmt.Errorf("with all that it includes %s has more than %d bytes", last, maxSchema))
	}
	return whole.String(), errors.Join(problems...)
}

// maxIncludes is how deep a schema may include others.
const maxIncludes = 20

// included returns the text that belongs in the place of an element.
func included(piece piece, href string, from []string) (string, error) {
	address, id, _ := strings.Cut(href, "#")
	file := filepath.Join(filepath.Dir(from[len(from)-1]), filepath.FromSlash(address))
	switch {
	case strings.Contains(address, ":") || filepath.IsAbs(address):
		return "", errors.New("only files by relative paths are read; download what is elsewhere")
	case len(from) > maxIncludes:
		return "", fmt.Errorf("files include each other more than %d deep", maxIncludes)
	case slices.Contains(from, file):
		return "", errors.New("the file includes itself")
	}
	text, err := readSchemaFile(file)
	if err != nil {
		return "", err
	}
	// What the part that is taken includes is put into the whole file first, where its declarations are known.
	if text, err = expand(text, append(slices.Clip(from), file)); err != nil {
		return "", err
	}
	return cutOut(text, id, piece.local == "extends")
}

// cutOut returns an element of a file, or what it contains: that with the id, or the root.
func cutOut(text, id string, content bool) (string, error) {
	pieces, err := readPieces(text)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(pieces, func(p piece) bool { return id == "" || p.attribute("id") == id })
	switch {
	case at < 0:
		return "", fmt.Errorf("it has no element with the id %q", id)
	case !content && pieces[at].local == "schema":
		return "", errors.New("it is a whole schema; include one of its patterns as FILE#ID")
	case !content:
		return pieces[at].declared(text), nil
	}
	var inside strings.Builder
	for _, child := range pieces[at+1:] {
		if child.depth == pieces[at].depth+1 && child.begin < pieces[at].end {
			inside.WriteString(child.declared(text))
		}
	}
	return inside.String(), nil
}

// piece is an element of a text.
type piece struct {
	// name is as it is written, local without its prefix.
	name, local, namespace string
	attributes             []xml.Attr
	begin, end, depth      int
	// scope has the namespaces that are declared around and on the element, by their prefixes.
	scope map[string]string
}

// includes says whether the element stands for another file.
func (p piece) includes() bool {
	return p.namespace == namespaceSchematron && (p.local == "include" || p.local == "extends")
}

func (p piece) attribute(name string) string {
	for _, a := range p.attributes {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// declared is the text of the element with the declarations that stand around it, so that it can stand elsewhere.
func (p piece) declared(text string) string {
	own := map[string]bool{}
	for _, a := range p.attributes {
		if prefix, ok := declaredPrefix(a); ok {
			own[prefix] = true
		}
	}
	var missing strings.Builder
	for _, prefix := range slices.Sorted(maps.Keys(p.scope)) {
		if own[prefix] {
			continue
		}
		name := "xmlns"
		if prefix != "" {
			name += ":" + prefix
		}
		missing.WriteString(" " + name + `="`)
		_ = xml.EscapeText(&missing, []byte(p.scope[prefix])) // Writing to a builder does not fail.
		missing.WriteString(`"`)
	}
	named := p.begin + len("<") + len(p.name)
	return text[p.begin:named] + missing.String() + text[named:p.end]
}

// declaredPrefix is the prefix that an attribute declares: "" for the default namespace.
func declaredPrefix(a xml.Attr) (string, bool) {
	if a.Name.Space == "" && a.Name.Local == "xmlns" {
		return "", true
	}
	return a.Name.Local, a.Name.Space == "xmlns"
}

// pieceReader finds the elements of a text.
type pieceReader struct {
	pieces []piece
	// open are the places of those that have no end tag yet.
	open []int
}

// readPieces finds the elements of a text, in the order of their start tags.
func readPieces(text string) ([]piece, error) {
	r := &pieceReader{}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		begin := int(decoder.InputOffset())
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			if len(r.open) > 0 || len(r.pieces) == 0 {
				return nil, errors.New("read the schema: it ends too early")
			}
			return r.pieces, nil
		}
		if err == nil {
			err = r.read(token, begin, int(decoder.InputOffset()))
		}
		if err != nil {
			return nil, fmt.Errorf("read the schema: %w", err)
		}
	}
}

// maxNesting is how deep elements nest.
const maxNesting = 200

// read takes one token, which begins and ends at offsets of the text.
func (r *pieceReader) read(token xml.Token, begin, end int) error {
	last := len(r.open) - 1
	switch token := token.(type) {
	case xml.Directive:
		return errors.New("it has a DOCTYPE, which is refused")
	case xml.StartElement:
		around := map[string]string{}
		if last >= 0 {
			around = r.pieces[r.open[last]].scope
		}
		p := pieceOf(token, around)
		p.begin, p.depth = begin, len(r.open)
		if p.depth > maxNesting {
			return fmt.Errorf("elements are nested deeper than %d levels", maxNesting)
		}
		r.open = append(r.open, len(r.pieces))
		r.pieces = append(r.pieces, p)
	case xml.EndElement:
		if last < 0 || r.pieces[r.open[last]].name != writtenName(token.Name) {
			return fmt.Errorf("</%s> closes nothing", writtenName(token.Name))
		}
		r.pieces[r.open[last]].end = end
		r.open = r.open[:last]
	}
	return nil
}

// pieceOf makes a piece of a start tag whose names are as they are written.
func pieceOf(tag xml.StartElement, around map[string]string) piece {
	p := piece{name: writtenName(tag.Name), local: tag.Name.Local, attributes: slices.Clone(tag.Attr), scope: around}
	for _, a := range tag.Attr {
		if prefix, ok := declaredPrefix(a); ok {
			p.scope = maps.Clone(p.scope)
			p.scope[prefix] = a.Value
		}
	}
	p.namespace = p.scope[tag.Name.Space]
	return p
}

func writtenName(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}
