package files

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// piece is an element of a text.
type piece struct {
	// name is as it is written, local without its prefix.
	name, local, namespace string
	begin, end, depth      int
	// scope has the namespaces that are declared around and on the element, by their prefixes.
	scope map[string]string
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
	decoder := schemaDecoder(text)
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
		if p.depth > engines.DefaultLimits().MaxDepth {
			return fmt.Errorf("elements are nested deeper than %d levels", p.depth-1)
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
	p := piece{name: writtenName(tag.Name), local: tag.Name.Local, scope: around}
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
