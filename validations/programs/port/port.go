// Package port is the contract between the service and the programs that check documents for it, and Serve, which keeps
// it for a program in Go. Programs in other languages read and write the same lines.
//
// The service starts a program for one request. Its standard input is a Request on one line, and behind it the
// document. Its answer is JSON Lines on standard output, each an object with one member. It imports nothing of the
// product, so that a program can be a module of its own.
package port

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Version is that of the contract.
const Version = 1

// The bounds of an answer. One that is larger is no answer.
const (
	MaxLine   = 64 << 10
	MaxOutput = 8 << 20
)

// The exit codes. Any other than these says that the request could not be carried out.
const (
	ExitAnswered = 0
	// ExitExhausted says that a resource was used up. The last line of standard error says which.
	ExitExhausted = 3
	exitFailed    = 1
)

// The tasks of a request.
const (
	// TaskCheck is to check the document.
	TaskCheck = "check"
	// TaskConfigure is to judge the configuration, without a document. It is asked when a workflow is saved.
	TaskConfigure = "configure"
	// TaskRows is to read the document as a table, for a step of the type table. Only a Reader does it.
	TaskRows = "rows"
)

// Request is the first line of the input.
type Request struct {
	Version   int             `json:"version"`
	Task      string          `json:"task"`
	Config    json.RawMessage `json:"config"`
	MediaType string          `json:"media_type"`
	Filename  string          `json:"filename"`
	// Size is the length of the document, which follows the line.
	Size   int64  `json:"size"`
	Limits Limits `json:"limits"`
}

// Limits are how many findings are listed, how many of them of one check, and how many characters an excerpt has.
type Limits struct {
	Findings int `json:"findings"`
	PerCheck int `json:"per_check"`
	Excerpt  int `json:"excerpt"`
}

// Finding is a problem of the document, or a remark about it. Only the first three members are required.
type Finding struct {
	Severity    string `json:"severity"`
	Code        string `json:"code"`
	Message     string `json:"message"`
	Path        string `json:"path,omitempty"`
	Line        int    `json:"line,omitempty"`
	Column      int    `json:"column,omitempty"`
	Row         int    `json:"row,omitempty"`
	Excerpt     string `json:"excerpt,omitempty"`
	Offset      *int64 `json:"offset,omitempty"`
	Count       int    `json:"count,omitempty"`
	SampleRows  []int  `json:"sample_rows,omitempty"`
	AssertionID string `json:"assertion_id,omitempty"`
	Truncated   bool   `json:"truncated,omitempty"`
}

// Fault is what is wrong with a configuration. Line, Column and Words are the place in a text that the pointer leads
// to, and the detail without that place.
type Fault struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	Meant   string `json:"meant,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Words   string `json:"words,omitempty"`
}

// Promise is what a configuration demands of documents, for people to read.
type Promise struct {
	Subject    string `json:"subject,omitempty"`
	Words      string `json:"words,omitempty"`
	Expression string `json:"expression,omitempty"`
	Otherwise  string `json:"otherwise,omitempty"`
	Severity   string `json:"severity,omitempty"`
}

// Counts are how many findings there are, also those that are not listed.
type Counts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
}

// Line is one line of an answer, of which exactly one member is set.
type Line struct {
	Finding *Finding `json:"finding,omitempty"`
	Fault   *Fault   `json:"fault,omitempty"`
	Promise *Promise `json:"promise,omitempty"`
	Counts  *Counts  `json:"counts,omitempty"`
	// Truncated says that more was found than is listed.
	Truncated bool `json:"truncated,omitempty"`
}

// Report is the answer to TaskCheck. A program that sets Counts keeps the limits of the request itself; the service
// folds the findings of one that does not.
type Report struct {
	Findings  []Finding
	Counts    *Counts
	Truncated bool
}

// ExhaustedError says that a check has used up a resource, so there is no verdict on the document.
type ExhaustedError struct {
	// Reason says what the check needed, as in "needed more than 20s of processor time".
	Reason string
}

// Error is the reason.
func (e *ExhaustedError) Error() string { return e.Reason }

// Program does both tasks. An error of Check is never the fault of the document.
type Program interface {
	Configure(config json.RawMessage) ([]Fault, []Promise)
	Check(request Request, document io.Reader) (Report, error)
}

// Reader is a program that reads documents as tables. Rows writes an array of JSON on each line: first one with the
// names of the columns, and then one with the values of each row. A value is null, or a text that begins with the
// letter of its type: s for text, n for a number, b for a boolean, t for a date or a time in ISO 8601, and j for JSON;
// names are texts. A last line with a finding says why the document cannot be read any further. An error of Rows is
// never the fault of the document.
type Reader interface {
	Program
	Rows(request Request, document io.Reader, rows io.Writer) error
}

// Serve answers the request on standard input and ends the process. Call it in main.
func Serve(program Program) {
	os.Exit(serve(program, os.Stdin, os.Stdout, os.Stderr))
}

func serve(program Program, in io.Reader, out, failures io.Writer) int {
	err := answer(program, bufio.NewReader(in), out)
	if err == nil {
		return ExitAnswered
	}
	_, _ = fmt.Fprintln(failures, err) // Nobody is left to tell that this failed.
	if _, ok := errors.AsType[*ExhaustedError](err); ok {
		return ExitExhausted
	}
	return exitFailed
}

func answer(program Program, in *bufio.Reader, out io.Writer) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var request Request
	if err := json.Unmarshal(line, &request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var lines []Line
	reader, isReader := program.(Reader)
	switch {
	case request.Version != Version:
		return fmt.Errorf("this program speaks version %d of the contract, and not %d", Version, request.Version)
	case request.Task == TaskConfigure:
		faults, promises := program.Configure(request.Config)
		for i := range faults {
			lines = append(lines, Line{Fault: &faults[i]})
		}
		for i := range promises {
			lines = append(lines, Line{Promise: &promises[i]})
		}
	case request.Task == TaskCheck:
		report, err := program.Check(request, io.LimitReader(in, request.Size))
		if err != nil {
			return err
		}
		for i := range report.Findings {
			lines = append(lines, Line{Finding: &report.Findings[i]})
		}
		if report.Counts != nil {
			lines = append(lines, Line{Counts: report.Counts})
		}
		if report.Truncated {
			lines = append(lines, Line{Truncated: true})
		}
	case request.Task == TaskRows && isReader:
		return reader.Rows(request, io.LimitReader(in, request.Size), out)
	default:
		return fmt.Errorf("unknown task %q", request.Task)
	}
	return write(lines, out)
}

func write(lines []Line, out io.Writer) error {
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
