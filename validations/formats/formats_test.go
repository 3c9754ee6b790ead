package formats_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

var update = flag.Bool("update", false, "write the golden files anew")

const samples = "../../docs/samples"

// checked is a sample as a document of a verdict.
func checked(tb testing.TB, kind, config, name string) formats.Document {
	tb.Helper()
	configuration, err := os.ReadFile(filepath.Join(samples, config))
	if err != nil {
		tb.Fatal(err)
	}
	engine, faults := engines.Compile(kind, configuration, engines.DefaultLimits())
	if len(faults) > 0 {
		tb.Fatalf("compile %s: %+v", config, faults)
	}
	content, err := os.ReadFile(filepath.Join(samples, name))
	if err != nil {
		tb.Fatal(err)
	}
	report, err := engine.Run(tb.Context(), engines.NewDocument(content, "", name))
	if err != nil {
		tb.Fatal(err)
	}
	step := formats.Step{
		ID: kind, Name: "Check", Status: api.StepStatusPassed, Truncated: report.Truncated, Findings: report.Findings,
		Counts: api.Counts{
			Errors: report.Errors, Warnings: report.Warnings, Infos: report.Infos,
		},
	}
	result := api.RunResultPass
	if report.Errors > 0 {
		step.Status, result = api.StepStatusFailed, api.RunResultFail
	}
	return formats.Document{Name: name, Result: result, Steps: []formats.Step{step}}
}

// sampleVerdict is that of all samples, and of a document that could not be checked.
func sampleVerdict(tb testing.TB) formats.Verdict {
	tb.Helper()
	const table, schema = "schemas/meter-readings.table-step.json", "schemas/building.schema-step.json"
	return formats.Verdict{
		Program: "1.0.0", Workflow: "samples", At: time.Date(2026, 3, 1, 9, 15, 0, 0, time.UTC),
		Documents: []formats.Document{
			checked(tb, engines.KindTable, table, "good/meter-readings.csv"),
			checked(tb, engines.KindTable, table, "warn/meter-readings.csv"),
			checked(tb, engines.KindTable, table, "bad/meter-readings.csv"),
			checked(tb, engines.KindJSONSchema, schema, "bad/building.json"),
			{
				Name: "slow model.idf", Result: api.RunResultError, Error: "The file could not be read.",
				Steps: []formats.Step{{
					ID: "remote", Name: "Remote", Status: api.StepStatusSkipped, Note: "it needs the network",
				}},
			},
		},
	}
}

// made is a verdict with as many errors and warnings, all on lines of their own.
func made(errors, warnings int) formats.Verdict {
	var found []engines.Finding
	for i := range warnings {
		found = append(found, engines.Finding{
			Severity: engines.SeverityWarning, Code: "rule.w", Message: fmt.Sprint("warning ", i), Line: i + 1,
			Count: 1,
		})
	}
	for i := range errors {
		found = append(found, engines.Finding{
			Severity: engines.SeverityError, Code: "rule.e", Message: fmt.Sprint("error ", i), Line: i + 1, Count: 1,
		})
	}
	return formats.Verdict{Workflow: "made", Documents: []formats.Document{{
		Name: "made.json", Result: api.RunResultFail,
		Steps: []formats.Step{{
			ID: "s", Name: "Step", Status: api.StepStatusFailed, Findings: found,
			Counts: api.Counts{Errors: errors, Warnings: warnings},
		}},
	}}}
}

// hostileVerdict has texts that mean something to those who read the formats.
func hostileVerdict() formats.Verdict {
	const hostile = "=cmd|' /C calc'!A0\n::error::x\x1b[31m\x00\u202e\u200b\ufeff\u2066,%0A:<b>]]>|`\"\t\xff"
	return formats.Verdict{Workflow: hostile, Program: hostile, Documents: []formats.Document{{
		Name: hostile, Result: api.RunResultFail, Error: hostile,
		Steps: []formats.Step{{
			ID: hostile, Name: hostile, Status: api.StepStatusFailed, Note: hostile,
			Findings: []engines.Finding{{
				Severity: engines.SeverityError, Code: hostile, Message: hostile, Path: "/" + hostile, Line: 1,
				Column: 2, Excerpt: hostile, Count: 1,
			}},
			Counts: api.Counts{Errors: 1},
		}},
	}}}
}

