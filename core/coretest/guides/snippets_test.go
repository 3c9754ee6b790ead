package guides

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/docs"
)

// TestSnippets reads every block of code by the program that it is written for.
func TestSnippets(t *testing.T) {
	t.Parallel()

	checks := map[string]func(testing.TB, block){
		"console": func(testing.TB, block) {}, // TestSessions executes them.
		"text":    func(testing.TB, block) {},
		"ts":      func(testing.TB, block) {}, // TestTabs and the test of the client's guide run them.
		"js":      func(testing.TB, block) {}, // TestIdemcheckGuide runs them.
		"http":    checkMessage,
		"sh":      checkShell,
		"json":    checkJSON,
		"yaml":    checkYAML,
		"xml":     checkXML,
		"python":  checkPython,
		"go":      checkGo,
		"sql":     checkSQL,
	}
	for _, b := range readBlocks(t) {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			check, known := checks[b.language]
			if !known {
				t.Fatalf("language = %q, want one that is checked", b.language)
			}
			check(t, b)
		})
	}
}

// checkMessage wants a request or an answer: its first line, its fields, and a body perhaps.
func checkMessage(tb testing.TB, b block) {
	tb.Helper()
	head, _, _ := strings.Cut(b.code, "\n\n")
	first, fields, _ := strings.Cut(head, "\n")
	if !strings.Contains(first, "HTTP/1.1") {
		tb.Errorf("first line = %q, want that of a message", first)
	}
	for line := range strings.Lines(fields) {
		if !strings.Contains(line, ": ") {
			tb.Errorf("line = %q, want a field", line)
		}
	}
}

func checkShell(tb testing.TB, b block) {
	tb.Helper()
	read(tb, exec.CommandContext(tb.Context(), "bash", "-n"), b.code)
}

func checkPython(tb testing.TB, b block) {
	tb.Helper()
	const compile = "compile(__import__('sys').stdin.read(), '', 'exec')"
	read(tb, exec.CommandContext(tb.Context(), "python3", "-c", compile), b.code)
}

// checkGo wants a whole file that compiles and that go vet has nothing to say about, or else a few statements.
func checkGo(tb testing.TB, b block) {
	tb.Helper()
	if !strings.HasPrefix(b.code, "package ") {
		body := "package snippet\nfunc _() {\n" + b.code + "}\n"
		if _, err := parser.ParseFile(token.NewFileSet(), "", body, parser.SkipObjectResolution); err != nil {
			tb.Error(err)
		}
		return
	}
	file := filepath.Join(tb.TempDir(), "snippet.go")
	if err := os.WriteFile(file, []byte(b.code), 0o600); err != nil {
		tb.Fatal(err)
	}
	read(tb, exec.CommandContext(tb.Context(), "go", "vet", file), "")
}

// read has a program read a block, and shows what it says against it.
func read(tb testing.TB, cmd *exec.Cmd, code string) {
	tb.Helper()
	cmd.Stdin = strings.NewReader(code)
	if output, err := cmd.CombinedOutput(); err != nil {
		tb.Errorf("%s: %v\n%s", cmd, err, output)
	}
}

// checkJSON wants one value. What a page leaves out of it stands as "..." in a string.
func checkJSON(tb testing.TB, b block) {
	tb.Helper()
	if !json.Valid([]byte(b.code)) {
		tb.Errorf("this is no JSON:\n%s", b.code)
	}
}

// checkYAML wants one document, and a workflow file by its schema where it says that it is one. The scripts in it have
// to be scripts.
func checkYAML(tb testing.TB, b block) {
	tb.Helper()
	var document any
	if err := yaml.Unmarshal([]byte(b.code), &document); err != nil {
		tb.Fatal(err)
	}
	checkScripts(tb, document)
	if members, ok := document.(map[string]any); ok && members["schema_version"] != nil {
		if err := workflowFiles(tb).Validate(document); err != nil {
			tb.Error(err)
		}
	}
}

// checkScripts reads what a pipeline hands to a shell.
func checkScripts(tb testing.TB, node any) {
	tb.Helper()
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			checkScripts(tb, item)
		}
	case map[string]any:
		for name, value := range n {
			script, ok := value.(string)
			if ok && name == "run" {
				read(tb, exec.CommandContext(tb.Context(), "bash", "-n"), script)
			}
			if lines, ok := value.([]any); ok && name == "script" {
				checkLines(tb, lines)
			}
			checkScripts(tb, value)
		}
	}
}

func checkLines(tb testing.TB, lines []any) {
	tb.Helper()
	for _, line := range lines {
		script, ok := line.(string)
		if !ok {
			tb.Errorf("line of a script = %v, want a string", line)
		}
		read(tb, exec.CommandContext(tb.Context(), "bash", "-n"), script)
	}
}

func workflowFiles(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(docs.WorkflowFileSchema())))
	if err != nil {
		tb.Fatal(err)
	}
	// Without a scheme it would be a file's, which has to exist where the path of the module has other letters.
	const address = "urn:workflow-file"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(address, document); err != nil {
		tb.Fatal(err)
	}
	schema, err := compiler.Compile(address)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

func checkXML(tb testing.TB, b block) {
	tb.Helper()
	decoder := xml.NewDecoder(strings.NewReader(b.code))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// checkSQL executes a query on an empty installation, where nothing can be written.
func checkSQL(tb testing.TB, b block) {
	tb.Helper()
	db := coretest.OpenDatabase(tb)
	tx, err := db.Pool.BeginTx(tb.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := tx.Exec(tb.Context(), b.code); err != nil {
		tb.Error(err)
	}
	if err := tx.Rollback(tb.Context()); err != nil {
		tb.Error(err)
	}
}
