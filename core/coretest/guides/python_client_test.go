package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// pythonSources is the folder from which Python imports the client.
func pythonSources(tb testing.TB) string {
	tb.Helper()
	sources, err := filepath.Abs(filepath.Join(repository, "core", "client", "python", "src"))
	if err != nil {
		tb.Fatal(err)
	}
	return sources
}

// TestPythonClientGuide runs every program of the guide to the clients in Python.
func TestPythonClientGuide(t *testing.T) {
	t.Parallel()

	installation := program.Install(t)
	server := program.Serve(t, installation.Settings)
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"meter-readings.csv": program.Sample(t, "bad/meter-readings.csv")})
	offered := ofLanguage(blocksOf(t, "docs/guides/clients.md"), "python")
	for _, b := range offered {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", b.code)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PYTHONPATH="+pythonSources(t), "PYTHONDONTWRITEBYTECODE=1",
			"URL="+server.URL(), "TOKEN="+installation.Harbour.Tokens.Executor)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", b, err, output)
		}
		t.Logf("%s said %q", b, output)
	}
	if runs := program.Count(t, installation.DB, "SELECT count(*) FROM validation_runs"); runs != 2 {
		t.Errorf("runs = %d, want one of each program that starts one, 2", runs)
	}
	program.CheckAtRest(t, installation.DB)
}
