package formats

import (
	"iter"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/validations/engines"
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
	Run string
	// Result is that of the run, or the state of one that has not ended.
	Result api.RunResult
	// Error says why the document could not be checked to the end.
	Error string
	Steps []Step
}

// Step is the result of one step of the workflow.
type Step struct {
	ID     string
	Name   string
	Status api.StepStatus
	// Note says why the step was skipped.
	Note string
	// Counts include findings that are not listed in Findings. Truncated is set if there are such.
	Counts    api.Counts
	Truncated bool
	Findings  []engines.Finding
}

// Counts counts the findings of all documents.
func (v Verdict) Counts() api.Counts {
	var sum api.Counts
	for _, document := range v.Documents {
		add(&sum, document.Counts())
	}
	return sum
}

// Counts counts the findings of all steps.
func (d Document) Counts() api.Counts {
	var sum api.Counts
	for _, step := range d.Steps {
		add(&sum, step.Counts)
	}
	return sum
}

func add(sum *api.Counts, counts api.Counts) {
	sum.Errors += counts.Errors
	sum.Warnings += counts.Warnings
	sum.Infos += counts.Infos
}

// skipped counts the steps that were not executed.
func (d Document) skipped() int {
	n := 0
	for _, step := range d.Steps {
		if step.Status == api.StepStatusSkipped {
			n++
		}
	}
	return n
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
	return d.Result != api.RunResultPass || d.skipped() > 0 || d.Counts() != api.Counts{}
}
