package program_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// TestExamplesOfTheGuide builds and runs the programs that the guide shows.
func TestExamplesOfTheGuide(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(filepath.Join(root, "docs", "guides", "validators", "program.md"))
	if err != nil {
		t.Fatal(err)
	}
	within := engine.DefaultLimits()
	within.Programs = t.TempDir()
	block := func(language string) []byte {
		_, code, found := strings.Cut(string(guide), "```"+language+"\n")
		if !found {
			t.Fatalf("the guide has no example in %s", language)
		}
		code, _, _ = strings.Cut(code, "```")
		return []byte(code)
	}
	if err := os.WriteFile(filepath.Join(within.Programs, "tabs-python"), block("python"), 0o700); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, block("go"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(within.Programs, "tabs-go"), source)
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	for _, name := range []string{"tabs-python", "tabs-go"} {
		e := compile(t, name, `{}`, within)
		if faults, err := e.Precheck(t.Context()); err != nil || len(faults) > 0 {
			t.Errorf("%s: Precheck = %v, %v", name, faults, err)
		}
		report, err := e.Run(t.Context(), engine.NewDocument([]byte("a\n\tb\nc\n"), "text/plain", "a.txt"))
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Line != 2 || report.Errors != 1 {
			t.Errorf("%s: Run = %+v, %v, want one error in line 2", name, report, err)
		}
	}
}
