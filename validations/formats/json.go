package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// jsonVersion is the version of the JSON format. It changes when a member changes its meaning or is removed.
const jsonVersion = 1

type jsonReport struct {
	SchemaVersion int            `json:"schema_version"`
	Program       string         `json:"program"`
	Workflow      string         `json:"workflow"`
	Counts        api.Counts     `json:"counts"`
	Documents     []jsonDocument `json:"documents"`
}

type jsonDocument struct {
	Name   string        `json:"name"`
	Run    api.Optional  `json:"run"`
	Result api.RunResult `json:"result"`
	Error  string        `json:"error"`
	Counts api.Counts    `json:"counts"`
	Steps  []jsonStep    `json:"steps"`
}

type jsonStep struct {
	StepID    string         `json:"step_id"`
	Name      string         `json:"name"`
	Status    api.StepStatus `json:"status"`
	Note      string         `json:"note"`
	Counts    api.Counts     `json:"counts"`
	Truncated bool           `json:"truncated"`
	Findings  []jsonFinding  `json:"findings"`
}

type jsonFinding struct {
	Severity    engines.Severity `json:"severity"`
	Code        string           `json:"code"`
	Message     string           `json:"message"`
	Path        string           `json:"path"`
	Line        int              `json:"line"`
	Column      int              `json:"column"`
	Row         int              `json:"row"`
	Excerpt     string           `json:"excerpt"`
	Count       int              `json:"count"`
	SampleRows  []int            `json:"sample_rows"`
	AssertionID api.Optional     `json:"assertion_id"`
	Truncated   bool             `json:"truncated"`
}

// JSON writes the complete verdict as one JSON object.
func JSON(v Verdict) ([]byte, error) {
	report := jsonReport{
		SchemaVersion: jsonVersion, Program: v.Program, Workflow: v.Workflow, Counts: v.Counts(),
		Documents: make([]jsonDocument, len(v.Documents)),
	}
	for i, document := range v.Documents {
		report.Documents[i] = jsonDocument{
			Name: document.Name, Run: api.Optional(document.Run), Result: document.Result, Error: document.Error,
			Counts: document.Counts(), Steps: make([]jsonStep, len(document.Steps)),
		}
		for j, step := range document.Steps {
			report.Documents[i].Steps[j] = jsonOf(step)
		}
	}
	return encodeJSON(report)
}

func jsonOf(step Step) jsonStep {
	findings := make([]jsonFinding, len(step.Findings))
	for i, f := range step.Findings {
		rows := f.SampleRows
		if rows == nil {
			rows = []int{}
		}
		findings[i] = jsonFinding{
			f.Severity, f.Code, f.Message, f.Path, f.Line, f.Column, f.Row, f.Excerpt, f.Count, rows,
			api.Optional(f.AssertionID), f.Truncated,
		}
	}
	return jsonStep{step.ID, step.Name, step.Status, step.Note, step.Counts, step.Truncated, findings}
}

func encodeJSON(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	return append(escapeMisleading(text), '\n'), nil
}

// escapeMisleading writes characters that mislead as escapes: programs read the same, and people see them.
func escapeMisleading(text []byte) []byte {
	if !bytes.ContainsFunc(text, cli.Misleads) {
		return text
	}
	escaped := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if cli.Misleads(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
			continue
		}
		escaped = utf8.AppendRune(escaped, r)
	}
	return escaped
}
