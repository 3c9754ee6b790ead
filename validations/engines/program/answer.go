package program

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// answerText is what a program has written. It refuses more than an answer may have.
type answerText struct {
	text    []byte
	tooLong bool
}

var errTooLong = errors.New("the answer is too long")

// Write takes a piece of the output.
func (a *answerText) Write(piece []byte) (int, error) {
	if len(a.text)+len(piece) > port.MaxOutput {
		a.tooLong = true
		return 0, errTooLong
	}
	a.text = append(a.text, piece...)
	return len(piece), nil
}

// answer is what a program has said.
type answer struct {
	findings     []port.Finding
	counts       *port.Counts
	truncated    bool
	faults       []engine.ConfigError
	requirements []engine.Requirement
}

// readAnswer reads the lines of a task, or says what is wrong with one of them. The pointers of faults begin with at.
func readAnswer(text []byte, task, at string) (answer, string) {
	var given answer
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var one port.Line
		if len(line) > port.MaxLine {
			return answer{}, fmt.Sprintf("line %d is longer than %d bytes", number, port.MaxLine)
		}
		if err := jsonv2.Unmarshal(line, &one, jsonv2.RejectUnknownMembers(true)); err != nil {
			return answer{}, fmt.Sprintf("line %d: %s", number, engine.ClipTo(err.Error(), engine.MaxMessage))
		}
		if fault := given.add(one, task, at); fault != "" {
			return answer{}, fmt.Sprintf("line %d %s", number, fault)
		}
	}
	return given, ""
}

// add takes one line, or says what is wrong with it.
func (a *answer) add(line port.Line, task, at string) string {
	isCheck := task == port.TaskCheck
	rest := line
	switch {
	case isCheck && line.Finding != nil:
		rest.Finding = nil
		if fault := faultOf(*line.Finding); fault != "" {
			return fault
		}
		a.findings = append(a.findings, *line.Finding)
	case isCheck && line.Counts != nil:
		rest.Counts = nil
		if min(line.Counts.Errors, line.Counts.Warnings, line.Counts.Infos) < 0 {
			return "has a number that is negative"
		}
		a.counts = line.Counts
	case isCheck && line.Truncated:
		rest.Truncated = false
		a.truncated = true
	case !isCheck && line.Fault != nil:
		rest.Fault = nil
		f := *line.Fault
		a.faults = append(a.faults, engine.ConfigError{
			Pointer: at + f.Pointer, Code: f.Code, Detail: engine.ClipTo(f.Detail, maxText), Meant: f.Meant,
			Inside: engine.TextPlace{Line: f.Line, Column: f.Column, Words: engine.ClipTo(f.Words, maxText)},
		})
	case !isCheck && line.Promise != nil:
		rest.Promise = nil
		p := *line.Promise
		a.requirements = append(a.requirements, engine.Requirement{
			Subject: p.Subject, Words: p.Words, Expression: p.Expression, Otherwise: p.Otherwise,
			Severity: engine.Severity(p.Severity),
		})
	}
	if rest != (port.Line{}) || rest == line {
		return "needs one member that the task " + task + " knows"
	}
	return ""
}

// maxText is the length of the longest text of a finding or a fault, in characters.
const maxText = 1000

// maxCode is the length of the longest code.
const maxCode = 200

func faultOf(f port.Finding) string {
	if !engine.Severity(f.Severity).Known() {
		return "needs a severity of ERROR, WARNING or INFO"
	}
	if strings.TrimSpace(f.Code) == "" || len(f.Code) > maxCode || strings.TrimSpace(f.Message) == "" {
		return fmt.Sprintf("needs a code of at most %d bytes and a message", maxCode)
	}
	for _, number := range append([]int{f.Line, f.Column, f.Row, f.Count}, f.SampleRows...) {
		if number < 0 || number > math.MaxInt32 {
			return "has a number that is negative or too large"
		}
	}
	return ""
}

// report lists the findings. A program that counts them has folded them already.
func (a *answer) report(doc engine.Document, limits engine.Limits) engine.Report {
	c := engine.NewCollector(limits)
	var listed []engine.Finding
	for _, f := range a.findings {
		finding := engine.Finding{
			Severity: engine.Severity(f.Severity), Code: engine.ClipTo(f.Code, maxCode),
			Message: engine.ClipTo(f.Message, maxText), Path: engine.ClipTo(f.Path, maxText), Line: f.Line,
			Column: f.Column, Row: f.Row, Excerpt: engine.ClipTo(f.Excerpt, limits.MaxExcerpt), Count: max(1, f.Count),
			SampleRows:  f.SampleRows[:min(len(f.SampleRows), engine.MaxSampleRows)],
			AssertionID: engine.ClipTo(f.AssertionID, maxCode), Truncated: f.Truncated,
		}
		if finding.Excerpt == "" && f.Offset != nil {
			finding.Excerpt = excerptAt(doc, *f.Offset, limits.MaxExcerpt)
		}
		c.Add("", finding)
		listed = append(listed, finding)
	}
	report := c.Finish()
	if n := a.counts; n != nil {
		report.Truncated = len(listed) > limits.MaxFindings
		report.Findings = listed[:min(len(listed), limits.MaxFindings)]
		report.Errors, report.Warnings = max(report.Errors, n.Errors), max(report.Warnings, n.Warnings)
		report.Infos = max(report.Infos, n.Infos)
	}
	report.Truncated = report.Truncated || a.truncated
	return report
}

// excerptAt cuts the line of an offset out of a document. It is empty where the document does not have the offset.
func excerptAt(doc engine.Document, offset int64, limit int) string {
	if offset < 0 || offset > doc.Size {
		return ""
	}
	const longest = 4 // bytes of a character
	begin := max(0, offset-int64(longest*limit))
	text := make([]byte, min(doc.Size, offset+int64(longest*limit))-begin)
	if n, err := doc.Content.ReadAt(text, begin); n < len(text) && err != nil {
		return ""
	}
	at := int(offset - begin)
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	return engine.Excerpt(line, at-start, limit)
}
