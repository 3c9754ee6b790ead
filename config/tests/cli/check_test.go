package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/cmd"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// bench is a folder with samples and workflow files, and a command line without settings or a database.
type bench struct {
	folder  string
	environ []string
	stdin   string
}

// outcome is what a command has come to.
type outcome struct {
	code            int
	output, message string
}

func setupBench(tb testing.TB) bench {
	tb.Helper()
	b := bench{folder: tb.TempDir()}
	for _, name := range []string{"good", "warn", "bad"} {
		b.write(tb, name+".csv", fixture.SampleText(tb, name+"/meter-readings.csv"))
	}
	b.write(tb, "bad.json", fixture.SampleText(tb, "bad/building.json"))
	table := fixture.SampleText(tb, "schemas/meter-readings.table-step.json")
	b.write(tb, "table.yaml", workflowFile("text/csv", "table", table))
	schema := fixture.SampleText(tb, "schemas/building.schema-step.json")
	b.write(tb, "schema.yaml", workflowFile("application/json", "json_schema", schema))
	b.write(tb, "remote.yaml", workflowFile("text/csv", "http", `{"url": "https://example.com/check"}`))
	b.write(tb, "empty.yaml", "schema_version: 1\nslug: empty\nname: Empty\naccepts: [text/csv]\nsteps: []\n")
	b.write(tb, "good.idf", fixture.SampleText(tb, "good/office.idf"))
	model := fixture.SampleText(tb, "schemas/office.energyplus-step.json")
	b.write(tb, "model.yaml", workflowFile("application/json, text/plain", "energyplus", model))
	b.write(tb, "wrong.yaml", workflowFile("text/csv", "table", `{"schema": {"fields": 1}}`))
	return b
}

// workflowFile is a workflow of one step; JSON is YAML, too.
func workflowFile(mediaType, kind, settings string) string {
	return "schema_version: 1\nslug: checked\nname: Checked\naccepts: [" + mediaType + "]\nsteps:\n" +
		"  - {id: only, name: Only, type: " + kind + ", config: " + settings + "}\n"
}

func (b bench) write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func (b bench) path(name string) string {
	return filepath.Join(b.folder, name)
}

func (b bench) read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// check runs the command check.
func (b bench) check(ctx context.Context, args ...string) outcome {
	return b.run(ctx, append([]string{"check"}, args...)...)
}

// run runs a command; @ at the beginning of a word or of a value stands for the folder.
func (b bench) run(ctx context.Context, args ...string) outcome {
	var out, message bytes.Buffer
	line := make([]string, len(args))
	for i, arg := range args {
		line[i] = arg
		if before, name, found := strings.Cut(arg, "@"); found && (before == "" || strings.HasSuffix(before, "=")) {
			line[i] = before + b.folder + string(filepath.Separator) + name
		}
	}
	code := cmd.Program{
		Environ: b.environ, Stdin: strings.NewReader(b.stdin), Stdout: &out, Stderr: &message, Version: fixture.Version,
	}.Run(ctx, line)
	return outcome{code, out.String(), message.String()}
}

// want checks the exit code, and what is printed on either stream.
func (o outcome) want(tb testing.TB, code int, parts ...string) {
	tb.Helper()
	if o.code != code {
		tb.Errorf("exit code = %d, want %d; output %s; message %s", o.code, code, o.output, o.message)
	}
	for _, part := range parts {
		if !strings.Contains(o.output+o.message, part) {
			tb.Errorf("output = %s, message = %s, want them to hold %q", o.output, o.message, part)
		}
	}
}

