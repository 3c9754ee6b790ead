package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/clients"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestPythonClientGuide runs every program of the guide to the clients in Python.
func TestPythonClientGuide(t *testing.T) {
	t.Parallel()
	offered := ofLanguage(blocksOf(t, "docs/guides/clients.md"), "python")
	followClients(t, offered, 2, func(b block) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", b.code)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+pythonSources(t), "PYTHONDONTWRITEBYTECODE=1")
		return cmd
	})
}

// TestTypeScriptClientGuide compiles every program in TypeScript of the guide to the clients, with all types checked,
// and runs it.
func TestTypeScriptClientGuide(t *testing.T) {
	t.Parallel()
	offered := ofLanguage(blocksOf(t, "docs/guides/clients.md"), "ts")
	programs := make(map[string]string)
	for _, b := range offered {
		programs[programName(b)] = b.code
	}
	compiled := clients.CompileTypeScript(t, programs)
	followClients(t, offered, 1, func(b block) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "node", programPath(compiled, b))
		cmd.Env = os.Environ()
		return cmd
	})
}

// followClients runs the programs, which have to start so many runs.
func followClients(t *testing.T, offered []block, wantRuns int, command func(block) *exec.Cmd) {
	t.Helper()
	installation := program.Install(t)
	server := program.Serve(t, installation.Settings)
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"meter-readings.csv": program.Sample(t, "bad/meter-readings.csv")})
	for _, b := range offered {
		cmd := command(b)
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "URL="+server.URL(), "TOKEN="+installation.Harbour.Tokens.Executor)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", b, err, output)
		}
		t.Logf("%s said %q", b, output)
	}
	if runs := program.Count(t, installation.DB, "SELECT count(*) FROM validation_runs"); runs != wantRuns {
		t.Errorf("runs = %d, want one of each program that starts one, %d", runs, wantRuns)
	}
	program.CheckAtRest(t, installation.DB)
}

// pythonSources is the folder from which Python imports the client.
func pythonSources(tb testing.TB) string {
	tb.Helper()
	sources, err := filepath.Abs(filepath.Join(repository, "core", "client", "python", "src"))
	if err != nil {
		tb.Fatal(err)
	}
	return sources
}

// programName names the program of a block.
func programName(b block) string {
	return strings.NewReplacer("/", "-", ".md:", "-").Replace(b.String())
}

// programPath is where the compiled program of a block is. It finds the client from any working directory.
func programPath(compiled coretest.Folder, b block) string {
	return compiled.Path(programName(b) + ".mjs")
}
