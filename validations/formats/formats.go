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

// format is what is known of a format: the extension of its files, "" where others have the same, their media type, and
// how it is written.
type format struct {
	name                 Format
	extension, mediaType string
	write                func(v Verdict, options TextOptions) ([]byte, error)
}

const plainText = "text/plain; charset=utf-8"

// formats are all of them.
var formats = []format{
	{FormatText, ".txt", plainText, func(v Verdict, o TextOptions) ([]byte, error) { return Text(v, o), nil }},
	{FormatJSON, ".json", "application/json", withoutOptions(JSON)},
	{FormatSARIF, ".sarif", "application/sarif+json", withoutOptions(SARIF)},
	{FormatJUnit, ".xml", "application/xml", withoutOptions(JUnit)},
	{FormatGitHub, "", plainText, func(v Verdict, _ TextOptions) ([]byte, error) { return GitHub(v), nil }},
	{FormatCSV, ".csv", "text/csv; charset=utf-8", withoutOptions(CSV)},
}

func withoutOptions(write func(v Verdict) ([]byte, error)) func(v Verdict, options TextOptions) ([]byte, error) {
	return func(v Verdict, _ TextOptions) ([]byte, error) { return write(v) }
}

// Formats lists the formats.
func Formats() []Format {
	names := make([]Format, len(formats))
	for i, known := range formats {
		names[i] = known.name
	}
	return names
}

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if !slices.Contains(Formats(), Format(name)) {
		return "", fmt.Errorf("there is no format %q; it is one of %s", name,
			strings.Trim(strings.ReplaceAll(fmt.Sprint(Formats()), " ", ", "), "[]"))
	}
	return Format(name), nil
}

// FormatOf returns the format that the extension of a file stands for.
func FormatOf(filename string) (Format, bool) {
	extension := strings.ToLower(path.Ext(filename))
	at := slices.IndexFunc(formats, func(f format) bool { return f.extension == extension && extension != "" })
	if at < 0 {
		return "", false
	}
	return formats[at].name, true
}

// known returns what is known of the format, which ParseFormat or FormatOf has returned.
func (f Format) known() format {
	return formats[slices.Index(Formats(), f)]
}

// MediaType returns the media type of the format.
func (f Format) MediaType() string { return f.known().mediaType }

// Write writes the verdict in the format. The options apply to text only.
func (f Format) Write(v Verdict, options TextOptions) ([]byte, error) {
	return f.known().write(v, options)
}