func write(tb testing.TB, format formats.Format, v formats.Verdict) []byte {
	tb.Helper()
	text, err := format.Write(v, formats.TextOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func golden(tb testing.TB, name string, got []byte) {
	tb.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		tb.Errorf("%s (-want +got; go test -update writes it anew):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	v := sampleVerdict(t)
	for _, format := range formats.Formats() {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			golden(t, "samples."+string(format), write(t, format, v))
		})
	}
	t.Run("summary", func(t *testing.T) {
		t.Parallel()
		golden(t, "samples.summary.md", formats.Summary(v))
	})
}

func TestNoControlBytesReachATerminal(t *testing.T) {
	t.Parallel()
	for _, format := range formats.Formats() {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			for _, r := range string(write(t, format, hostileVerdict())) {
				if r != '\n' && r != '\r' && (r < ' ' || r >= 0x7f && r < 0xa0 || cli.Misleads(r)) {
					t.Fatalf("text has the character %q", r)
				}
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()

	t.Run("SaysWhatItHides", func(t *testing.T) {
		t.Parallel()
		text := string(formats.Text(made(5, 5), formats.TextOptions{MaxFindings: 3}))
		if n := strings.Count(text, "made.json:"); n != 3 {
			t.Errorf("findings = %d, want 3 in %s", n, text)
		}
		if !strings.Contains(text, "\n7 more findings are not shown; see them all with --max-findings 0\n") {
			t.Errorf("text = %s, want that 7 are hidden", text)
		}
	})

	t.Run("MarksTheValue", func(t *testing.T) {
		t.Parallel()
		for name, tt := range map[string]struct {
			excerpt string
			column  int
			want    string
		}{
			"Cell":      {"a,n/a,c", 3, "      │   ^^^\n"},
			"Quoted":    {`{"a": "b, c"}`, 7, "      │       ^^^^^^\n"},
			"Object":    {`x: {"a": 1}`, 4, "      │    ^\n"},
			"LineEnd":   {"a,b,c", 5, "      │     ^\n"},
			"Beyond":    {"abc", 9, "      │         ^\n"},
			"Unclosed":  {`a,"bc`, 3, "      │   ^^^\n"},
			"Name":      {"  key: value", 3, "      │   ^^^\n"},
			"Time":      {"a,06:00:00Z,b", 3, "      │   ^^^^^^^^^\n"},
			"Wide":      {"ä,öü,x", 3, "      │   ^^\n"},
			"CutBefore": {strings.Repeat("x", 100) + "y,z", 5000, "│ " + strings.Repeat(" ", 100) + "^\n"},
		} {
			v := made(1, 0)
			finding := &v.Documents[0].Steps[0].Findings[0]
			finding.Excerpt, finding.Column = tt.excerpt, tt.column
			if text := string(formats.Text(v, formats.TextOptions{})); !strings.HasSuffix(text, tt.want) {
				t.Errorf("%s: text = %s, want it to end in %q", name, text, tt.want)
			}
		}
	})

	t.Run("HasColorsOnlyWhenAsked", func(t *testing.T) {
		t.Parallel()
		plain := formats.Text(made(1, 1), formats.TextOptions{})
		colored := formats.Text(made(1, 1), formats.TextOptions{Color: true})
		if strings.Contains(string(plain), "\x1b") || !strings.Contains(string(colored), "\x1b[31m") {
			t.Errorf("plain = %q and colored = %q, want colors only in the second", plain, colored)
		}
	})
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	commands := func(v formats.Verdict) []string {
		var words []string
		for line := range strings.Lines(string(formats.GitHub(v))) {
			word, _, _ := strings.Cut(line, " ")
			words = append(words, strings.TrimSpace(word))
		}
		return words
	}

	t.Run("ShowsTheWorstFirst", func(t *testing.T) {
		t.Parallel()
		want := slices.Concat(slices.Repeat([]string{"::error"}, 10), slices.Repeat([]string{"::warning"}, 10),
			[]string{"and"})
		if diff := cmp.Diff(want, commands(made(30, 27))); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		if text := string(formats.GitHub(made(30, 27))); !strings.HasSuffix(text, "and 37 more, see the summary\n") {
			t.Errorf("text = %s, want it to end with the rest", text)
		}
		if diff := cmp.Diff([]string{"::error", "::warning"}, commands(made(1, 1))); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})

	t.Run("CountsWhatIsNotListed", func(t *testing.T) {
		t.Parallel()
		v := made(1, 0)
		v.Documents[0].Steps[0].Counts.Errors = 5000
		if text := string(formats.GitHub(v)); !strings.HasSuffix(text, "and 4999 more, see the summary\n") {
			t.Errorf("text = %s, want 4999 more", text)
		}
	})

	t.Run("LetsNoTextBeACommand", func(t *testing.T) {
		t.Parallel()
		lines := strings.Split(strings.TrimSpace(string(formats.GitHub(hostileVerdict()))), "\n")
		if len(lines) != 3 {
			t.Errorf("lines = %q, want 3", lines)
		}
	})

	t.Run("CutsTheSummary", func(t *testing.T) {
		t.Parallel()
		page := formats.Summary(made(60_000, 0))
		rows := strings.Count(string(page), "| ERROR |")
		note := fmt.Sprintf("\n%d more findings do not fit here.\n", 60_000-rows)
		if len(page) > 1<<20 || len(page) < 1<<20-1000 || !strings.HasSuffix(string(page), note) {
			t.Errorf("summary has %d bytes and %d rows, want nearly 1 MiB and the note %q", len(page), rows, note)
		}
	})
}

func TestCSV(t *testing.T) {
	t.Parallel()
	text := write(t, formats.FormatCSV, hostileVerdict())
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("rows = %d, error = %v, want 2", len(rows), err)
	}
	for i, cell := range rows[1] {
		if strings.IndexAny(strings.TrimSpace(cell), "=+-@\t\r") == 0 {
			t.Errorf("%s = %q, want no formula", rows[0][i], cell)
		}
	}
}

// Spreadsheets skip spaces and what has no width before a formula, and take full-width signs for the narrow ones.
func TestCSVKeepsCellsFromBeingFormulas(t *testing.T) {
	t.Parallel()
	for _, sign := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		for _, before := range []string{
			"", " ", "\t", "\r", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u2060", "\u200d", "\u200e", "\u00ad", "\x00",
			" \ufeff\u00a0",
		} {
			v := hostileVerdict()
			v.Documents[0].Steps[0].Findings[0].Message = before + sign + "1+1"
			rows, err := csv.NewReader(bytes.NewReader(write(t, formats.FormatCSV, v))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if message := rows[1][slices.Index(rows[0], "message")]; !strings.HasPrefix(message, "'") {
				t.Errorf("%q is written as %q, want an apostrophe in front", before+sign, message)
			}
		}
	}
	v := hostileVerdict()
	v.Documents[0].Steps[0].Findings[0].Message = "a=b"
	if text := string(write(t, formats.FormatCSV, v)); strings.Contains(text, "'a=b") {
		t.Error("a text that is not a formula is changed")
	}
}

// People see such characters in the report, and programs read what was found.
func TestJSONEscapesWhatMisleads(t *testing.T) {
	t.Parallel()
	text := write(t, formats.FormatJSON, hostileVerdict())
	var report struct {
		Documents []struct {
			Name string `json:"name"`
		} `json:"documents"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	const escaped = "\\u202e\\u200b\\ufeff\\u2066"
	name := report.Documents[0].Name
	if !strings.Contains(string(text), escaped) || !strings.Contains(name, "\u202e\u200b\ufeff\u2066") {
		t.Errorf("name = %q, want the characters, escaped in the report", name)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	counted := made(1, 0)
	counted.Documents[0].Steps[0].Findings = nil
	for name, v := range map[string]formats.Verdict{
		"Samples": sampleVerdict(t), "Hostile": hostileVerdict(), "Many": made(3, 2),
		"Counted": counted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var report struct {
				Suites []struct {
					Failures int `xml:"failures,attr"`
					Cases    []struct {
						Name      string `xml:"name,attr"`
						ClassName string `xml:"classname,attr"`
						Failure   *struct {
							Message string `xml:"message,attr"`
							Text    string `xml:",chardata"`
						} `xml:"failure"`
					} `xml:"testcase"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal(write(t, formats.FormatJUnit, v), &report); err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, suite := range report.Suites {
				for _, test := range suite.Cases {
					name := test.ClassName + "/" + test.Name
					if seen[name] {
						t.Errorf("test case %s is there twice", name)
					}
					seen[name] = true
					if test.Failure != nil && !strings.Contains(test.Failure.Text, test.Failure.Message) {
						t.Errorf("%s: text = %s, want the message in it", name, test.Failure.Text)
					}
				}
			}
			if name == "Counted" && report.Suites[0].Failures != 1 {
				t.Errorf("failures = %d, want that of the step", report.Suites[0].Failures)
			}
			if len(report.Suites) != len(v.Documents) {
				t.Errorf("suites = %d, want one for each of %d documents", len(report.Suites), len(v.Documents))
			}
		})
	}
}

func TestFormatNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]formats.Format{
		"a.json": formats.FormatJSON, "a/b.SARIF": formats.FormatSARIF, "junit.xml": formats.FormatJUnit,
		"x.csv": formats.FormatCSV, "x.txt": formats.FormatText, "x": "", "json": "",
	} {
		if got, known := formats.FormatOf(name); got != want || known != (want != "") {
			t.Errorf("format of %s = %q, want %q", name, got, want)
		}
	}
	if _, err := formats.ParseFormat("yaml"); err == nil || !strings.Contains(err.Error(), "sarif, junit") {
		t.Errorf("error = %v, want one that names the formats", err)
	}
	for _, format := range formats.Formats() {
		if parsed, err := formats.ParseFormat(string(format)); err != nil || parsed != format {
			t.Errorf("parsed %s = %s, %v", format, parsed, err)
		}
	}
}
