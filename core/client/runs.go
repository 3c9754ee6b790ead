package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RunFilter narrows a list of runs; empty fields do not.
type RunFilter struct {
	State  State
	Result Result
	Source string
	// Workflow is the id or the slug of a workflow.
	Workflow string
	// Search is a part of the idempotency key or of the document's name, whatever the case of its letters.
	Search string
	Key    string
	// Since and Until bound the time of creation; Until is not included.
	Since, Until time.Time
}

// Report is a format of a report of a run's findings.
type Report string

// The reports.
const (
	ReportText   Report = "text"
	ReportSARIF  Report = "sarif"
	ReportJUnit  Report = "junit"
	ReportGitHub Report = "github"
	ReportCSV    Report = "csv"
)

// Run reads a run.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	return get[Run](ctx, c, runPath(id))
}

// Cancel ends a run that has not ended yet. Canceling it again changes nothing.
func (c *Client) Cancel(ctx context.Context, id string) (Run, error) {
	run, _, err := call[Run](ctx, c, request{method: http.MethodPost, path: runPath(id) + "cancel/"})
	return run, err
}

// Runs iterates over the runs of the organization, newest first.
func (c *Client) Runs(ctx context.Context, filter RunFilter) iter.Seq2[Run, error] {
	query := url.Values{}
	for name, value := range map[string]string{
		"state": string(filter.State), "result": string(filter.Result), "source": filter.Source,
		"workflow": filter.Workflow, "q": filter.Search, "idempotency_key": filter.Key,
		"since": queryTime(filter.Since), "until": queryTime(filter.Until),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return list[Run](ctx, c, "/api/runs/", query)
}

// Findings iterates over the findings of a run in the order in which they were found.
func (c *Client) Findings(ctx context.Context, id string) iter.Seq2[Finding, error] {
	return list[Finding](ctx, c, runPath(id)+"findings/", url.Values{})
}

// Report reads the findings of a run as a report in the format.
func (c *Client) Report(ctx context.Context, id string, form Report) ([]byte, error) {
	query := url.Values{"format": {string(form)}}
	got, err := c.send(ctx, request{method: http.MethodGet, path: runPath(id) + "findings/?" + query.Encode()})
	return got.body, err
}

// Document reads the document of a run, byte for byte. A document that is no longer kept is refused with
// ErrDocumentGone.
func (c *Client) Document(ctx context.Context, id string) ([]byte, error) {
	got, err := c.send(ctx, request{method: http.MethodGet, path: runPath(id) + "document/content/"})
	return got.body, err
}

// DocumentLines reads lines of a run's document from the given one on, with the findings on them. There are at most 200
// in one answer; 0 stands for 100.
func (c *Client) DocumentLines(ctx context.Context, id string, from, lines int) (DocumentWindow, error) {
	query := url.Values{}
	for name, value := range map[string]int{"from": from, "lines": lines} {
		if value > 0 {
			query.Set(name, strconv.Itoa(value))
		}
	}
	return get[DocumentWindow](ctx, c, runPath(id)+"document/?"+query.Encode())
}

// Compare compares the findings with those of the previous run of the same workflow on the same file.
func (c *Client) Compare(ctx context.Context, id string) (Comparison, error) {
	return get[Comparison](ctx, c, runPath(id)+"comparison/")
}

func runPath(id string) string { return "/api/runs/" + url.PathEscape(id) + "/" }

func queryTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// page is one answer of a list.
type page[T any] struct {
	Next     string `json:"next"`
	Previous string `json:"previous"`
	Results  []T    `json:"results"`
}

// list iterates over all pages of a list. The first error ends it.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query.Set("page_size", "100")
		next := path + "?" + query.Encode()
		for next != "" {
			got, err := get[page[T]](ctx, c, next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range got.Results {
				if !yield(item, nil) {
					return
				}
			}
			next = got.Next
		}
	}
}
