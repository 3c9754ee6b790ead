package workflows

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// xmlSchema is the namespace of XML Schema.
const xmlSchema = "http://www.w3.org/2001/XMLSchema"

// bundleXML puts the schemas of an xml step into its configuration.
func (b *Bundler) bundleXML(ctx context.Context, config *yaml.Node) error {
	if err := b.replace(ctx, config, "schema", "", xmlNode); err != nil {
		return err
	}
	if schemas := member(config, "schemas"); schemas != nil {
		for i := 0; i+1 < len(schemas.Content); i += 2 {
			if err := b.replace(ctx, schemas, schemas.Content[i].Value, schemas.Content[i].Value, xmlNode); err != nil {
				return err
			}
		}
	}
	schema := member(config, "schema")
	if schema == nil {
		return nil
	}
	return b.addXML(ctx, config, "", schema.Value)
}

// addXML adds what a schema includes, imports or redefines, and what that does.
func (b *Bundler) addXML(ctx context.Context, config *yaml.Node, from, text string) error {
	locations, err := schemaLocations(text)
	if err != nil {
		return fmt.Errorf("%s: %w", b.sources[from], err)
	}
	var problems []error
	for _, written := range locations {
		name, err := nameFrom(from, written)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if member(member(config, "schemas"), name) != nil {
			if _, known := b.sources[name]; known {
				continue
			}
		} else if err := b.add(ctx, config, name, written, from, xmlNode); err != nil {
			problems = append(problems, err)
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

// schemaLocations are the locations that an XML Schema names, as they are written.
func schemaLocations(text string) ([]string, error) {
	var locations []string
	for decoder := xml.NewDecoder(bytes.NewReader([]byte(text))); ; {
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
			for _, attribute := range element.Attr {
				if attribute.Name.Local == "schemaLocation" && attribute.Value != "" {
					locations = append(locations, attribute.Value)
				}
			}
		}
	}
}

// xmlNode takes a schema as it is.
func xmlNode(content []byte) (*yaml.Node, error) {
	text := strings.ReplaceAll(string(bytes.TrimPrefix(content, []byte("\ufeff"))), "\r\n", "\n")
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
