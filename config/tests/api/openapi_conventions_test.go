package api

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/docs"
)

// operation is one operation of the document with where it stands.
type operation struct {
	*openapi3.Operation

	name string
}

func operations(document *openapi3.T) []operation {
	var found []operation
	for path, item := range document.Paths.Map() {
		for method, described := range item.Operations() {
			found = append(found, operation{described, method + " " + path})
		}
	}
	return found
}

func (o operation) takesKey() bool {
	return o.Parameters.GetByInAndName(openapi3.ParameterInHeader, idempotency.Header) != nil
}

// TestOpenAPIOperations holds all operations to one form, on which generated clients and pages rely.
func TestOpenAPIOperations(t *testing.T) {
	t.Parallel()

	document := openAPI(t)
	form := regexp.MustCompile(`^[a-z][A-Za-z]*$`)
	ids, used := map[string]string{}, map[string]bool{}
	for _, o := range operations(document) {
		if !form.MatchString(o.OperationID) || ids[o.OperationID] != "" {
			t.Errorf("%s: operationId = %q, want one in camel case that %q does not have",
				o.name, o.OperationID, ids[o.OperationID])
		}
		ids[o.OperationID] = o.name
		if len(o.Tags) != 1 || document.Tags.Get(o.Tags[0]) == nil {
			t.Errorf("%s: tags = %v, want one of the document's", o.name, o.Tags)
		}
		for _, tag := range o.Tags {
			used[tag] = true
		}
		if o.Summary == "" || strings.HasSuffix(o.Summary, ".") || !isText(o.Description) {
			t.Errorf("%s: summary = %q and description = %q, want a title and sentences",
				o.name, o.Summary, o.Description)
		}
		for _, parameter := range o.Parameters {
			if !isText(parameter.Value.Description) {
				t.Errorf("%s: %s has no description", o.name, parameter.Value.Name)
			}
		}
	}
	for _, tag := range document.Tags {
		if !used[tag.Name] || !isText(tag.Description) {
			t.Errorf("tag %s is not used or not described", tag.Name)
		}
	}
}

// TestOpenAPIResponses holds answers to one form: named problems, the headers of idempotency, examples.
func TestOpenAPIResponses(t *testing.T) {
	t.Parallel()

	for _, o := range operations(openAPI(t)) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			for status, response := range o.Responses.Map() {
				if !isText(*response.Value.Description) || response.Value.Headers[core.HeaderRequestID] == nil {
					t.Errorf("%s has no description or no %s", status, core.HeaderRequestID)
				}
				isReadiness := status == "503" && strings.HasSuffix(o.name, "/readyz")
				isRefusal := status >= "4" && !isReadiness
				if isRefusal != strings.HasPrefix(response.Ref, "#/components/responses/") {
					t.Errorf("%s = %q, want problems as responses of their own", status, response.Ref)
				}
				if o.takesKey() {
					checkKeyHeaders(t, status, response.Value)
				}
				if limit := response.Value.Headers["RateLimit"]; status < "3" && o.Security == nil && limit == nil {
					t.Errorf("%s has no RateLimit, which every answer to a token carries", status)
				}
				checkHasExamples(t, status, response.Value.Content)
			}
			if o.RequestBody != nil {
				checkHasExamples(t, "the request", o.RequestBody.Value.Content)
			}
		})
	}
}

// keyHeaders are the headers that an answer of an operation with a key may carry because of it.
func keyHeaders(status string) []string {
	if status < "3" {
		return []string{
			idempotency.Header, "Idempotency-Expires", "Idempotency-Warning",
			"Idempotent-Replayed", "Original-Request-Id",
		}
	}
	return []string{idempotency.Header}
}

func checkKeyHeaders(tb testing.TB, status string, response *openapi3.Response) {
	tb.Helper()
	for _, name := range keyHeaders(status) {
		if response.Headers[name] == nil {
			tb.Errorf("%s has no %s", status, name)
		}
	}
}

// checkHasExamples wants an example of everything but of bytes and of pages.
func checkHasExamples(tb testing.TB, where string, content openapi3.Content) {
	tb.Helper()
	for name, media := range content {
		if len(media.Examples) == 0 && name != "*/*" && name != echo.MIMETextHTML {
			tb.Errorf("%s has no example as %s", where, name)
		}
		for shown, found := range media.Examples {
			if found.Value.Summary == "" && len(media.Examples) > 1 {
				tb.Errorf("%s: example %s of %s has no summary", where, shown, name)
			}
		}
	}
}

