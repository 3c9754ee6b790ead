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

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/docs"
)

// contract is the OpenAPI document in the form that answers are checked against.
type contract struct {
	document *openapi3.T
	router   routers.Router
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
	return contract{document: document, router: router}, err
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
	return openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 status,
		Header:                 header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
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
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	schema := c.document.Components.Schemas["Problem"].Value
	if err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()); err != nil {
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
