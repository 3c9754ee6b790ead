package files

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// xmlSchema is the namespace of XML Schema.
const xmlSchema = "http://www.w3.org/2001/XMLSchema"

// bundleXML puts the schemas of an xml step into its configuration.
func (b *Bundler) bundleXML(ctx context.Context, config *yaml.Node) error {
	if err := b.replaceAll(ctx, config, xmlNode); err != nil {
		return err
	}
	schema := member(config, "schema")
	if schema == nil {
		return nil
	}
	if err := b.addXML(ctx, config, "", schema.Value); err != nil {
		return err
	}
	return b.shorten(config)
}

// shorten leaves out the annotations of schemas that are too large with them. UBL, for example, is five sixths
// documentation.
func (b *Bundler) shorten(config *yaml.Node) error {
	texts := []*yaml.Node{member(config, "schema")}
	if schemas := member(config, "schemas"); schemas != nil {
		for i := 1; i < len(schemas.Content); i += 2 {
			texts = append(texts, followed(schemas.Content[i]))
		}
	}
	size := 0
	for _, text := range texts {
		size += len(text.Value)
	}
	if size <= engines.DefaultLimits().MaxSchemaBytes {
		return nil
	}
	for _, text := range texts {
		short, err := withoutAnnotations(text.Value)
		if err != nil {
			return err
		}
		node, err := xmlNode([]byte(short))
		if err != nil {
			return err
		}
		text.Value, text.Style = node.Value, node.Style
	}
	b.fetch.tell("left out the annotations: with them the schemas are too large")
	return nil
}

// withoutAnnotations leaves out what an XML Schema says to people alone, with the white space before it.
func withoutAnnotations(text string) (string, error) {
	var short strings.Builder
	kept := 0
	for decoder := schemaDecoder(text); ; {
		begin := decoder.InputOffset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			short.WriteString(text[kept:])
			return short.String(), nil
		}
		element, isElement := token.(xml.StartElement)
		if isElement && element.Name == (xml.Name{Space: xmlSchema, Local: "annotation"}) {
			short.WriteString(strings.TrimRight(text[kept:begin], " \t\n"))
			err = decoder.Skip()
			kept = int(decoder.InputOffset())
		}
		if err != nil {
			return "", fmt.Errorf("read the schema: %w", err)
		}
	}
}

// withoutDoctype leaves out the document type declaration, which steps refuse: that of the schema of XML Signature, for
// example, says nothing that its text needs. Entities that it declares stay as they are written, and are refused.
func withoutDoctype(text string) string {
	decoder := schemaDecoder(text)
	for {
		begin := decoder.InputOffset()
		token, err := decoder.RawToken()
		if _, isElement := token.(xml.StartElement); err != nil || isElement {
			return text
		}
		if _, isDirective := token.(xml.Directive); isDirective {
			return text[:begin] + text[decoder.InputOffset():]
		}
	}
}

// addXML adds what a schema includes, imports or redefines, and what that does.
func (b *Bundler) addXML(ctx context.Context, config *yaml.Node, from, text string) error {
	locations, err := schemaLocations(text)
	if err != nil {
		return fmt.Errorf("%s: %w", b.sources[from], err)
	}
	var problems []error
	for _, to := range locations {
		name, err := nameFrom(from, to.written)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if member(member(config, "schemas"), name) != nil {
			if _, known := b.sources[name]; known {
				continue
			}
		} else if err := b.add(ctx, config, name, to.written, from, xmlNode); err != nil {
			if engines.IsKnownXML(to.namespace) && !b.sources[name].exists() {
				b.fetch.tell("not there, so the schema that is built in is used: " + name)
			} else {
				problems = append(problems, err)
			}
			continue
		}
		added := member(member(config, "schemas"), name)
		problems = append(problems, b.addXML(ctx, config, name, added.Value))
	}
	return errors.Join(problems...)
}

// nameFrom is the name of a schema that another one refers to: an address, or the way to it from the schema itself.
func nameFrom(from, written string) (string, error) {
	const folder, deep = "http://schema.invalid/", "-/-/-/-/-/-/-/-/"
	base, err := url.Parse(folder + deep + from)
	if strings.Contains(from, ":") {
		base, err = url.Parse(from)
	}
	if err != nil {
		return "", fmt.Errorf("%q is not an address", from)
	}
	target, err := base.Parse(written)
	if err != nil {
		return "", fmt.Errorf("%q is not an address", written)
	}
	target.Fragment = ""
	name, inside := strings.CutPrefix(target.String(), folder)
	if !inside {
		return target.String(), nil
	}
	up := strings.Count(deep, "/")
	for up > 0 && strings.HasPrefix(name, "-/") {
		name, up = name[len("-/"):], up-1
	}
	return strings.Repeat("../", up) + name, nil
}

// location is where an XML Schema says that another is, as it is written, and the namespace that it imports from there.
type location struct{ written, namespace string }

// schemaLocations are the locations that an XML Schema names.
func schemaLocations(text string) ([]location, error) {
	var locations []location
	for decoder := schemaDecoder(text); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return locations, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the schema: %w", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok || element.Name.Space != xmlSchema {
			continue
		}
		switch element.Name.Local {
		case "include", "import", "redefine", "override":
			to := location{valueOf(element, "schemaLocation"), valueOf(element, "namespace")}
			if to.written != "" {
				locations = append(locations, to)
			}
		}
	}
}

// valueOf is the value of an attribute, "" without it.
func valueOf(element xml.StartElement, name string) string {
	for _, attribute := range element.Attr {
		if attribute.Name.Local == name {
			return attribute.Value
		}
	}
	return ""
}

// schemaText returns the text of a file with the line ends of this system, whatever its encoding.
func schemaText(content []byte) (string, error) {
	if !utf8.Valid(content) {
		decoded, err := engines.DecodeXML(content)
		if err != nil {
			return "", fmt.Errorf("read the schema: %w", err)
		}
		content = bytes.TrimLeft(decoded, " ")
	}
	text := strings.TrimPrefix(string(content), "\ufeff")
	return withoutDoctype(strings.ReplaceAll(text, "\r\n", "\n")), nil
}

// schemaDecoder reads a text that is UTF-8 whatever its declaration says.
func schemaDecoder(text string) *xml.Decoder {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	return decoder
}

// xmlNode takes a schema as it is.
func xmlNode(content []byte) (*yaml.Node, error) {
	text, err := schemaText(content)
	if err != nil {
		return nil, err
	}
	node := textNode(text)
	isBlock := strings.HasPrefix(text, "<")
	for line := range strings.SplitSeq(text, "\n") {
		isBlock = isBlock && strings.TrimRight(line, " \t") == line
	}
	if isBlock {
		node.Style = yaml.LiteralStyle
	}
	return node, nil
}