func TestCheckExitCodes(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	for name, tt := range map[string]struct {
		line            string
		code            int
		output, message string
	}{
		"Good":             {"@good.csv -w @table.yaml", 0, "✓ PASSED", ""},
		"Warning":          {"@warn.csv -w @table.yaml", 0, "warning: 5 of 24", ""},
		"Quiet":            {"@good.csv -w @table.yaml --quiet", 0, "", ""},
		"QuietWarning":     {"@warn.csv -w @table.yaml -q", 0, "warning: 5 of 24", ""},
		"FailOnWarning":    {"@warn.csv -w @table.yaml --fail-on warning", 1, "warning: 5 of 24", ""},
		"Bad":              {"@bad.csv -w @table.yaml", 1, "✗ FAILED", ""},
		"FailNever":        {"@bad.csv -w @table.yaml --fail-on never", 0, "✗ FAILED", ""},
		"Several":          {"@good.csv @bad.csv -w @table.yaml", 1, "1 of 2 documents passed, 8 errors", ""},
		"Skipped":          {"@good.csv -w @remote.yaml", 0, "1 step SKIPPED", ""},
		"SkippedAloud":     {"@good.csv -w @remote.yaml --format csv", 0, "document,", "was skipped"},
		"NoFile":           {"-w @table.yaml", 2, "", "FILE is missing; see simplevalidations check --help"},
		"NoWorkflow":       {"@good.csv", 2, "", "--workflow"},
		"NoSuchFile":       {"@none.csv -w @table.yaml", 2, "", "no such file"},
		"NoSuchFileBehind": {"@bad.csv @none.csv -w @table.yaml", 2, "", "no such file"},
		"InputTwice":       {"- - -w @table.yaml", 2, "", "only once"},
		"NoSteps":          {"@good.csv -w @empty.yaml", 2, "", "has no steps"},
		"IDF":              {"@good.idf -w @model.yaml", 0, "✓ PASSED", ""},
		"NoSuchWorkflow":   {"@good.csv -w @none.yaml", 2, "", "no such file"},
		"Folder":           {"@ -w @table.yaml", 2, "", "is a folder"},
		"WrongWorkflow": {
			"@good.csv -w @wrong.yaml", 2, "", "wrong.yaml:6:71: /steps/0/config/schema/fields ",
		},
		"WrongFormat":    {"@good.csv -w @table.yaml --format yaml", 2, "", "it is one of text, json"},
		"WrongOutput":    {"@good.csv -w @table.yaml --output @x.bin", 2, "", "FORMAT="},
		"WrongThreshold": {"@good.csv -w @table.yaml --fail-on info", 2, "", "--fail-on"},
		"WrongType":      {"@bad.json -w @table.yaml", 2, "", "seems to have another type"},
		"RefusedType":    {"@good.csv -w @table.yaml --content-type a/b", 2, "", "does not accept a/b"},
		"GivenType":      {"@bad.json -w @table.yaml --content-type text/csv", 1, "csv.header", ""},
		"NoFolder":       {"@good.csv -w @table.yaml --output @no/x.json", 2, "", "there is no folder"},
		"UnwritableFile": {"@good.csv -w @table.yaml --output json=/dev/full", 3, "", "write the report"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.check(t.Context(), strings.Fields(tt.line)...)
			if got.code != tt.code {
				t.Errorf("exit code = %d, want %d", got.code, tt.code)
			}
			if !strings.Contains(got.output, tt.output) || (got.output == "") != (tt.output == "") {
				t.Errorf("output = %q, want %q in it", got.output, tt.output)
			}
			if !strings.Contains(got.message, tt.message) || (got.message == "") != (tt.message == "") {
				t.Errorf("message = %q, want %q in it", got.message, tt.message)
			}
		})
	}

	t.Run("Interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := b.check(ctx, "@good.csv", "-w", "@table.yaml"); got.code != 130 || got.output != "" {
			t.Errorf("outcome = %+v, want 130 and no verdict", got)
		}
	})
}

func TestCheckStandardInput(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	b.stdin = fixture.SampleText(t, "bad/building.json")
	got := b.check(t.Context(), "-", "-w", "@schema.yaml")
	if got.code != 1 || !strings.Contains(got.output, "stdin:5:19   /building/year_built: 2062 is over 2030") {
		t.Errorf("outcome = %+v, want 1 and the finding in line 5", got)
	}
}

