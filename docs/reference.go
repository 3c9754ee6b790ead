package docs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Reference is what the OpenAPI document says, in the order in which it is written.
type Reference struct {
	Description string
	Tags        []Tag
}

// Tag is a group of operations.
type Tag struct {
	Name, Description string
	Operations        []*Operation
}

// Operation is a method of a path.
type Operation struct {
	// ID is "startRun", and Slug, which is part of the address of its page, is "start-run".
	ID, Slug             string
	Tag                  string
	Method, Path         string
	Summary, Description string
	// Auth is how a caller is known: by a token, by a signature, or not at all.
	Auth       Auth
	Parameters []Parameter
	Bodies     []Body
	Answers    []Answer
}

// Auth is how an operation knows its caller.
type Auth string

// The ways in which callers are known.
const (
	AuthToken     Auth = "token"
	AuthSignature Auth = "signature"
	AuthNone      Auth = ""
)

// Parameter is a part of the path, of the query or of the header of a request, or a header of a response.
type Parameter struct {
	Field

	// In is "path", "query" or "header".
	In      string
	Example string
}

// Body is a body of one media type.
type Body struct {
	MediaType string
	// Fields are the members of an object; Type is what the body is otherwise.
	Fields      []Field
	Type        string
	Description string
	Examples    []Example
}

// Example is a body as it may be sent.
type Example struct {
	Name, Summary string
	// Text is the body: JSON, or what it says itself. Fields are set for a form.
	Text   string
	Fields []FormField
}

// FormField is a part of a form.
type FormField struct{ Name, Value string }

// Field is a member of an object.
type Field struct {
	Name, Type, Description string
	// Limits are what a value must keep to, like "at most 255 characters".
	Limits   string
	Required bool
	Values   []string
	Fields   []Field
}

// Answer is a response with a status.
type Answer struct {
	Status, Description string
	Headers             []Parameter
	Bodies              []Body
	// Codes are those of the problems that are answered with the status.
	Codes []Code
}

// Code is the code of an error.
type Code struct {
	Name      string
	Retryable bool
}

// OK reports whether the answer is that of a request that has succeeded.
func (a Answer) OK() bool {
	return strings.HasPrefix(a.Status, "2") || strings.HasPrefix(a.Status, "3")
}

// Find returns the operation with a slug.
func (d *Reference) Find(slug string) (*Operation, bool) {
	for _, tag := range d.Tags {
		for _, operation := range tag.Operations {
			if operation.Slug == slug {
				return operation, true
			}
		}
	}
	return nil, false
}

// Operations lists all operations.
func (d *Reference) Operations() []*Operation {
	var all []*Operation
	for _, tag := range d.Tags {
		all = append(all, tag.Operations...)
	}
	return all
}

// ReadReference reads an OpenAPI document.
func ReadReference(source []byte) (*Reference, error) {
	var parsed yaml.Node
	if err := yaml.Unmarshal(source, &parsed); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	if len(parsed.Content) == 0 {
		return nil, errors.New("read the OpenAPI document: it is empty")
	}
	r := &reader{root: parsed.Content[0]}
	document := &Reference{Description: r.text(r.root, "info", "description")}
	for _, node := range r.list(r.root, "tags") {
		document.Tags = append(document.Tags, Tag{
			Name: r.text(node, "name"), Description: r.text(node, "description"),
		})
	}
	for path, item := range r.members(r.member(r.root, "paths")) {
		for method, node := range r.members(item) {
			if r.member(node, "operationId") != nil {
				document.add(r.operation(strings.ToUpper(method), path, node))
			}
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return document, nil
}

// add puts an operation into the group of its tag.
func (d *Reference) add(operation *Operation) {
	for i := range d.Tags {
		if d.Tags[i].Name == operation.Tag {
			d.Tags[i].Operations = append(d.Tags[i].Operations, operation)
			return
		}
	}
	d.Tags = append(d.Tags, Tag{Name: operation.Tag, Operations: []*Operation{operation}})
}

// IsTriable reports whether members may try the operation on the dashboard, where their session stands for a token. It
// is left to tokens to follow a stream, and to pages that ask for the password again to change who may do what.
func (o *Operation) IsTriable() bool {
	if o.Auth != AuthToken || o.call().Streamed {
		return false
	}
	switch o.Tag {
	case "Runs", "Workflows", "Keys":
		return true
	case "Account", "Requests":
		return o.Method == http.MethodGet
	default:
		return false
	}
}

// TrialBody is what a form sends as the body of a request.
type TrialBody struct {
	// IsFile says that the form takes a file of any type.
	IsFile bool
	// MediaType and Text are what the form begins with otherwise.
	MediaType, Text string
}

// TrialBody returns what a form asks for; false for operations without a body.
func (o *Operation) TrialBody() (TrialBody, bool) {
	if slices.ContainsFunc(o.Bodies, func(b Body) bool { return b.MediaType == "*/*" }) {
		return TrialBody{IsFile: true}, true
	}
	body, example, _ := o.sentBody()
	return TrialBody{MediaType: body.MediaType, Text: example.Text}, body.MediaType != ""
}
