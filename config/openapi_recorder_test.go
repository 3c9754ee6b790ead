package config_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/docs"
)

// contract is the OpenAPI document in the form that answers are checked against.
type contract struct {
	document *openapi3.T
	router   routers.Router
	bodies   *bodies
}

// bodies has the schemas of JSON bodies. The library compiles a schema for each answer that it checks, which took most
// of the processor time of all checks.
type bodies struct {
	mu       sync.Mutex // guards the compiler and what it has compiled
	compiler *jsonschema.Compiler
	compiled map[*openapi3.Schema]*jsonschema.Schema
}

var loadContract = sync.OnceValues(func() (contract, error) {
	declareFormats()
	return newContract(docs.OpenAPI())
})

// declareFormats tells the library of formats and media types. It keeps them for all documents, so this happens once.
func declareFormats() {
	openapi3.DefineStringFormatValidator("uuid",
		openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC9562))
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/xml", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/sarif+json", openapi3filter.JSONBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
}

// newContract reads the document and makes it strict: clients have to ignore unknown members of answers, but the
// service must not send any.
func newContract(text []byte) (contract, error) {
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return contract{}, err
	}
	no := false
	for name, schema := range document.Components.Schemas {
		if schema.Value.Properties != nil && name != "OpenAPI" {
			schema.Value.AdditionalProperties.Has = &no
		}
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		return contract{}, err
	}
	bodies, err := newBodies(document)
	return contract{document: document, router: router, bodies: bodies}, err
}

// documentURL is the name by which schemas refer to the document.
const documentURL = "https://service.example/openapi.json"

func newBodies(document *openapi3.T) (*bodies, error) {
	b := &bodies{compiler: jsonschema.NewCompiler(), compiled: make(map[*openapi3.Schema]*jsonschema.Schema)}
	b.compiler.DefaultDraft(jsonschema.Draft2020)
	b.compiler.AssertFormat()
	value, err := asJSON(document)
	if err != nil {
		return nil, err
	}
	return b, b.compiler.AddResource(documentURL, value)
}

// asJSON returns what a value is in JSON; references that are made inside of the document lead to it.
func asJSON(value json.Marshaler) (any, error) {
	text, err := value.MarshalJSON()
	if err != nil {
		return nil, err
	}
	absolute := strings.ReplaceAll(string(text), `"#/components/`, `"`+documentURL+`#/components/`)
	return jsonschema.UnmarshalJSON(strings.NewReader(absolute))
}

// check checks a body against a schema of the document.
func (b *bodies) check(schema *openapi3.Schema, body []byte) error {
	compiled, err := b.compile(schema)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func (b *bodies) compile(schema *openapi3.Schema) (*jsonschema.Schema, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if compiled, ok := b.compiled[schema]; ok {
		return compiled, nil
	}
	value, err := asJSON(schema)
	if err != nil {
		return nil, err
	}
	location := fmt.Sprintf("https://service.example/%d.json", len(b.compiled))
	if err := b.compiler.AddResource(location, value); err != nil {
		return nil, err
	}
	compiled, err := b.compiler.Compile(location)
	if err == nil {
		b.compiled[schema] = compiled
	}
	return compiled, err
}

// checkResponse fails the test where an answer is not as the OpenAPI document says: its status, headers, media type
// and body. An answer to a request that the document does not know must be a problem.
func checkResponse(tb testing.TB, req *http.Request, status int, header http.Header, body []byte) {
	tb.Helper()
	agreed, err := loadContract()
	if err != nil {
		tb.Fatalf("load the OpenAPI document: %v", err)
	}
	if err := agreed.check(req, status, header, body); err != nil {
		tb.Errorf("%s %s answered %d against the OpenAPI document: %v\n%s", req.Method, req.URL, status, err, body)
	}
}

func (c contract) check(req *http.Request, status int, header http.Header, body []byte) error {
	if status >= http.StatusBadRequest && !isReadiness(req, status) {
		if err := c.checkProblem(status, header, body); err != nil {
			return err
		}
	}
	route, params, err := c.find(req)
	if errors.Is(err, routers.ErrPathNotFound) || errors.Is(err, routers.ErrMethodNotAllowed) {
		if status < http.StatusBadRequest {
			return fmt.Errorf("the operation is not documented: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	schema := schemaOfJSON(route, status, header.Get("Content-Type"))
	if err := openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 status,
		Header:                 header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: schema != nil,
		},
	}); err != nil || schema == nil {
		return err
	}
	return c.bodies.check(schema, body)
}

// schemaOfJSON returns the schema of an answer's body, or nil where it is not JSON or the document has none.
func schemaOfJSON(route *routers.Route, status int, mediaType string) *openapi3.Schema {
	response := route.Operation.Responses.Status(status)
	if response == nil {
		response = route.Operation.Responses.Default()
	}
	if response == nil || !strings.Contains(mediaType, "json") {
		return nil
	}
	media := response.Value.Content.Get(mediaType)
	if media == nil || media.Schema == nil {
		return nil
	}
	return media.Schema.Value
}

// find looks the operation up with and without the slash at the end, as the service does.
func (c contract) find(req *http.Request) (*routers.Route, map[string]string, error) {
	route, params, err := c.router.FindRoute(req)
	if !errors.Is(err, routers.ErrPathNotFound) {
		return route, params, err
	}
	other := req.Clone(req.Context())
	if path, found := strings.CutSuffix(req.URL.Path, "/"); found {
		other.URL.Path, other.URL.RawPath = path, ""
	} else {
		other.URL.Path, other.URL.RawPath = path+"/", ""
	}
	return c.router.FindRoute(other)
}

// checkProblem checks what the document cannot say: that the members of a problem belong together.
func (c contract) checkProblem(status int, header http.Header, body []byte) error {
	if got := header.Get("Content-Type"); got != core.ProblemType {
		return fmt.Errorf("Content-Type = %q, want %q", got, core.ProblemType)
	}
	if err := c.bodies.check(c.document.Components.Schemas["Problem"].Value, body); err != nil {
		return err
	}
	var problem core.Problem
	if err := json.Unmarshal(body, &problem); err != nil {
		return err
	}
	spec := problem.Code.Spec()
	if problem.Status != status || spec.Status != status {
		return fmt.Errorf("status = %d in the problem and %d of its code, want %d", problem.Status, spec.Status, status)
	}
	if want := "/docs/errors/" + string(problem.Code) + "/"; problem.Type != want || problem.Title != spec.Title {
		return fmt.Errorf("type = %q and title = %q, want %q and %q", problem.Type, problem.Title, want, spec.Title)
	}
	// A remembered problem names the request that it was first given to.
	want := cmp.Or(header.Get("Original-Request-Id"), header.Get(core.HeaderRequestID))
	if problem.RequestID != want {
		return fmt.Errorf("request_id = %q, want that of the header, %q", problem.RequestID, want)
	}
	return nil
}

// isReadiness says whether an answer is that of a process that is not ready, the only failure without a problem.
func isReadiness(req *http.Request, status int) bool {
	return status == http.StatusServiceUnavailable && strings.TrimSuffix(req.URL.Path, "/") == "/readyz"
}
