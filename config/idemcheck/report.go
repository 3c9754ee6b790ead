package idemcheck

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/idemcheck"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// shown is a report with what its formats need besides.
type shown struct {
	idemcheck.Report

	name, version string
	colored       bool
}

func reportFormats() []string { return []string{"text", "json", "junit", "sarif", "markdown", "badge"} }

// writerOf returns what writes a format; nil if there is none of the name.
func writerOf(format string) func(shown) ([]byte, error) {
	return map[string]func(shown) ([]byte, error){
		"text": shown.text, "json": shown.json, "markdown": shown.markdown, "badge": shown.badge,
		"junit": func(s shown) ([]byte, error) { return formats.JUnit(s.verdict()) },
		"sarif": func(s shown) ([]byte, error) { return formats.SARIF(s.verdict()) },
	}[format]
}

func (s shown) json() ([]byte, error) {
	text, err := json.MarshalIndent(s.Report, "", "  ")
	return append(text, '\n'), err
}

// outcomes are how the outcomes of cases look, and in which color.
func outcomes() map[idemcheck.Outcome][2]string {
	return map[idemcheck.Outcome][2]string{
		idemcheck.OutcomePassed: {"✓", "\x1b[32m"}, idemcheck.OutcomeFailed: {"✗", "\x1b[31m"},
		idemcheck.OutcomeDiffers: {"~", "\x1b[33m"}, idemcheck.OutcomeUnjudged: {"–", "\x1b[2m"},
	}
}

func (s shown) mark(result idemcheck.Result) string {
	look := outcomes()[result.Outcome]
	if !s.colored {
		return look[0]
	}
	return look[1] + look[0] + "\x1b[0m"
}

// summary counts the cases in a sentence.
func (s shown) summary() string {
	count := func(outcome idemcheck.Outcome) int {
		return s.Count(idemcheck.LevelMust, outcome) + s.Count(idemcheck.LevelShould, outcome) +
			s.Count(idemcheck.LevelDiffers, outcome)
	}
	return fmt.Sprintf("%d passed, %d failed (%d of them must hold), %d differ by choice, %d not judged",
		count(idemcheck.OutcomePassed), count(idemcheck.OutcomeFailed),
		s.Count(idemcheck.LevelMust, idemcheck.OutcomeFailed), count(idemcheck.OutcomeDiffers),
		count(idemcheck.OutcomeUnjudged))
}

// text is a table of the cases and a paragraph for each failure.
func (s shown) text() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s by the profile %s\n\n", s.Target, s.Profile)
	var rows [][]string
	for _, result := range s.Results {
		rows = append(rows, []string{
			"  " + result.Case.Name, string(result.Level), cmp.Or(result.Reason, result.Case.Holds),
		})
	}
	var table bytes.Buffer
	if err := cli.WriteTable(&table, rows...); err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		fmt.Fprintf(&out, "%s%s\n", s.mark(s.Results[i]), cut(line, widest))
	}
	fmt.Fprintf(&out, "\n%s; %d requests\n", s.summary(), s.Requests)
	for _, result := range s.Results {
		if result.Outcome == idemcheck.OutcomeFailed {
			fmt.Fprintf(&out, "\n%s %s (%s)\n", s.mark(result), result.Case.Name, result.Level)
			out.WriteString(paragraph(result, "  "))
		}
	}
	return out.Bytes(), nil
}

const (
	// widest is the width of a line of the table, and shownSteps how many requests of a failure are shown.
	widest     = 140
	shownSteps = 12
)

func cut(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return line
}

// paragraph tells all about a failure.
func paragraph(result idemcheck.Result, margin string) string {
	var out strings.Builder
	for _, line := range []string{
		"The case " + result.Case.Does + ".", "What must hold: " + result.Case.Holds + ".",
		"What was seen: " + cli.Clean(result.Reason) + ".", "What it means: " + result.Case.Harm,
		"Source: " + result.Case.Source, "To see it again:",
	} {
		out.WriteString(margin + line + "\n")
	}
	for i, seen := range result.Seen {
		if i == shownSteps {
			fmt.Fprintf(&out, "%s  … %d more\n", margin, len(result.Seen)-i)
			break
		}
		if seen.Curl != "" {
			out.WriteString(margin + "  " + cli.Clean(seen.Curl) + "\n")
		}
		out.WriteString(margin + "    # " + cli.Clean(seen.Answer) + "\n")
	}
	return out.String()
}

// markdown is the same for pages and comments.
func (s shown) markdown() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "## Idempotency of %s\n\nProfile %s: %s.\n\n| | Case | Level | |\n| --- | --- | --- | --- |\n",
		s.Target, s.Profile, s.summary())
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;")
	for _, result := range s.Results {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", outcomes()[result.Outcome][0], result.Case.Name, result.Level,
			cell.Replace(cli.Clean(cmp.Or(result.Reason, result.Case.Holds))))
	}
	for _, result := range s.Results {
		if result.Outcome == idemcheck.OutcomeFailed {
			fmt.Fprintf(&out, "\n### %s\n\n%s\n", result.Case.Name, paragraph(result, "    "))
		}
	}
	return out.Bytes(), nil
}

// badge is what shields.io makes a badge of (its endpoint schema).
func (s shown) badge() ([]byte, error) {
	must := s.Count(idemcheck.LevelMust, idemcheck.OutcomePassed)
	message, color := fmt.Sprintf("%s, %d of %d", s.Profile, must, must), "brightgreen"
	switch broken := s.Count(idemcheck.LevelMust, idemcheck.OutcomeFailed); {
	case broken > 0:
		message, color = fmt.Sprintf("%s, %d of %d broken", s.Profile, broken, must+broken), "red"
	case must == 0:
		message, color = "not judged", "lightgrey"
	}
	return json.Marshal(map[string]any{
		"schemaVersion": 1, "label": "Idempotency-Key", "message": message, "color": color,
	})
}

// verdict is the report as one of documents, for the formats that programs read: the description is the document, a
// case a step, and a failure its finding.
func (s shown) verdict() formats.Verdict {
	document := formats.Document{Name: s.name, Result: api.RunResultPass}
	if s.Broken() {
		document.Result = api.RunResultFail
	}
	for _, result := range s.Results {
		step := formats.Step{ID: result.Case.Name, Name: result.Case.Name, Status: api.StepStatusPassed}
		finding := engines.Finding{
			Code: result.Case.Name, Severity: engines.SeverityInfo,
			Message: fmt.Sprintf("%s; what must hold: %s. %s", result.Reason, result.Case.Holds, result.Case.Harm),
		}
		switch {
		case result.Outcome == idemcheck.OutcomeUnjudged:
			step.Status, step.Note = api.StepStatusSkipped, result.Reason
		case result.Outcome == idemcheck.OutcomeFailed && result.Level == idemcheck.LevelMust:
			finding.Severity, step.Status = engines.SeverityError, api.StepStatusFailed
			step.Counts = api.Counts{Errors: 1}
		case result.Outcome == idemcheck.OutcomeFailed:
			finding.Severity, step.Counts = engines.SeverityWarning, api.Counts{Warnings: 1}
		case result.Outcome == idemcheck.OutcomeDiffers:
			step.Counts = api.Counts{Infos: 1}
		}
		if step.Counts != (api.Counts{}) {
			step.Findings = []engines.Finding{finding}
		}
		document.Steps = append(document.Steps, step)
	}
	return formats.Verdict{Program: s.version, Workflow: "idemcheck", At: s.At, Documents: []formats.Document{document}}
}
