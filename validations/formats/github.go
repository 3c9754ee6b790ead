package formats

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	// maxAnnotations is how many annotations of one level GitHub shows for a step.
	maxAnnotations = 10
	// maxSummary is the largest summary of a step that GitHub accepts, in bytes.
	maxSummary = 1 << 20
)

// GitHub writes workflow commands, which GitHub Actions shows as annotations of the files. The most severe findings
// come first; findings beyond GitHub's limit are counted in a last line.
func GitHub(v Verdict) []byte {
	var log bytes.Buffer
	for _, document := range v.Documents {
		if document.Error != "" {
			fmt.Fprintf(&log, "::error file=%s,title=Not checked::%s\n", property(document.Name), data(document.Error))
		}
		for _, step := range document.Steps {
			if step.Note != "" {
				fmt.Fprintf(&log, "::notice file=%s,title=Skipped::step %s: %s\n",
					property(document.Name), data(step.Name), data(step.Note))
			}
		}
	}
	counts := v.Counts()
	// beyond counts the errors and warnings without an annotation, including those that are not listed.
	beyond := 0
	for _, level := range []struct {
		severity engines.Severity
		command  string
		found    int
	}{{engines.SeverityError, "error", counts.Errors}, {engines.SeverityWarning, "warning", counts.Warnings}} {
		shown := 0
		for f := range v.items() {
			if f.Severity == level.severity && shown < maxAnnotations {
				shown++
				annotate(&log, level.command, f)
			}
		}
		beyond += max(0, level.found-shown)
	}
	if beyond > 0 {
		fmt.Fprintf(&log, "and %d more, see the summary\n", beyond)
	}
	return log.Bytes()
}

func annotate(log *bytes.Buffer, command string, f item) {
	fmt.Fprintf(log, "::%s file=%s", command, property(f.document.Name))
	if f.Line > 0 {
		fmt.Fprintf(log, ",line=%d", f.Line)
	}
	if f.Column > 0 {
		fmt.Fprintf(log, ",col=%d", f.Column)
	}
	fmt.Fprintf(log, ",title=%s::%s\n", property(f.Code), data(sentence(f.Finding)))
}

// sentence returns the message of a finding, with its path if that says more than the line.
func sentence(f engines.Finding) string {
	if strings.HasPrefix(f.Path, "/") {
		return f.Path + ": " + f.Message
	}
	return f.Message
}

// The escapes of the workflow commands of GitHub Actions.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer(":", "%3A", ",", "%2C")
)

// data and property escape the special characters of workflow commands.
func data(text string) string {
	return escapeData.Replace(Clean(text))
}

func property(text string) string {
	return escapeProperty.Replace(data(text))
}

// Summary writes the findings as Markdown for $GITHUB_STEP_SUMMARY, the most severe first. It says how many do not fit.
func Summary(v Verdict) []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, "### %s: %s\n\n", markdown(v.Workflow), countWords(v.Counts()))
	for _, document := range v.Documents {
		fmt.Fprintf(&page, "- %s **%s**", markdown(document.Name), document.Result)
		if document.Error != "" {
			fmt.Fprintf(&page, ": %s", markdown(document.Error))
		}
		page.WriteByte('\n')
		for _, step := range document.Steps {
			if step.Note != "" {
				fmt.Fprintf(&page, "  - %s skipped: %s\n", markdown(step.Name), markdown(step.Note))
			}
		}
	}
	found := slices.SortedStableFunc(v.items(), func(a, b item) int { return rank(a.Severity) - rank(b.Severity) })
	if len(found) == 0 {
		return page.Bytes()
	}
	page.WriteString("\n| Severity | Place | Message | Code |\n| --- | --- | --- | --- |\n")
	for i, f := range found {
		row := fmt.Sprintf("| %s | %s | %s | %s |\n",
			f.Severity, markdown(f.place()), markdown(sentence(f.Finding)), markdown(f.Code))
		note := fmt.Sprintf("\n%d more findings do not fit here.\n", len(found)-i)
		if page.Len()+len(row)+len(note) > maxSummary {
			page.WriteString(note)
			break
		}
		page.WriteString(row)
	}
	return page.Bytes()
}

func rank(severity engines.Severity) int {
	order := []engines.Severity{engines.SeverityError, engines.SeverityWarning, engines.SeverityInfo}
	return slices.Index(order, severity)
}

// markdown escapes a text.
func markdown(text string) string {
	var escaped strings.Builder
	for _, r := range Clean(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&@", r) {
			escaped.WriteByte('\\')
		}
		escaped.WriteRune(r)
	}
	return escaped.String()
}
