package guides

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/idemcheck"
)

// TestIdemcheckGuide follows the page: the server with the bug is found out, and the mended one passes.
func TestIdemcheckGuide(t *testing.T) {
	t.Parallel()
	blocks := blocksOf(t, "docs/guides/idemcheck.md")
	scripts, files := ofLanguage(blocks, "js"), ofLanguage(blocks, "yaml")
	shown := ofLanguage(blocks, "text")[0].code
	broken, mend, description := scripts[0].code, scripts[1].code, files[0].code

	report := checkOrders(t, broken, description, 1)
	for line := range strings.Lines(shown) {
		words := strings.Fields(line)
		if !hasRow(report, words[:3]) {
			t.Errorf("report = %s, want a row like %q", report, line)
		}
	}

	before, rest, _ := strings.Cut(broken, "  const key =")
	_, after, _ := strings.Cut(rest, "  answer(201, order);\n")
	report = checkOrders(t, before+mend+after, description+"key: {required: true}\n", 0)
	if strings.Contains(report, "✗") {
		t.Errorf("report = %s, want nothing broken", report)
	}
}

// hasRow reports whether a line begins with the words.
func hasRow(report string, words []string) bool {
	for line := range strings.Lines(report) {
		if found := strings.Fields(line); len(found) > len(words) && strings.Join(found[:len(words)], " ") ==
			strings.Join(words, " ") {
			return true
		}
	}
	return false
}

// checkOrders checks the server of the page, by the command that the page gives, and returns the report.
func checkOrders(t *testing.T, script, description string, exit int) string {
	t.Helper()
	dir, address := workplace(t), coretest.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	writeFiles(t, dir, map[string][]byte{"orders.mjs": []byte(script), "order.yaml": []byte(description)})
	server := exec.CommandContext(t.Context(), "node", "orders.mjs")
	server.Dir, server.Env = dir, append(os.Environ(), "PORT="+port)
	program.LaunchCommand(t, server)
	program.Await(t, "the server answers", func() bool {
		return coretest.Answers(t.Context(), "http://"+address+"/orders?reference=none")
	})
	command := ofLanguage(blocksOf(t, "docs/guides/idemcheck.md"), "sh")[0].code
	check := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(command, "localhost:3000", address))
	check.Dir, check.Env = dir, environOf(t, dir)
	var complaints bytes.Buffer
	check.Stderr = &complaints
	report, _ := check.Output() // The exit code is looked at.
	if got := check.ProcessState.ExitCode(); got != exit {
		t.Errorf("exit code = %d, want %d: %s%s", got, exit, report, &complaints)
	}
	return string(report)
}

// TestIdemcheckSchema reads the descriptions of the repository by the schema that editors get.
func TestIdemcheckSchema(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(idemcheck.Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("description.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("description.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"config/peers/order.yaml", "core/coretest/program/start.yaml"} {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		var description any
		if err := yaml.Unmarshal(bytes.ReplaceAll(text, []byte("LIFETIME"), []byte("4s")), &description); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(description); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := schema.Validate(map[string]any{"request": map[string]any{"url": "/"}, "effect": "x"}); err == nil {
		t.Error("a misspelt member is accepted, want it refused")
	}
}
