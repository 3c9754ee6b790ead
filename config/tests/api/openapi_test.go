package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/docs"
)

func TestOpenAPI(t *testing.T) {
	t.Parallel()

	document := openAPI(t)

	t.Run("IsValidWithItsExamples", func(t *testing.T) {
		t.Parallel()
		if err := document.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
			t.Error(err)
		}
	})
	t.Run("ListsEveryErrorCode", func(t *testing.T) {
		t.Parallel()
		var got []string
		for _, code := range document.Components.Schemas["ErrorCode"].Value.Enum {
			name, ok := code.(string)
			if !ok {
				t.Fatalf("code = %v, want a string", code)
			}
			got = append(got, name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(fixture.Codes(), got); diff != "" {
			t.Errorf("codes (-want +got):\n%s", diff)
		}
	})
	t.Run("ShowsTheSamples", func(t *testing.T) {
		t.Parallel()
		content := document.Paths.Value("/api/workflows/{id}/start/").Post.RequestBody.Value.Content
		form := member(t, example(t, content, "multipart/form-data", "file_with_metadata"), "file")
		checkSample(t, "good/meter-readings.csv", form)
		checkSample(t, "good/meter-readings.csv", example(t, content, "text/csv", "raw"))
		envelope := member(t, example(t, content, "application/json", "envelope_with_text"), "content")
		checkSample(t, "good/meter-readings.csv", envelope)
		envelope = member(t, example(t, content, "application/json", "envelope_with_object"), "content")
		checkSample(t, "good/building.json", envelope)
		checkSample(t, "good/building.json", example(t, content, "application/json", "raw"))
	})
}

// TestOpenAPIProblems holds what the document says of errors against the codes themselves.
func TestOpenAPIProblems(t *testing.T) {
	t.Parallel()

	for name, response := range openAPI(t).Components.Responses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			media := response.Value.Content.Get(core.ProblemType)
			if media == nil {
				t.Fatalf("media types = %v, want %s", response.Value.Content, core.ProblemType)
			}
			want := make(map[string]any)
			for exampleName, shown := range media.Examples {
				problem := decode[api.Problem](t, shown.Value.Value)
				spec := core.Spec(problem.Code)
				if problem.Status != spec.Status || problem.Title != spec.Title {
					t.Errorf("%s = %d %q, want %d %q",
						exampleName, problem.Status, problem.Title, spec.Status, spec.Title)
				}
				if exampleName == string(problem.Code) {
					want[exampleName] = spec.Retryable
				}
			}
			if diff := cmp.Diff(want, response.Value.Extensions["x-retryable"]); diff != "" {
				t.Errorf("x-retryable (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()

	var want []string
	for path, item := range openAPI(t).Paths.Map() {
		for method := range item.Operations() {
			want = append(want, method+" "+strings.TrimSuffix(path, "/"))
		}
	}
	var got []string
	for _, route := range fixture.Router(t).Routes() {
		if isUndocumented(route) {
			continue
		}
		path := strings.NewReplacer(":id", "{id}", ":org", "{org}").Replace(strings.TrimSuffix(route.Path, "/"))
		got = append(got, route.Method+" "+path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-documented +served):\n%s", diff)
	}
}

// TestCheckResponse makes sure that the check on all recorded answers can fail.
func TestCheckResponse(t *testing.T) {
	t.Parallel()

	const me = `{"id":"0199e09f-1b0a-7c1d-8e2f-3a4b5c6d7e8f","email":"a@b.example","name":"A",` +
		`"org":{"id":"0199e09f-1a01-7b12-9c23-4d34e45f5061","slug":"b","name":"B"},"role":"viewer",` +
		`"token":"0199e09f-1c01-7b12-9c23-4d34e45f5061"}`
	const problem = `{"type":"/docs/errors/not_found/","title":"Not found","status":404,"detail":"None.",` +
		`"code":"not_found","request_id":"1","retryable":false}`
	replaced := func(old, replacement string) string { return strings.Replace(me, old, replacement, 1) }
	tests := map[string]struct {
		path, mediaType, body string
		status                int
		fits                  bool
	}{
		"AsDocumented":    {"/api/me/", "application/json", me, 200, true},
		"WithoutSlash":    {"/api/me", "application/json", me, 200, true},
		"OtherStatus":     {"/api/me/", "application/json", me, 202, false},
		"OtherMediaType":  {"/api/me/", "text/plain", me, 200, false},
		"MemberMissing":   {"/api/me/", "application/json", `{"id":"x"}`, 200, false},
		"MemberTooMany":   {"/api/me/", "application/json", replaced(`"slug"`, `"x":1,"slug"`), 200, false},
		"UnknownRole":     {"/api/me/", "application/json", replaced("viewer", "king"), 200, false},
		"NoUUID":          {"/api/me/", "application/json", replaced("0199e09f-1b0a", "x"), 200, false},
		"UnknownPath":     {"/nothing/", core.ProblemType, problem, 404, true},
		"SecretOperation": {"/nothing/", "application/json", me, 200, false},
		"ProblemAsJSON":   {"/nothing/", "application/json", problem, 404, false},
		"OtherProblem":    {"/nothing/", core.ProblemType, problem, 410, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agreed, err := fixture.LoadContract()
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{"Content-Type": {tt.mediaType}, "Request-Id": {"1"}}
			req := httptest.NewRequest(http.MethodGet, tt.path, http.NoBody)
			err = agreed.Check(req, tt.status, header, []byte(tt.body))
			if (err == nil) != tt.fits {
				t.Errorf("error = %v, want fits = %v", err, tt.fits)
			}
		})
	}
}

// isUndocumented tells what the router serves beside the API: the pages, what they load, and the router's own
// answers to what it does not know.
func isUndocumented(route *echo.Route) bool {
	isPage := slices.ContainsFunc([]string{"/docs/", "/app/", "/static/", "/api/docs/"}, func(place string) bool {
		return strings.HasPrefix(route.Path, place)
	})
	return route.Method == echo.RouteNotFound || route.Path == "/" || (isPage && route.Path != "/api/docs/")
}

// openAPI reads the document as it is served; that of the contract is strict.
func openAPI(tb testing.TB) *openapi3.T {
	tb.Helper()
	// The contract declares the formats, which is global and must come first.
	if _, err := fixture.LoadContract(); err != nil {
		tb.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI())
	if err != nil {
		tb.Fatal(err)
	}
	return document
}

func example(tb testing.TB, content openapi3.Content, mediaType, name string) any {
	tb.Helper()
	media := content[mediaType]
	if media == nil || media.Examples[name] == nil {
		tb.Fatalf("%s has no example %s", mediaType, name)
	}
	return media.Examples[name].Value.Value
}

func member(tb testing.TB, value any, name string) any {
	tb.Helper()
	object, ok := value.(map[string]any)
	if !ok {
		tb.Fatalf("value = %v, want an object", value)
	}
	return object[name]
}

func checkSample(tb testing.TB, name string, got any) {
	tb.Helper()
	sample, err := docs.Sample(name)
	if err != nil {
		tb.Fatal(err)
	}
	var want any = string(sample)
	if strings.HasSuffix(name, ".json") {
		if err := json.Unmarshal(sample, &want); err != nil {
			tb.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, decode[any](tb, got)); diff != "" {
		tb.Errorf("example of %s (-sample +example):\n%s", name, diff)
	}
}

// decode turns a value of the document into a type of Go.
func decode[T any](tb testing.TB, value any) T {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	var decoded T
	if err := json.Unmarshal(text, &decoded); err != nil {
		tb.Fatal(err)
	}
	return decoded
}
