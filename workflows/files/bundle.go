package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Bundler makes one workflow file of a file and the schemas that it names: files beside it, and addresses of allowed
// hosts.
type Bundler struct {
	fetch *fetcher
	// sources are where the schemas of the step come from, by their names; that of the schema itself is "".
	sources map[string]source
}

// NewBundler makes a bundler that fetches schemas from these hosts only. It calls tell with each file and address
// that it reads.
func NewBundler(hosts []string, tell func(line string)) *Bundler {
	return &Bundler{fetch: newFetcher(hosts, tell)}
}

// Bundle returns the workflow file of that name with all schemas in it. Its error lists all schemas that cannot be
// read.
func (b *Bundler) Bundle(ctx context.Context, name string) ([]byte, error) {
	content, err := b.fetch.read(ctx, source{path: name})
	if err != nil {
		return nil, err
	}
	text, unreadable := engines.ReadYAML(content, bundleLimits())
	if unreadable != nil {
		return nil, fmt.Errorf("%s", faultOf(*unreadable).inFile(name))
	}
	var problems []error
	for i, step := range items(member(text.Document.Content[0], "steps")) {
		kind, config := member(step, "type"), member(step, "config")
		if kind == nil || config == nil || config.Kind != yaml.MappingNode {
			continue
		}
		b.sources = map[string]source{"": {path: name}}
		if err := b.bundleStep(ctx, text.Document, i, kind.Value, config); err != nil {
			problems = append(problems, fmt.Errorf("%s: step %d: %w", name, i+1, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return writeDocument(text.Document)
}

// bundleStep puts the schemas of a step of some kind into its configuration. Those of two kinds name others.
func (b *Bundler) bundleStep(ctx context.Context, document *yaml.Node, i int, kind string, config *yaml.Node) error {
	switch kind {
	case engines.KindJSONSchema:
		return b.bundleJSON(ctx, document, i, config)
	case engines.KindXML:
		return b.bundleXML(ctx, config)
	}
	switch schema := engines.SchemaOf(kind); schema.Language {
	case engines.SchemaJSON:
		return b.replace(ctx, config, schema.Name, "", jsonNode)
	case engines.SchemaXML:
		return b.replace(ctx, config, schema.Name, "", xmlNode)
	default:
		return nil
	}
}

func writeDocument(document *yaml.Node) ([]byte, error) {
	file, err := writeNode(document)
	if err == nil && len(file) > MaxBytes {
		return nil, fmt.Errorf("with all schemas in it the workflow file has %d bytes, at most %d are allowed",
			len(file), MaxBytes)
	}
	return file, err
}

// bundleJSON puts the schemas of a json_schema step into its configuration.
func (b *Bundler) bundleJSON(ctx context.Context, document *yaml.Node, step int, config *yaml.Node) error {
	if err := b.replaceAll(ctx, config, jsonNode); err != nil {
		return err
	}
	for {
		text, err := configOf(document, step)
		if err != nil {
			return err
		}
		missing, faults := engines.MissingSchemas(text, engines.DefaultLimits())
		if len(faults) > 0 {
			return fmt.Errorf("%s %s", faults[0].Pointer, faults[0].Detail)
		}
		if len(missing) == 0 {
			return nil
		}
		var problems []error
		for _, m := range missing {
			problems = append(problems, b.add(ctx, config, m.Name, m.Written, m.From, jsonNode))
		}
		if err := errors.Join(problems...); err != nil {
			return err
		}
	}
}

// configOf returns the current configuration of a step.
func configOf(document *yaml.Node, step int) (json.RawMessage, error) {
	file, err := writeDocument(document)
	if err != nil {
		return nil, err
	}
	text, unreadable := engines.ReadYAML(file, bundleLimits())
	if unreadable != nil {
		return nil, fmt.Errorf("read what was written: %s", unreadable.Message)
	}
	var read struct {
		Steps []struct {
			Config json.RawMessage `json:"config"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(text.JSON, &read); err != nil {
		return nil, fmt.Errorf("read what was written: %w", err)
	}
	return read.Steps[step].Config, nil
}

func bundleLimits() engines.Limits {
	limits := engines.DefaultLimits()
	limits.MaxYAMLBytes, limits.MaxTreeBytes = MaxBytes, MaxBytes
	limits.MaxDepth, limits.MaxValues = MaxDepth, maxFileValues
	return limits
}

// parser makes a node of the text of a schema.
type parser func(text []byte) (*yaml.Node, error)

// replaceAll puts the schema of a step and those beside it where their addresses stand.
func (b *Bundler) replaceAll(ctx context.Context, config *yaml.Node, parse parser) error {
	if err := b.replace(ctx, config, "schema", "", parse); err != nil {
		return err
	}
	if schemas := member(config, "schemas"); schemas != nil {
		for i := 0; i+1 < len(schemas.Content); i += 2 {
			name := schemas.Content[i].Value
			if err := b.replace(ctx, schemas, name, name, parse); err != nil {
				return err
			}
		}
	}
	return nil
}

// replace puts a schema where its address stands.
func (b *Bundler) replace(ctx context.Context, in *yaml.Node, key, name string, parse parser) error {
	node := member(in, key)
	if node == nil || node.Kind != yaml.ScalarNode || !isAddress(node.Value) {
		if name != "" {
			b.sources[name] = b.sources[""]
		}
		return nil
	}
	from, err := b.sources[""].at(node.Value)
	if err != nil {
		return err
	}
	b.sources[name] = from
	content, err := b.fetch.read(ctx, from)
	if err != nil {
		return err
	}
	read, err := parse(content)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	read.HeadComment, read.LineComment = node.HeadComment, node.LineComment
	*node = *read
	// Between braces a text could not stand line by line.
	in.Style &^= yaml.FlowStyle
	return nil
}

// add adds a schema that another one refers to.
func (b *Bundler) add(ctx context.Context, config *yaml.Node, name, written, from string, parse parser) error {
	where, err := b.locate(name, written, from)
	if err != nil {
		return fmt.Errorf("the reference %q in %s: %w", written, b.sources[from], err)
	}
	b.sources[name] = where
	content, err := b.fetch.read(ctx, where)
	if err != nil {
		return fmt.Errorf("the reference %q in %s: %w", written, b.sources[from], err)
	}
	read, err := parse(content)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	schemas := member(config, "schemas")
	if schemas == nil {
		schemas = &yaml.Node{Kind: yaml.MappingNode}
		config.Content = append(config.Content, textNode("schemas"), schemas)
	}
	schemas.Content = append(schemas.Content, textNode(name), read)
	return nil
}

// locate says where a schema is that another one refers to. What was fetched leads to no files.
func (b *Bundler) locate(name, written, from string) (source, error) {
	if !strings.Contains(name, ":") {
		if b.sources[from].isRemote() && !b.sources[""].isRemote() {
			return source{}, errors.New("what was fetched may not refer to files")
		}
		return b.sources[""].at(name)
	}
	referring := b.sources[from]
	if !referring.isRemote() && !strings.Contains(written, ":") {
		// The schema has an address, and its neighbors lie beside it.
		if near, err := referring.at(written); err == nil && near.exists() {
			return near, nil
		}
	}
	return source{}.at(name)
}

// jsonNode reads a schema that is written as JSON or YAML.
func jsonNode(content []byte) (*yaml.Node, error) {
	text := bytes.TrimPrefix(content, []byte("\ufeff"))
	if !json.Valid(text) {
		read, unreadable := engines.ReadYAML(content, engines.DefaultLimits())
		if unreadable != nil {
			return nil, fmt.Errorf("line %d: %s", unreadable.Line, unreadable.Message)
		}
		text = read.JSON
	}
	node, err := readNode(jsontext.NewDecoder(bytes.NewReader(text)))
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return node, nil
}

// isAddress reports whether a text is the name of a file or an address, and no schema itself.
func isAddress(text string) bool {
	return text != "" && !strings.ContainsAny(text, "\n{<") && (filepath.Ext(text) != "" || strings.Contains(text, "/"))
}

// member returns the value of a member of a mapping, nil where there is none.
func member(node *yaml.Node, name string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return followed(node.Content[i+1])
		}
	}
	return nil
}

func items(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	list := make([]*yaml.Node, len(node.Content))
	for i, item := range node.Content {
		list[i] = followed(item)
	}
	return list
}

func followed(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
