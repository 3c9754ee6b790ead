package client

import (
	"context"
	"net/http"
	"net/url"
)

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

// Report reads the findings of a run as a report in the format.
func (c *Client) Report(ctx context.Context, id string, format Report) ([]byte, error) {
	return contentOf(ctx, c, request{
		method: http.MethodGet, path: runPath(id) + "findings/", query: url.Values{"format": {string(format)}},
	})
}

func runPath(id string) string { return "/api/runs/" + url.PathEscape(id) + "/" }
