package formats

import (
	"iter"
	"time"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Result is what checking a document has come to. The names are those of runs; a run that was not checked to its end
// may have others.
type Result string

// The results. FAIL is about the document; ERROR and TIMED_OUT are about the check.
const (
	ResultPass     Result = "PASS"
	ResultFail     Result = "FAIL"
	ResultError    Result = "ERROR"
	ResultTimedOut Result = "TIMED_OUT"
)

// Status is what one step has come to.
type Status string

// The statuses of steps.
const (
	StatusPassed  Status = "PASSED"
	StatusFailed  Status = "FAILED"
	StatusSkipped Status = "SKIPPED"
)

// Verdict is what checking documents by one workflow has come to.
type Verdict struct {
	// Program is the version of the program.
	Program   string
	Workflow  string
	At        time.Time
	Documents []Document
}

// Document is what was found in one document.
type Document struct {
	// Name is its path as it is to be shown, with slashes.
	Name string
	// Run is the id of the run; empty where the document was checked without a server.
	Run    string
	Result Result
	// Error says why the document could not be checked to the end.
	Error string
	Steps []Step
}

// Step is what one step of the workflow has found.
type Step struct {
	ID     string
	Name   string
	Status Status
	// Note says why the step was skipped.
	Note string
	// Counts are of everything that was found, also what Findings leaves out; Truncated says that it does.
	Counts    Counts
	Truncated bool
	Findings  []engines.Finding
}

// Counts count findings by their severity.
type Counts struct {
	Errors   int64 `json:"errors"`
	Warnings int64 `json:"warnings"`
	Infos    int64 `json:"infos"`
}

// Counts counts what was found in all documents.
func (v Verdict) Counts() Counts {
	var sum Counts
	for _, document := range v.Documents {
		sum = sum.plus(document.Counts())
	}
	return sum
}

// Counts counts what all steps have found.
func (d Document) Counts() Counts {
	var sum Counts
	for _, step := range d.Steps {
		sum = sum.plus(step.Counts)
	}
	return sum
}

// skipped counts the steps that were not executed.
func (d Document) skipped() int64 {
	var n int64
	for _, step := range d.Steps {
		if step.Status == StatusSkipped {
			n++
		}
	}
	return n
}

func (c Counts) plus(other Counts) Counts {
	return Counts{c.Errors + other.Errors, c.Warnings + other.Warnings, c.Infos + other.Infos}
}

// item is a finding with where it comes from.
type item struct {
	document *Document
	step     *Step
	engines.Finding
}

// items goes through everything that is listed.
func (v Verdict) items() iter.Seq[item] {
	return func(yield func(item) bool) {
		for d := range v.Documents {
			for s := range v.Documents[d].Steps {
				step := &v.Documents[d].Steps[s]
				for _, finding := range step.Findings {
					if !yield(item{&v.Documents[d], step, finding}) {
						return
					}
				}
			}
		}
	}
}

// Clean is cli.Clean, for texts of documents in reports and on pages.
func Clean(text string) string {
	return cli.Clean(text)
}