// TestOpenAPIComponents keeps the parts of the document single, used and explained.
func TestOpenAPIComponents(t *testing.T) {
	t.Parallel()

	document := openAPI(t)
	t.Run("AreUsed", func(t *testing.T) {
		t.Parallel()
		parts := map[string][]string{
			"parameters": slices.Collect(maps.Keys(document.Components.Parameters)),
			"headers":    slices.Collect(maps.Keys(document.Components.Headers)),
			"responses":  slices.Collect(maps.Keys(document.Components.Responses)),
			"examples":   slices.Collect(maps.Keys(document.Components.Examples)),
			"schemas":    slices.Collect(maps.Keys(document.Components.Schemas)),
		}
		for kind, names := range parts {
			for _, name := range names {
				if !strings.Contains(string(docs.OpenAPI()), `"#/components/`+kind+"/"+name+`"`) {
					t.Errorf("nothing refers to %s/%s", kind, name)
				}
			}
		}
	})
	t.Run("HaveExamplesThatFit", func(t *testing.T) {
		t.Parallel()
		for name, header := range document.Components.Headers {
			checkExample(t, name, header.Value.Schema, header.Value.Example)
		}
		for name, parameter := range document.Components.Parameters {
			checkExample(t, name, parameter.Value.Schema, parameter.Value.Example)
		}
	})
	t.Run("AreNotRepeated", func(t *testing.T) {
		t.Parallel()
		known := map[string]string{}
		for name, schema := range document.Components.Schemas {
			text, err := json.Marshal(schema.Value)
			if err != nil {
				t.Fatal(err)
			}
			if other, found := known[string(text)]; found {
				t.Errorf("schemas %s and %s are the same", name, other)
			}
			known[string(text)] = name
		}
	})
}

func checkExample(tb testing.TB, name string, schema *openapi3.SchemaRef, example any) {
	tb.Helper()
	if example == nil {
		tb.Errorf("%s has no example", name)
		return
	}
	if err := schema.Value.VisitJSON(example, openapi3.EnableJSONSchema2020()); err != nil {
		tb.Errorf("example of %s: %v", name, err)
	}
}

// TestOpenAPISchemas walks all schemas, wherever they stand.
func TestOpenAPISchemas(t *testing.T) {
	t.Parallel()

	document := openAPI(t)
	for name, schema := range document.Components.Schemas {
		// Every code has a page of its own.
		if name != "ErrorCode" {
			checkSchema(t, name, schema.Value)
		}
	}
	for _, o := range operations(document) {
		for _, parameter := range o.Parameters {
			checkPart(t, o.name+" "+parameter.Value.Name, parameter.Value.Schema)
		}
		for status, response := range o.Responses.Map() {
			for _, media := range response.Value.Content {
				checkPart(t, o.name+" "+status, media.Schema)
			}
		}
	}
}

// checkSchema wants values of an enumeration explained, and looks into the parts of a schema.
func checkSchema(tb testing.TB, name string, schema *openapi3.Schema) {
	tb.Helper()
	for _, value := range schema.Enum {
		if text, ok := value.(string); ok && text != "" && !strings.Contains(schema.Description, text) {
			tb.Errorf("the description of %s does not say what %s means", name, text)
		}
	}
	for member, part := range schema.Properties {
		checkPart(tb, name+"."+member, part)
	}
	if schema.Items != nil {
		checkPart(tb, name+"[]", schema.Items)
	}
}

// checkPart wants an object with members to have a name, so that it is written once and clients get a type for it.
func checkPart(tb testing.TB, name string, part *openapi3.SchemaRef) {
	tb.Helper()
	if part.Ref != "" {
		return
	}
	if len(part.Value.Properties) > 0 {
		tb.Errorf("%s has members and is not a schema of its own", name)
	}
	checkSchema(tb, name, part.Value)
}

// TestOpenAPIExamplesAreChecked makes sure that the check of examples can fail, and that it is strict.
func TestOpenAPIExamplesAreChecked(t *testing.T) {
	t.Parallel()

	// The contract declares the formats, which is global and must come first.
	if _, err := fixture.LoadContract(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ old, replacement string }{
		"Request": {"slug: meter-readings", "slug: 12"},
		"Answer":  {"state: PENDING", "state: WAITING"},
		"Problem": {"retryable: false", "retryable: 12"},
		"TooMuch": {"retryable: false", "retryable: false\n                unknown: 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := strings.ReplaceAll(string(docs.OpenAPI()), tt.old, tt.replacement)
			agreed, err := fixture.NewContract([]byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			if err := agreed.Document.Validate(t.Context(), openapi3.EnableExamplesValidation()); err == nil {
				t.Errorf("a document with %q is valid, want it refused", tt.replacement)
			}
		})
	}
}

func isText(description string) bool {
	return strings.HasSuffix(strings.TrimSpace(description), ".")
}
