package formats

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

type junitReport struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	ID         int         `xml:"id,attr"`
	Package    string      `xml:"package,attr"`
	Name       string      `xml:"name,attr"`
	Timestamp  string      `xml:"timestamp,attr"`
	Hostname   string      `xml:"hostname,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Time       string      `xml:"time,attr"`
	Properties struct{}    `xml:"properties"`
	Cases      []junitCase `xml:"testcase"`
	SystemOut  string      `xml:"system-out"`
	SystemErr  string      `xml:"system-err"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Skipped   *junitSkipped `xml:"skipped,omitempty"`
	Error     *junitFault   `xml:"error,omitempty"`
	Failure   *junitFault   `xml:"failure,omitempty"`
}

type junitSkipped struct{}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes a test suite for each document, with a test case for each step and for each code of its errors, so that
// a report names the rules that have begun to fail. Warnings are part of the suite's output.
func JUnit(v Verdict) ([]byte, error) {
	report := junitReport{}
	for i := range v.Documents {
		report.Suites = append(report.Suites, suiteOf(i, v, &v.Documents[i]))
	}
	text, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write a JUnit report: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func suiteOf(id int, v Verdict, d *Document) junitSuite {
	suite := junitSuite{
		ID: id, Package: Clean(v.Workflow), Name: Clean(d.Name), Timestamp: v.At.UTC().Format("2006-01-02T15:04:05"),
		Hostname: "localhost", Time: "0",
	}
	var output strings.Builder
	for i := range d.Steps {
		step := &d.Steps[i]
		suite.Cases = append(suite.Cases, casesOf(d, step, className(v.Workflow, d.Name, step.ID))...)
		if step.Note != "" {
			fmt.Fprintf(&output, "step %s was skipped: %s\n", Clean(step.Name), Clean(step.Note))
		}
		for _, finding := range step.Findings {
			if finding.Severity != engines.SeverityError {
				output.WriteString(line(item{d, step, finding}))
			}
		}
	}
	if d.Error != "" {
		suite.Cases = append(suite.Cases, junitCase{
			Name: "checked to the end", ClassName: className(v.Workflow, d.Name, "run"), Time: "0",
			Error: &junitFault{Message: Clean(d.Error), Type: string(d.Result), Text: Clean(d.Error)},
		})
	}
	for _, test := range suite.Cases {
		suite.Tests++
		if test.Failure != nil {
			suite.Failures++
		}
		if test.Error != nil {
			suite.Errors++
		}
	}
	suite.SystemOut = output.String()
	return suite
}

// casesOf returns the test case of the step, then one for each code of its errors.
func casesOf(d *Document, step *Step, class string) []junitCase {
	own := junitCase{Name: "step " + Clean(step.Name), ClassName: class, Time: "0"}
	if step.Status == api.StepStatusSkipped {
		own.Skipped = &junitSkipped{}
	}
	cases := []junitCase{own}
	places := map[string]int{}
	for _, finding := range step.Findings {
		if finding.Severity != engines.SeverityError {
			continue
		}
		at, known := places[finding.Code]
		if !known {
			at = len(cases)
			places[finding.Code] = at
			cases = append(cases, junitCase{
				Name: Clean(finding.Code), ClassName: class, Time: "0",
				Failure: &junitFault{Message: Clean(sentence(finding)), Type: Clean(finding.Code)},
			})
		}
		cases[at].Failure.Text += line(item{d, step, finding})
	}
	if step.Status == api.StepStatusFailed && len(cases) == 1 {
		text := countWords(step.Counts) + ", which are not listed"
		cases[0].Failure = &junitFault{Message: text, Type: "step", Text: text}
	}
	return cases
}

// className groups the cases. Readers of reports split it at dots, so the parts contain none.
func className(parts ...string) string {
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(Clean(part), ".", "_")
	}
	return strings.Join(parts, ".")
}

func line(f item) string {
	text := Clean(f.place()) + " " + Clean(sentence(f.Finding)) + " (" + Clean(f.Code) + ")\n"
	if f.Line > 0 && f.Excerpt != "" {
		text += "    " + Clean(f.Excerpt) + "\n"
	}
	return text
}
