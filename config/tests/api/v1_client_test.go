package api

import (
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

// send makes a request that has to succeed, and reads the answer as the client does.
func send[T any](tb testing.TB, c v1Client, status int, request call) T {
	tb.Helper()
	request.Token = c.token
	got := c.stage.Must(tb, status, request.With("User-Agent", "0.3.1").With("Accept", "application/json"))
	return readV1[T](tb, request.Path, got.Body)
}

func getV1[T any](tb testing.TB, c v1Client, address string) T {
	tb.Helper()
	return send[T](tb, c, http.StatusOK, call{Path: address})
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
		page := getV1[v1List[T]](tb, c, *next)
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
	return getV1[v1Run](tb, c, c.runAddress(id))
}

// v1Upload is what "validate FILE" sends.
type v1Upload struct {
	workflow, filename, content string
}

// validate starts a run as "validate --no-wait" does.
func (c v1Client) validate(tb testing.TB, upload v1Upload) v1Run {
	tb.Helper()
	start := call{Method: http.MethodPost, Path: c.workflowsAddress() + url.PathEscape(upload.workflow) + "/runs/"}
	return send[v1Run](tb, c, http.StatusCreated, start.WithBody(upload.form()))
}

// form is a form with the file, whose type is that of its ending.
func (u v1Upload) form() (string, string) {
	return form("B", fmt.Sprintf(`name="file"; filename=%q`, u.filename), typeByEnding(u.filename), u.content)
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
