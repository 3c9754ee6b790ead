// Package formats writes the results of validations as text, JSON, SARIF, JUnit, CSV and annotations of GitHub.
//
// Each format is a pure function from a Verdict to bytes. The API and the command line both use it, so a report is the
// same from either.
package formats

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Format is a format of reports.
type Format string

// The formats. Text is for people, the others are for programs.
const (
	FormatText   Format = "text"
	FormatJSON   Format = "json"
	FormatSARIF  Format = "sarif"
	FormatJUnit  Format = "junit"
	FormatGitHub Format = "github"
	FormatCSV    Format = "csv"
)

// Formats lists the formats.
func Formats() []Format {
	return []Format{FormatText, FormatJSON, FormatSARIF, FormatJUnit, FormatGitHub, FormatCSV}
}

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if format := Format(name); slices.Contains(Formats(), format) {
		return format, nil
	}
	names := make([]string, 0, len(Formats()))
	for _, format := range Formats() {
		names = append(names, string(format))
	}
	return "", fmt.Errorf("there is no format %q; it is one of %s", name, strings.Join(names, ", "))
}

// FormatOf returns the format that the extension of a file stands for.
func FormatOf(filename string) (Format, bool) {
	switch strings.ToLower(path.Ext(filename)) {
	case ".txt":
		return FormatText, true
	case ".json":
		return FormatJSON, true
	case ".sarif":
		return FormatSARIF, true
	case ".xml":
		return FormatJUnit, true
	case ".csv":
		return FormatCSV, true
	default:
		return "", false
	}
}

// MediaType returns the media type of the format.
func (f Format) MediaType() string {
	switch f {
	case FormatJSON:
		return "application/json"
	case FormatSARIF:
		return "application/sarif+json"
	case FormatJUnit:
		return "application/xml"
	case FormatCSV:
		return "text/csv; charset=utf-8"
	case FormatText, FormatGitHub:
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}

// Write writes the verdict in the format. The options apply to text only.
func (f Format) Write(v Verdict, options TextOptions) ([]byte, error) {
	switch f {
	case FormatText:
		return Text(v, options), nil
	case FormatJSON:
		return JSON(v)
	case FormatSARIF:
		return SARIF(v)
	case FormatJUnit:
		return JUnit(v)
	case FormatGitHub:
		return GitHub(v), nil
	case FormatCSV:
		return CSV(v)
	default:
		return nil, fmt.Errorf("there is no format %q", f)
	}
}
