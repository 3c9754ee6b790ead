package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
	"github.com/simplevalidations/simplevalidations/validations/web/viewer"
)

// findingsView is one page of a run's findings.
type findingsView struct {
	// Summary says how many of the findings are shown.
	Summary string
	Steps   []findingsOfStep
	Map     *viewer.Minimap
	// Next and Previous link to the other pages.
	Next, Previous string
}

// findingsOfStep groups the findings of one step.
type findingsOfStep struct {
	Number int
	Name   string
	Pill   pages.Pill
	// Open is set if the step failed, so that its findings are unfolded.
	Open  bool
	Rules []findingsOfRule
}

// findingsOfRule groups the findings of one rule in a step.
type findingsOfRule struct {
	Code string
	Pill pages.Pill
	// Listed is set if not all of them are on the page.
	Listed   string
	Findings []findingView
}

// findingView is one finding. Its excerpt is split at the marked cell.
type findingView struct {
	ID                  string
	Place               string
	Path                string
	Message             string
	Before, Cell, After string
	// Copied is the position in the form file:line:column, which editors and terminals understand.
	Copied string
	Rows   string
	// Address leads to the line in the document; "" if the document is no longer kept.
	Address string

	line int
}

func newFindingsView(report runReport, cursor core.Cursor, address url.URL) findingsView {
	page := core.NewPage(cursor, report.Findings, uuid.Nil, func(f validations.Finding) uuid.UUID { return f.ID },
		address)
	view := findingsView{Next: string(page.Next), Previous: string(page.Previous)}
	view.Summary = findingsSummary(report, len(page.Results))
	name := validations.DocumentName(report.submission.Filename)
	lineOf := func(line int) string { return lineAddress(report.Run, address.Path, line) }
	view.Map = viewer.NewMinimap(report.Run, report.places, lineOf)
	for _, step := range report.Steps {
		if found := rulesOf(report, page.Results, step.Ordinal, name, lineOf); len(found) > 0 {
			view.Steps = append(view.Steps, findingsOfStep{
				Number: step.Ordinal + 1, Name: formats.Clean(step.Name), Pill: stepPill(step),
				Open:  step.Status == api.StepStatusFailed || report.Run.Result != api.RunResultFail,
				Rules: found,
			})
		}
	}
	return view
}

// lineAddress leads to a line of the document; "" if the document is no longer kept.
func lineAddress(run validations.Run, address string, line int) string {
	if run.ContentPurgedAt != nil || line == 0 {
		return ""
	}
	n := strconv.Itoa(line)
	return address + "document/?line=" + n + "#L" + n
}

// findingsSummary says how many findings are shown, stored and counted.
func findingsSummary(report runReport, shown int) string {
	run := report.Run
	found := run.FindingCount()
	if found == 0 || run.FindingsPurgedAt != nil {
		return ""
	}
	summary := fmt.Sprintf("Showing %s of %s", pages.Number(shown), pages.Counted(found, "finding"))
	if kept := len(report.places); int64(kept) < found && kept < validations.MaxPlaces {
		summary += fmt.Sprintf("; %s are listed one by one, the others are counted", pages.Number(kept))
	}
	return summary + ", by rule and line."
}

// placeRule is a rule of a step with the severity of its findings.
type placeRule struct {
	step     int
	severity engines.Severity
	code     string
}

// rulesOf groups the findings of a step by rule, in the order of the first finding of each.
func rulesOf(
	report runReport, findings []validations.Finding, step int, name string, lineOf func(line int) string,
) []findingsOfRule {
	var rules []findingsOfRule
	index := make(map[placeRule]int)
	for _, finding := range findings {
		if finding.StepOrdinal != step {
			continue
		}
		rule := placeRule{step, finding.Severity, finding.Code}
		at, known := index[rule]
		if !known {
			at = len(rules)
			index[rule] = at
			rules = append(rules, findingsOfRule{
				Code: formats.Clean(finding.Code), Pill: validations.SeverityPill(finding.Severity),
			})
		}
		view := newFindingView(finding, name)
		view.Address = lineOf(finding.Line)
		rules[at].Findings = append(rules[at].Findings, view)
	}
	// stored counts the findings of a rule, and unstored says that there are more.
	stored, unstored := make(map[placeRule]int), make(map[placeRule]bool)
	for _, p := range report.places {
		rule := placeRule{p.Step, p.Severity, p.Code}
		if p.Truncated {
			unstored[rule] = true
		} else {
			stored[rule]++
		}
	}
	nouns := map[engines.Severity]string{engines.SeverityError: "error", engines.SeverityWarning: "warning"}
	for rule, at := range index {
		shown := rules[at].Findings
		slices.SortStableFunc(shown, func(a, b findingView) int { return a.line - b.line })
		rules[at].Pill.Text = pages.Counted(int64(stored[rule]), cmp.Or(nouns[rule.severity], "note"))
		if unstored[rule] {
			rules[at].Pill.Text = "more than " + rules[at].Pill.Text
		}
		if stored[rule] > len(shown) {
			rules[at].Listed = pages.Number(len(shown)) + " shown here"
		}
	}
	return rules
}

func newFindingView(f validations.Finding, name string) findingView {
	view := findingView{
		ID: fmt.Sprintf("f%d-%d", f.StepOrdinal+1, f.Ordinal+1), Path: formats.Clean(f.Path),
		Message: formats.Clean(f.Message), Copied: name, line: f.Line, Rows: rowWords(f.SampleRows),
	}
	if f.Line > 0 {
		view.Place = strconv.Itoa(f.Line)
		if f.Column > 0 {
			view.Place += ":" + strconv.Itoa(f.Column)
		}
		view.Copied += ":" + view.Place
	}
	if excerpt := []rune(formats.Clean(f.Excerpt)); f.Line > 0 && len(excerpt) > 0 {
		at, length := formats.Mark(f.Finding)
		at = min(at, len(excerpt))
		end := min(at+length, len(excerpt))
		view.Before, view.Cell, view.After = string(excerpt[:at]), string(excerpt[at:end]), string(excerpt[end:])
	}
	return view
}

// rowWords lists the sample rows of a finding.
func rowWords(rows []int) string {
	if len(rows) == 0 {
		return ""
	}
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = pages.Number(row)
	}
	return "Data rows " + strings.Join(names, ", ")
}
