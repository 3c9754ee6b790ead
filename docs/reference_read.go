package docs

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// reader looks things up in the document. It keeps the first error, after which what it finds does not count.
type reader struct {
	root *yaml.Node
	err  error
}

// follow returns what a reference or an alias stands for.
func (r *reader) follow(node *yaml.Node) *yaml.Node {
	for node != nil {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
			continue
		}
		ref := member(node, "$ref")
		if ref == nil {
			return node
		}
		if node = r.resolve(ref.Value); node == nil && r.err == nil {
			r.err = fmt.Errorf("read the OpenAPI document: nothing is at %s", ref.Value)
		}
	}
	return nil
}

// resolve finds what a reference like "#/components/schemas/Run" names.
func (r *reader) resolve(ref string) *yaml.Node {
	path, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	node := r.root
	for name := range strings.SplitSeq(path, "/") {
		node = member(node, name)
	}
	return node
}

func member(node *yaml.Node, name string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// member returns a member of an object, through all references; nil if there is none.
func (r *reader) member(node *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		node = r.follow(member(r.follow(node), name))
	}
	return node
}

// text returns a member that is a text; "" if there is none.
func (r *reader) text(node *yaml.Node, names ...string) string {
	if found := r.member(node, names...); found != nil && found.Kind == yaml.ScalarNode {
		return strings.TrimSpace(found.Value)
	}
	return ""
}

func (r *reader) is(node *yaml.Node, name string) bool { return r.text(node, name) == "true" }

// list returns the items of a member.
func (r *reader) list(node *yaml.Node, names ...string) []*yaml.Node {
	found := r.member(node, names...)
	if found == nil || found.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]*yaml.Node, len(found.Content))
	for i, item := range found.Content {
		items[i] = r.follow(item)
	}
	return items
}

// words returns the items of a member as texts.
func (r *reader) words(node *yaml.Node, names ...string) []string {
	var words []string
	for _, item := range r.list(node, names...) {
		words = append(words, item.Value)
	}
	return words
}

// members goes through an object in the order in which it is written.
func (r *reader) members(node *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		node := r.follow(node)
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, r.follow(node.Content[i+1])) {
				return
			}
		}
	}
}

func (r *reader) operation(method, path string, node *yaml.Node) *Operation {
	o := &Operation{
		ID: r.text(node, "operationId"), Method: method, Path: path,
		Summary: r.text(node, "summary"), Description: r.text(node, "description"), Auth: AuthToken,
	}
	o.Slug = slugOf(o.ID)
	if tags := r.words(node, "tags"); len(tags) > 0 {
		o.Tag = tags[0]
	}
	if security := r.member(node, "security"); security != nil {
		o.Auth = AuthNone
		for _, way := range security.Content {
			for scheme := range r.members(way) {
				o.Auth = Auth(scheme)
			}
		}
	}
	for _, parameter := range r.list(node, "parameters") {
		o.Parameters = append(o.Parameters, r.parameter(r.text(parameter, "name"), r.text(parameter, "in"), parameter))
	}
	o.Bodies = r.bodies(r.member(node, "requestBody", "content"))
	for status, answer := range r.members(r.member(node, "responses")) {
		o.Answers = append(o.Answers, r.answer(status, answer))
	}
	return o
}

// slugOf turns "startRun" into "start-run".
func slugOf(id string) string {
	var slug strings.Builder
	for _, letter := range id {
		if unicode.IsUpper(letter) {
			slug.WriteByte('-')
		}
		slug.WriteRune(unicode.ToLower(letter))
	}
	return slug.String()
}

func (r *reader) parameter(name, in string, node *yaml.Node) Parameter {
	p := Parameter{Field: r.field(name, member(node, "schema"), nil), In: in, Example: r.text(node, "example")}
	// What the parameter says of itself counts more than what its type says.
	if own := r.text(node, "description"); own != "" && p.Description != "" && len(p.Values) > 0 {
		p.Description = own + "\n\n" + p.Description
	} else if own != "" {
		p.Description = own
	}
	p.Required = r.is(node, "required")
	if p.Example == "" && r.text(node, "schema", "format") == "uuid" {
		p.Example = r.text(r.resolve("#/components/parameters/RunID"), "example")
	}
	return p
}

func (r *reader) bodies(content *yaml.Node) []Body {
	var bodies []Body
	for mediaType, node := range r.members(content) {
		body := Body{MediaType: mediaType}
		schema := member(node, "schema")
		whole := r.field("", schema, nil)
		body.Fields, body.Type, body.Description = whole.Fields, whole.Type, whole.Description
		for name, example := range r.members(r.member(node, "examples")) {
			body.Examples = append(body.Examples, r.example(mediaType, name, example))
		}
		bodies = append(bodies, body)
	}
	return bodies
}

func (r *reader) example(mediaType, name string, node *yaml.Node) Example {
	example := Example{Name: name, Summary: r.text(node, "summary")}
	value := r.member(node, "value")
	switch {
	case value == nil:
	case strings.HasPrefix(mediaType, "multipart/"):
		for part, text := range r.members(value) {
			example.Fields = append(example.Fields, FormField{Name: part, Value: text.Value})
		}
	case value.Kind == yaml.ScalarNode && value.Tag == "!!str":
		example.Text = value.Value
	case strings.Contains(mediaType, "yaml"):
		text, err := yaml.Marshal(value)
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("write the example %s: %w", name, err)
		}
		example.Text = string(text)
	default:
		var text strings.Builder
		r.writeJSON(&text, value, "")
		example.Text = text.String()
	}
	return example
}

func (r *reader) answer(status string, node *yaml.Node) Answer {
	a := Answer{Status: status, Description: r.text(node, "description")}
	for name, header := range r.members(r.member(node, "headers")) {
		a.Headers = append(a.Headers, r.parameter(name, "header", header))
	}
	a.Bodies = r.bodies(r.member(node, "content"))
	for code, retryable := range r.members(r.member(node, "x-retryable")) {
		a.Codes = append(a.Codes, Code{Name: code, Retryable: retryable.Value == "true"})
	}
	return a
}

// Parameter returns the parameter with a name; false if the operation has none.
func (o *Operation) Parameter(name string) (Parameter, bool) {
	i := slices.IndexFunc(o.Parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return o.Parameters[i], true
}
