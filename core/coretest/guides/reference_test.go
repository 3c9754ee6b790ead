package guides

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/clients"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/docs"
)

func readReference(tb testing.TB) *docs.Reference {
	tb.Helper()
	document, err := docs.ReadReference(docs.OpenAPI())
	if err != nil {
		tb.Fatal(err)
	}
	return document
}

func programsOf(tb testing.TB, o *docs.Operation) []docs.Program {
	tb.Helper()
	programs, err := o.Programs()
	if err != nil {
		tb.Fatal(err)
	}
	return programs
}

// sampleName names a program of the reference.
func sampleName(o *docs.Operation, sample docs.Program) string {
	return o.Slug + "-" + sample.Language
}

// compileSamples compiles the programs in TypeScript, which checks their types.
func compileSamples(tb testing.TB, document *docs.Reference) coretest.Folder {
	tb.Helper()
	programs := make(map[string]string)
	for _, o := range document.Operations() {
		for _, sample := range programsOf(tb, o) {
			if sample.Language == "ts" {
				// Each is a module of its own, which imports and exports make it.
				programs[sampleName(o, sample)] = sample.Code + "export {};\n"
			}
		}
	}
	return clients.CompileTypeScript(tb, programs)
}

// TestSamplesOfTheReference reads every program of the reference by the language that it is written in. Go and
// TypeScript are checked with their types. The programs of the operations that everybody needs are executed.
func TestSamplesOfTheReference(t *testing.T) {
	t.Parallel()
	document := readReference(t)
	compiled := compileSamples(t, document)
	t.Run("AreRead", func(t *testing.T) {
		t.Parallel()
		readSamples(t, document)
	})
	t.Run("Run", func(t *testing.T) {
		t.Parallel()
		runSamples(t, document, compiled)
	})
}

func readSamples(t *testing.T, document *docs.Reference) {
	t.Helper()
	module := map[string][]byte{
		"go.mod": []byte("module samples\n\ngo 1.26\n"), "main.go": []byte("package main\n\nfunc main() {}\n"),
	}
	for _, o := range document.Operations() {
		for _, sample := range programsOf(t, o) {
			t.Run(sampleName(o, sample), func(t *testing.T) {
				b := block{page: o.Slug, language: sample.Language, code: sample.Code}
				switch sample.Language {
				case "sh":
					checkShell(t, b)
				case "python":
					checkPython(t, b)
				case "go": // One go vet reads all of them, as functions of one program.
					code := strings.Replace(sample.Code, "func main()", fmt.Sprintf("func sample%d()", len(module)), 1)
					module[o.Slug+".go"] = []byte(code)
				case "ts": // The compiler has read it.
				default:
					t.Errorf("language = %q, want one that is checked", sample.Language)
				}
			})
		}
	}
	dir := t.TempDir()
	writeFiles(t, dir, module)
	vet := exec.CommandContext(t.Context(), "go", "vet", "./...")
	vet.Dir = dir
	read(t, vet, "")
}

// runSamples executes programs on a service with a run, whose id they get in place of that of the document.
func runSamples(t *testing.T, document *docs.Reference, compiled coretest.Folder) {
	t.Helper()
	installation := program.Install(t)
	address := program.Serve(t, installation.Settings).URL()
	for slug, want := range map[string]string{
		"start-run": `"state":`, "list-runs": `"results":`, "read-run": `"result": "PASS"`,
		"list-findings": `"severity": "WARNING"`,
	} {
		o, found := document.Find(slug)
		if !found {
			t.Fatalf("there is no operation %s", slug)
		}
		for _, sample := range programsOf(t, o) {
			t.Run(sampleName(o, sample), func(t *testing.T) {
				printed := setupFollower(t, installation, address).sample(t, compiled, o, sample)
				if !strings.Contains(asJSON(printed), asJSON(want)) {
					t.Errorf("printed %s, want %s", printed, want)
				}
			})
		}
	}
}

// sample executes a program of the reference.
func (f follower) sample(tb testing.TB, compiled coretest.Folder, o *docs.Operation, s docs.Program) string {
	tb.Helper()
	if name, content := o.DocumentFile(); name != "" {
		writeFiles(tb, f.dir, map[string][]byte{name: []byte(content)})
	}
	const shown = "0199e0a4-51c0-7f0a-8a4e-0f3c5d7b9a11"
	code := strings.ReplaceAll(s.Code, shown, f.run(tb))
	switch s.Language {
	case "sh":
		return f.execute(tb, "bash", "-ec", code)
	case "python":
		return f.execute(tb, "python3", "-c", code)
	case "go":
		writeFiles(tb, f.dir, map[string][]byte{"sample.go": []byte(code)})
		return f.execute(tb, buildGo(tb, filepath.Join(f.dir, "sample.go")))
	default:
		text, err := os.ReadFile(compiled.Path(sampleName(o, s) + ".mjs"))
		if err != nil {
			tb.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte(shown), []byte(f.run(tb)))
		writeFiles(tb, f.dir, map[string][]byte{"sample.mjs": text})
		return f.execute(tb, "node", filepath.Join(f.dir, "sample.mjs"))
	}
}

// run is the id of the run that the follower has started.
func (f follower) run(tb testing.TB) string {
	tb.Helper()
	for _, variable := range f.environ {
		if id, found := strings.CutPrefix(variable, "RUN="); found {
			return id
		}
	}
	tb.Fatal("the follower has no run")
	return ""
}

// asJSON makes what the languages print of a value comparable: quotation marks, spaces and names of members.
func asJSON(printed string) string {
	return strings.NewReplacer("'", "", `"`, "", " ", "", "\n", "").Replace(printed)
}
