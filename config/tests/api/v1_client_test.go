package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
)

// v1Client does what the existing command line client does, request by request. Its answers go through the model of
// that client, and through the OpenAPI document as all answers do.
type v1Client struct {
	stage *stage
	token string
	org   string
}

func (s *stage) v1(token string) v1Client {
	return v1Client{stage: s, token: token, org: "harbour-energy"}
}

// v1Error is what the client prints before it exits with 1.
type v1Error struct {
	message, detail string
}

func (e *v1Error) Error() string { return strings.TrimSpace(e.message + "\n" + e.detail) }

func (c v1Client) send(tb testing.TB, request call) ([]byte, error) {
	tb.Helper()
	request.Token = c.token
	got := c.stage.Do(tb, request.With("User-Agent", "0.3.1").With("Accept", "application/json"))
	return got.Body, judgeV1(got)
}

// judgeV1 branches on the status as the client does. It shows the detail of a refusal only where it has no words of its
// own.
func judgeV1(got answer) error {
	switch {
	case got.Status >= 300 && got.Status < 400:
		return &v1Error{"Unexpected redirect", got.Header.Get("Location")}
	case got.Status == http.StatusUnauthorized:
		return &v1Error{message: "Authentication failed."}
	case got.Status == http.StatusForbidden:
		return &v1Error{message: "Access denied."}
	case got.Status == http.StatusNotFound:
		return &v1Error{message: "Resource not found."}
	case got.Status < 400:
		return nil
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(got.Body, &problem); err != nil {
		return fmt.Errorf("API error (HTTP %d) without JSON: %w", got.Status, err)
	}
	return &v1Error{fmt.Sprintf("API error (HTTP %d)", got.Status), problem.Detail}
}

func getV1[T any](tb testing.TB, c v1Client, address string) (T, error) {
	tb.Helper()
	body, err := c.send(tb, call{Path: address})
	if err != nil {
		var none T
		return none, err
	}
	return readV1[T](tb, "GET "+address, body), nil
}

// mustV1 is getV1 of what has to be there.
func mustV1[T any](tb testing.TB, c v1Client, address string) T {
	tb.Helper()
	value, err := getV1[T](tb, c, address)
	if err != nil {
		tb.Fatalf("GET %s: %v", address, err)
	}
	return value
}

// listV1 follows next until it is null, as the client does, and returns the sizes of the pages as well.
func listV1[T any](tb testing.TB, c v1Client, address string) ([]T, []int) {
	tb.Helper()
	var items []T
	var sizes []int
	folder, _, _ := strings.Cut(address, "?")
	for next := &address; next != nil; {
		if target, err := url.Parse(*next); err != nil || target.IsAbs() || target.Host != "" || target.Path != folder {
			tb.Fatalf("next = %q, want a relative address of the same list", *next)
		}
		page := mustV1[v1List[T]](tb, c, *next)
		if (page.Previous == nil) != (len(sizes) == 0) {
			tb.Errorf("previous of page %d = %v, want it null on the first page alone", len(sizes)+1, page.Previous)
		}
		items, sizes = append(items, page.Results...), append(sizes, len(page.Results))
		next = page.Next
	}
	return items, sizes
}

func (c v1Client) workflowsAddress() string {
	return "/api/v1/orgs/" + url.PathEscape(c.org) + "/workflows/"
}

func (c v1Client) runAddress(id string) string {
	return "/api/v1/orgs/" + url.PathEscape(c.org) + "/runs/" + url.PathEscape(id) + "/"
}

// show is "runs show ID".
func (c v1Client) show(tb testing.TB, id string) v1Run {
	tb.Helper()
	return mustV1[v1Run](tb, c, c.runAddress(id))
}

// v1Upload is what "validate FILE" sends. Field and value of the options alternate.
type v1Upload struct {
	workflow, query string
	options         []string
	filename        string
	content         string
}

// validate starts a run as "validate --no-wait" does.
func (c v1Client) validate(tb testing.TB, upload v1Upload) (v1Run, error) {
	tb.Helper()
	request := call{Method: http.MethodPost, Path: c.workflowsAddress() + url.PathEscape(upload.workflow) + "/runs/"}
	if upload.query != "" {
		request.Path += "?" + upload.query
	}
	body, err := c.send(tb, request.WithBody(upload.form()))
	if err != nil {
		return v1Run{}, err
	}
	return readV1[v1Run](tb, "POST "+request.Path, body), nil
}

// form returns the type and the text of a form: the options, then the file, whose type is that of its ending.
func (u v1Upload) form() (string, string) {
	var parts []string
	for option := range slices.Chunk(u.options, 2) {
		parts = append(parts, fmt.Sprintf("name=%q", option[0]), "", option[1])
	}
	file := fmt.Sprintf(`name="file"; filename=%q`, u.filename)
	return form("B", append(parts, file, typeByEnding(u.filename), u.content)...)
}

// typeByEnding is what Python's mimetypes says on Debian, whatever the machine of the test knows.
func typeByEnding(filename string) string {
	known := map[string]string{".json": "application/json", ".csv": "text/csv", ".xml": "application/xml"}
	if found, ok := known[path.Ext(filename)]; ok {
		return found
	}
	return "application/octet-stream"
}

// wait polls until the run is completed. Where the client pauses for five seconds, the pause is made by the caller.
func (c v1Client) wait(tb testing.TB, id string, pause func()) v1Run {
	tb.Helper()
	const polls = 5
	for range polls {
		run := c.show(tb, id)
		if run.State == "COMPLETED" {
			return run
		}
		pause()
	}
	tb.Fatalf("run %s is not completed after %d polls", id, polls)
	return v1Run{}
}

// exit is the code that "validate" exits with; what is refused exits with 1.
func (r v1Run) exit() int {
	switch {
	case r.State != "COMPLETED":
		return 3
	case r.Result == "PASS":
		return 0
	case r.Result == "FAIL":
		return 1
	default:
		return 2
	}
}

// print is what the client shows of the findings: severity, path and message, and nothing else.
func (r v1Run) print() string {
	var lines strings.Builder
	for _, step := range r.Steps {
		for _, issue := range step.Issues {
			fmt.Fprintln(&lines, strings.Join(slices.DeleteFunc([]string{issue.Severity, issue.Path, issue.Message},
				func(text string) bool { return text == "" }), "  "))
		}
	}
	return lines.String()
}
