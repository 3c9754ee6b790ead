// Package engine is what all engines share: the interface, documents, findings and limits, and helpers for texts and
// places.
//
// An engine checks one document against a configuration that was compiled and checked before. It reads neither
// database nor network nor clock, keeps within the limits it was compiled with, and reports what it found with line
// and column. A fault of the document is a finding; an error means that the check itself could not be carried out.
//
// XML Schema, Parquet files and the programs of operators need help from outside: child processes, which package
// program runs and bounds.
package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// Severity says how grave a finding is. Only SeverityError fails a step.
type Severity string

// The severities of findings.
const (
	SeverityError   Severity = "ERROR"
	SeverityWarning Severity = "WARNING"
	SeverityInfo    Severity = "INFO"
)

// Known reports whether it is one of the severities.
func (s Severity) Known() bool {
	return s == SeverityError || s == SeverityWarning || s == SeverityInfo
}

// Finding is one problem or remark about a document.
//
// Line and Column count characters from 1 and are 0 where unknown; Row counts data rows of tables from 1, without the
// header, and is 0 elsewhere. Path is a JSON pointer or the name of a column. Excerpt is the line, cut around the
// column when it is long.
type Finding struct {
	Severity Severity
	Code     string
	Message  string
	Path     string
	Line     int
	Column   int
	Row      int
	Excerpt  string
	// Count is how often the check failed. It is above 1 where one finding stands for many.
	Count int
	// SampleRows are the first rows concerned where one finding stands for many.
	SampleRows []int
	// AssertionID is the id of the rule that failed, empty for findings that no rule made.
	AssertionID string
	// Truncated says that more failed than is listed one by one.
	Truncated bool
}

// Failure returns a finding of severity ERROR without a place.
func Failure(code, message string) Finding {
	return Finding{Severity: SeverityError, Code: code, Message: message}
}

// Document is what is checked.
type Document struct {
	Content   io.ReaderAt
	Size      int64
	MediaType string
	Filename  string
}

// NewDocument returns a document whose content is in memory.
func NewDocument(content []byte, mediaType, filename string) Document {
	return Document{
		Content:   bytes.NewReader(content),
		Size:      int64(len(content)),
		MediaType: mediaType,
		Filename:  filename,
	}
}

// ReadAll returns the whole content in memory. The caller bounds the size beforehand.
func (d Document) ReadAll() ([]byte, error) {
	content := make([]byte, d.Size)
	if _, err := io.ReadFull(io.NewSectionReader(d.Content, 0, d.Size), content); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return content, nil
}

// Report is the outcome of one run. The counters count everything that was found, also what Findings leaves out;
// Truncated says that it leaves something out.
type Report struct {
	Findings  []Finding
	Errors    int
	Warnings  int
	Infos     int
	Truncated bool
}

// Unreadable returns the finding that says why a document cannot be read as JSON, YAML or XML. It is all of a report.
func (r Report) Unreadable() (Finding, bool) {
	if len(r.Findings) != 1 || r.Errors != 1 {
		return Finding{}, false
	}
	format, _, _ := strings.Cut(r.Findings[0].Code, ".")
	isFormat := format == "json" || format == "yaml" || format == "xml"
	return r.Findings[0], isFormat && r.Findings[0].Code != "xml.schema"
}

// ExhaustedError says that a check has used up its share of a resource, so there is no verdict on the document.
type ExhaustedError struct {
	// Reason says what the check needed, as in "needed more than 20s of processor time".
	Reason string
}

// Error is the reason.
func (e *ExhaustedError) Error() string {
	return e.Reason
}

// FailedError says why a check could not be carried out, in words for the author of the workflow.
type FailedError struct {
	// Reason is a sentence without its end, as in "the program a ended with the exit code 1: no license".
	Reason string
}

// Error is the reason.
func (e *FailedError) Error() string {
	return e.Reason
}

// Engine checks documents. Run may be called by several goroutines at once. Its error is never the fault of the
// document: it is the end of the context, a failure to read the content, an ExhaustedError or a FailedError.
type Engine interface {
	Run(ctx context.Context, doc Document) (Report, error)
}

// ConfigError is a fault in a configuration. Pointer is the JSON pointer of the place, empty for the whole.
type ConfigError struct {
	Pointer string
	Code    string
	Detail  string
	// Meant is the name that an unknown member was probably to have; "" if none is like it.
	Meant string
	// Inside is where the fault is in a text that the pointer leads to, such as an XML Schema.
	Inside TextPlace
}

// TextPlace is a place in a text within a configuration. A Line of 0 means none, a Column of 0 the whole line.
type TextPlace struct {
	Line, Column int
	// Words are the detail of the fault without the place, which the detail begins with.
	Words string
}

// NewConfigError returns a fault of the value that a JSON pointer leads to.
func NewConfigError(pointer, code, detail string) ConfigError {
	return ConfigError{Pointer: pointer, Code: code, Detail: detail}
}

// NewTextError returns a fault at a place of a text that a JSON pointer leads to.
func NewTextError(pointer, code string, line, column int, words string) ConfigError {
	detail := fmt.Sprintf("line %d: %s", line, words)
	if column > 0 {
		detail = fmt.Sprintf("line %d, column %d: %s", line, column, words)
	}
	return ConfigError{Pointer: pointer, Code: code, Detail: detail, Inside: TextPlace{line, column, words}}
}

// Refuse returns the one fault of a configuration that is read no further.
func Refuse(pointer, code, detail string) []ConfigError {
	return []ConfigError{NewConfigError(pointer, code, detail)}
}

// Prechecker is an engine whose configuration can have faults that only a child process finds. Its error is the end of
// the context, or that the child could not be run.
type Prechecker interface {
	Precheck(ctx context.Context) ([]ConfigError, error)
}
