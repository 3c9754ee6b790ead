package formats

import (
	"iter"
	"time"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Result is the result of checking a document. The names are those of runs, and an unfinished run has its state here.
type Result string

// The results. FAIL is about the document; ERROR and TIMED_OUT are about the check.
const (
	ResultPass     Result = "PASS"
	ResultFail     Result = "FAIL"
	ResultError    Result = "ERROR"
	ResultTimedOut Result = "TIMED_OUT"
)

// Status is the result of one step.
type Status string

// The statuses of steps.
const (
	StatusPassed  Status = "PASSED"
	StatusFailed  Status = "FAILED"
	StatusSkipped Status = "SKIPPED"
)

// Verdict is the result of checking documents with one workflow.
type Verdict struct {
	// Program is the version of the program that has made the verdict.
	Program   string
	Workflow  string
	At        time.Time
	Documents []Document
}

// Document is the result of one document.
type Document struct {
	// Name is the path to show, with slashes.
	Name string
	// Run is the id of the run; empty if the document was checked without a server.
	Run    string
	Result Result
	// Error says why the document could not be checked to the end.
	Error string
	Steps []Step
}

// Step is the result of one step of the workflow.
type Step struct {
	ID     string
	Name   string
	Status Status
	// Note says why the step was skipped.
	Note string
	// Counts include findings that are not listed in Findings. Truncated is set if there are such.
	Counts    Counts
	Truncated bool
	Findings  []engines.Finding
}

// Counts counts findings by severity.
type Counts struct {
	Errors   int64 `json:"errors"`
	Warnings int64 `json:"warnings"`
	Infos    int64 `json:"infos"`
}

// Counts counts the findings of all documents.
func (v Verdict) Counts() Counts {
	var sum Counts
	for _, document := range v.Documents {
		sum = sum.plus(document.Counts())
	}
	return sum
}

// Counts counts the findings of all steps.
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

// item is a finding with its document and step.
type item struct {
	document *Document
	step     *Step
	engines.Finding
}

// items iterates over all listed findings.
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

// deservesWords reports whether there is more to say about the document than that it passed.
func (d Document) deservesWords() bool {
	return d.Result != ResultPass || d.skipped() > 0 || d.Counts() != Counts{}
}