func TestCheckReports(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	got := b.check(t.Context(), "@bad.csv", "-w", "@table.yaml", "--format", "json", "--output", "@r.sarif",
		"--output", "junit=@r.out", "--output", "@r.txt", "--max-findings", "3")
	var report struct {
		Program   string `json:"program"`
		Documents []struct {
			Result string `json:"result"`
			Steps  []struct {
				Findings []json.RawMessage `json:"findings"`
			} `json:"steps"`
		} `json:"documents"`
	}
	if err := json.Unmarshal([]byte(got.output), &report); err != nil || got.message != "" {
		t.Fatalf("outcome = %+v, error = %v, want JSON alone", got, err)
	}
	document := report.Documents[0]
	if report.Program != "1.2.3" || document.Result != "FAIL" || len(document.Steps[0].Findings) != 8 {
		t.Errorf("report = %+v, want FAIL with 8 findings", report)
	}
	for name, part := range map[string]string{
		"r.sarif": `"ruleId": "csv.minimum"`, "r.out": `failures="8"`, "r.txt": "5 more findings are not shown",
	} {
		if text := b.read(t, name); !strings.Contains(text, part) {
			t.Errorf("%s = %s, want %s in it", name, text, part)
		}
	}
}

func TestCheckInGitHubActions(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	b.environ = []string{"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + b.path("summary.md")}
	b.write(t, "summary.md", "before\n")
	got := b.check(t.Context(), "@bad.csv", "-w", "@table.yaml")
	if got.code != 1 || strings.Count(got.output, "::error file=") != 8 {
		t.Errorf("outcome = %+v, want 1 and 8 annotations", got)
	}
	if page := b.read(t, "summary.md"); !strings.HasPrefix(page, "before\n### checked: 8 errors") {
		t.Errorf("summary = %s, want it after what was there", page)
	}
}

func TestCheckPrintsNoControlBytes(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	b.write(t, "hostile.json", "{\"building\": \"\x1b]0;owned\x07\", \"\x9b31m\": \"\\u001b[2J\"}")
	got := b.check(t.Context(), "@hostile.json", "-w", "@schema.yaml")
	if got.code != 1 || strings.ContainsAny(got.output+got.message, "\x1b\x07\u009b") {
		t.Errorf("outcome = %+v, want 1 and no control bytes", got)
	}
}

// TestCheckCallsValidators holds that --allow-http gives the verdict of the service, and calls only where it may.
func TestCheckCallsValidators(t *testing.T) {
	t.Parallel()
	validator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Key      string    `json:"key"`
			Step     string    `json:"step"`
			Filename string    `json:"filename"`
			Content  []byte    `json:"content"`
			Callback *struct{} `json:"callback"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil || call.Callback != nil || call.Step != "only" ||
			call.Key != r.Header.Get("Idempotency-Key") || len(call.Content) == 0 {
			t.Errorf("call = %+v with %v, want a document without a callback", call, err)
		}
		answer := `{"result": "PASS", "findings": []}`
		switch {
		case r.URL.Path == "/later":
			w.WriteHeader(http.StatusAccepted)
		case call.Filename == "bad.csv":
			answer = `{"result": "FAIL", "findings": [{"severity": "ERROR", "code": "low", "message": "too low"}]}`
		}
		_, _ = w.Write([]byte(answer)) // What fails here fails the command.
	}))
	t.Cleanup(validator.Close)
	b := setupBench(t)
	for name, at := range map[string]string{"now": "/", "later": "/later"} {
		b.write(t, name+".yaml", workflowFile("text/csv", "http",
			`{"url": "`+validator.URL+at+`", "callback_timeout_seconds": 60}`))
	}
	outside := b
	b.environ = []string{"SV_EXTERNAL_ALLOW=10.0.0.0/8,127.0.0.0/8"}
	b.check(t.Context(), "@good.csv", "-w", "@now.yaml", "--allow-http").want(t, 0, "✓ PASSED")
	b.check(t.Context(), "@bad.csv", "-w", "@now.yaml", "--allow-http").want(t, 1, "too low", "external.low")
	b.check(t.Context(), "@bad.csv", "-w", "@now.yaml").want(t, 0, "1 step SKIPPED", "check with --allow-http")
	b.check(t.Context(), "@good.csv", "-w", "@later.yaml", "--allow-http").want(t, 3, "only a server can receive")
	outside.check(t.Context(), "@good.csv", "-w", "@now.yaml", "--allow-http").want(t, 3, "its address is not public")
	outside.environ = []string{"SV_EXTERNAL_ALLOW=local"}
	outside.check(t.Context(), "@good.csv", "-w", "@now.yaml", "--allow-http").want(t, 2, `"local" is not a network`)
}
