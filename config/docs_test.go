package config_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/docs"
)

func TestDocsPages(t *testing.T) {
	t.Parallel()

	e := fixture.Router(t)
	addresses := append(fixture.DocsAddresses(t), "/docs/", "/docs/guides/", "/docs/errors/", "/docs/adr/")
	addresses = append(addresses, fixture.ReferenceAddresses(t)...)
	for _, address := range addresses {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			answer := get(e, address)
			if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
				t.Fatalf("answer = %d %s, want 200 text/html", answer.Code, answer.Header().Get("Content-Type"))
			}
			if got := answer.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'self';") {
				t.Errorf("Content-Security-Policy = %q, want default-src 'self'", got)
			}
			checkKept(t, e, address, answer)
			page := answer.Body.String()
			for _, forbidden := range []string{"<script>", "<style", " style=", " onclick=", "raw HTML omitted"} {
				if strings.Contains(page, forbidden) {
					t.Errorf("page has %q, want none", forbidden)
				}
			}
			for _, target := range references(page) {
				checkReference(t, e, address, target)
			}
		})
	}
}

func TestErrorPages(t *testing.T) {
	t.Parallel()

	var got []string
	for _, address := range fixture.DocsAddresses(t) {
		if code, ok := strings.CutPrefix(address, "/docs/errors/"); ok {
			got = append(got, strings.TrimSuffix(code, "/"))
		}
	}
	if diff := cmp.Diff(fixture.Codes(), got); diff != "" {
		t.Fatalf("pages (-codes +pages):\n%s", diff)
	}
	for _, spec := range core.Codes() {
		t.Run(string(spec.Code), func(t *testing.T) {
			t.Parallel()
			page, ok := docs.Page("errors/" + string(spec.Code))
			if !ok {
				t.Fatal("page is not there")
			}
			checkErrorPage(t, spec, string(page))
		})
	}
}

func TestDocsFiles(t *testing.T) {
	t.Parallel()

	e := fixture.Router(t)
	tests := map[string]struct {
		address, accept, mediaType, contains string
		status                               int
	}{
		"SchemaAsYAML":  {"/api/schema/", "", "application/yaml", "openapi: 3.1.0", 200},
		"SchemaAsJSON":  {"/api/schema/", "application/json, */*", "application/json", `"openapi":"3.1.0"`, 200},
		"SampleOfJSON":  {"/docs/samples/good/building.json", "", "application/json", "Harbour House", 200},
		"SampleOfTable": {"/docs/samples/bad/meter-readings.csv", "", "text/csv; charset=utf-8", "MTR-77", 200},
		"SampleOfXML":   {"/docs/samples/bad/meters.xml", "", "application/xml", "MTR-77", 200},
		"SampleOfIDF":   {"/docs/samples/good/office.idf", "", "text/plain; charset=UTF-8", "Office Lights", 200},
		"NoSample":      {"/docs/samples/good/nothing.csv", "", core.ProblemType, "no such sample", 404},
		"NoEscape":      {"/docs/samples/../openapi.yaml", "", core.ProblemType, "not_found", 404},
		"Folder":        {"/docs/samples/good/", "", core.ProblemType, "not_found", 404},
		"NoPage":        {"/docs/guides/nothing/", "", core.ProblemType, "not_found", 404},
		"NoOperation":   {"/api/docs/nothing/", "", core.ProblemType, "no such page", 404},
		"Style":         {"/docs/docs.css", "", "text/css; charset=utf-8", "light dark", 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := httptest.NewRequest(http.MethodGet, tt.address, http.NoBody)
			req.Header.Set("Accept", tt.accept)
			answer := httptest.NewRecorder()
			e.ServeHTTP(answer, req)
			if answer.Code != tt.status || answer.Header().Get("Content-Type") != tt.mediaType {
				t.Errorf("answer = %d %s, want %d %s",
					answer.Code, answer.Header().Get("Content-Type"), tt.status, tt.mediaType)
			}
			if !strings.Contains(answer.Body.String(), tt.contains) {
				t.Errorf("body = %.300s, want %s", answer.Body, tt.contains)
			}
			if strings.HasPrefix(tt.address, "/api/") {
				fixture.CheckResponse(t, req, answer.Code, answer.Header(), answer.Body.Bytes())
			}
		})
	}
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	const asPage, asProblem = echo.MIMETextHTMLCharsetUTF8, core.ProblemType
	e := fixture.Router(t)
	for _, tt := range []struct{ name, address, accept, mediaType string }{
		{"PageOfTheDocsForABrowser", "/docs/nope/", browser, asPage},
		{"SampleForABrowser", "/docs/samples/nope.csv", browser, asPage},
		{"AnythingForABrowser", "/nope/", browser, asPage},
		{"ThingOfTheAPIForABrowser", "/api/schema/nope/", browser, asProblem},
		{"PageOfTheDocsForAProgram", "/docs/nope/", "*/*", asProblem},
		{"AnythingForAProgram", "/nope/", "", asProblem},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(http.MethodGet, tt.address, http.NoBody)
			request.Header.Set(echo.HeaderAccept, tt.accept)
			answer := httptest.NewRecorder()
			e.ServeHTTP(answer, request)
			got := answer.Header().Get(echo.HeaderContentType)
			if answer.Code != http.StatusNotFound || got != tt.mediaType {
				t.Errorf("answer = %d %s, want 404 %s", answer.Code, got, tt.mediaType)
			}
			if tt.mediaType == asPage && !strings.Contains(answer.Body.String(), `href="/docs/"`) {
				t.Error("the page does not lead to the documentation")
			}
		})
	}
}

func TestReadmeLinks(t *testing.T) {
	t.Parallel()

	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(string(readme), -1)
	if len(links) == 0 {
		t.Error("found 0 links, want some")
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(link[1]))); err != nil {
			t.Errorf("link %s: %v", link[1], err)
		}
	}
}

// Somebody may follow one page after the other, and a key that stood for another request is refused.
func TestGuidesHaveTheirOwnKeys(t *testing.T) {
	t.Parallel()

	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][]byte{"README": readme}
	for _, name := range []string{"guides/tutorial", "guides/operators"} {
		page, ok := docs.Page(name)
		if !ok {
			t.Fatalf("there is no page %s", name)
		}
		pages[name] = page
	}
	// The start that both tours begin with is the same request.
	owner := map[string]string{"first-1": "all"}
	for name, page := range pages {
		for _, match := range regexp.MustCompile(`'Idempotency-Key: ([^']+)'`).FindAllSubmatch(page, -1) {
			key := string(match[1])
			if of, used := owner[key]; used && of != name && of != "all" {
				t.Errorf("%s and %s both use the key %s, want their own", of, name, key)
			} else if !used {
				owner[key] = name
			}
		}
	}
}

func TestDocsSearch(t *testing.T) {
	t.Parallel()

	e := fixture.Router(t)
	const address = "/docs/search/?q=quota_exceeded+%3C%3E"
	answer := get(e, address)
	page := answer.Body.String()
	if answer.Code != http.StatusOK || !strings.Contains(page, "/docs/errors/quota_exceeded/") {
		t.Errorf("answer = %d %.300s, want 200 with the page of the code", answer.Code, page)
	}
	if !strings.Contains(page, "quota_exceeded &lt;&gt;") {
		t.Error("the words are not shown as text")
	}
	checkKept(t, e, address, answer)
}

// checkKept asks again as a browser does that has kept the page.
func checkKept(tb testing.TB, e *echo.Echo, address string, first *httptest.ResponseRecorder) {
	tb.Helper()
	if got := first.Header().Get("Cache-Control"); got != "no-cache" {
		tb.Errorf("Cache-Control = %q, want no-cache", got)
	}
	again := httptest.NewRequest(http.MethodGet, address, http.NoBody)
	again.Header.Set("If-None-Match", first.Header().Get("ETag"))
	answer := httptest.NewRecorder()
	e.ServeHTTP(answer, again)
	if answer.Code != http.StatusNotModified || answer.Body.Len() > 0 {
		tb.Errorf("answer to the one who has it = %d with %d bytes, want 304 with 0", answer.Code, answer.Body.Len())
	}
}

// checkErrorPage holds what a page says of its code against the code.
func checkErrorPage(tb testing.TB, spec core.CodeSpec, page string) {
	tb.Helper()
	if want := "# " + spec.Title + " (" + string(spec.Code) + ")\n"; !strings.HasPrefix(page, want) {
		tb.Errorf("page begins with %.80q, want %q", page, want)
	}
	if want := "| " + strconv.Itoa(spec.Status) + " | `" + string(spec.Code) + "` |"; !strings.Contains(page, want) {
		tb.Errorf("page has no %q", want)
	}
	for _, heading := range []string{"What happened", "What was started or stored", "What to do", "Example"} {
		if !strings.Contains(page, "\n## "+heading+"\n") {
			tb.Errorf("page has no heading %q", heading)
		}
	}
	// A key that was used before may come back with a refused request, so no page can say that it is free.
	if strings.Contains(page, "still unused") {
		tb.Error("page says that the key is still unused, want only what this request did with it")
	}
	_, rest, _ := strings.Cut(page, "```json\n")
	shown, _, ok := strings.Cut(rest, "```")
	if !ok {
		tb.Fatal("page has no example")
	}
	agreed, err := fixture.LoadContract()
	if err != nil {
		tb.Fatal(err)
	}
	var problem api.Problem
	if err := json.Unmarshal([]byte(shown), &problem); err != nil {
		tb.Fatal(err)
	}
	header := http.Header{"Content-Type": {core.ProblemType}, "Request-Id": {problem.RequestID}}
	if err := agreed.CheckProblem(spec.Status, header, []byte(shown)); err != nil {
		tb.Errorf("example: %v", err)
	}
	if problem.Code != spec.Code || problem.Retryable != spec.Retryable {
		tb.Errorf("example = %s, retryable %v, want %s, %v", problem.Code, problem.Retryable, spec.Code, spec.Retryable)
	}
}

// references lists the addresses that a page loads or links to.
func references(page string) []string {
	var found []string
	for _, match := range regexp.MustCompile(` (?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
	}
	return found
}

// checkReference follows a reference, which must stay on this server and name a place that exists.
func checkReference(tb testing.TB, e *echo.Echo, from, link string) {
	tb.Helper()
	base := url.URL{Path: from}
	target, err := base.Parse(link)
	if err != nil {
		tb.Fatalf("reference %q: %v", link, err)
	}
	if target.Host != "" || target.Scheme != "" {
		tb.Errorf("%s leads to %s, want only this server", from, link)
		return
	}
	if strings.HasPrefix(target.Path, "/app/") {
		checkDashboardReference(tb, e, from, target.Path)
		return
	}
	answer := get(e, target.Path)
	if answer.Code != http.StatusOK {
		tb.Errorf("%s leads to %s, which answers %d, want 200", from, link, answer.Code)
	}
	if id := target.Fragment; id != "" && !strings.Contains(answer.Body.String(), `id="`+id+`"`) {
		tb.Errorf("%s leads to %s, which has no such place", from, link)
	}
}

// checkDashboardReference asks only whether there is such a page: who sees it is not the documentation's concern.
func checkDashboardReference(tb testing.TB, e *echo.Echo, from, path string) {
	tb.Helper()
	found := e.NewContext(nil, nil)
	e.Router().Find(http.MethodGet, path, found)
	isPage := func(r *echo.Route) bool { return r.Method == http.MethodGet && r.Path == found.Path() }
	if !slices.ContainsFunc(e.Routes(), isPage) {
		tb.Errorf("%s leads to %s, which is not a page of the dashboard", from, path)
	}
	if slug, isTrial := strings.CutPrefix(path, docs.TrialRoot); isTrial {
		checkTriable(tb, from, strings.TrimSuffix(slug, "/"))
	}
}

// checkTriable refuses the link to a trial that the dashboard answers with 404.
func checkTriable(tb testing.TB, from, slug string) {
	tb.Helper()
	document, err := docs.ReadReference(docs.OpenAPI())
	if err != nil {
		tb.Fatal(err)
	}
	if operation, found := document.Find(slug); !found || !operation.IsTriable() {
		tb.Errorf("%s leads to a trial of %q, which is not an operation that can be tried", from, slug)
	}
}

func get(e *echo.Echo, address string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	e.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return answer
}
