package guides

import (
	"os"
	"os/exec"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestTypeScriptClientGuide compiles every program in TypeScript of the guide to the clients, with all types checked,
// and runs it.
func TestTypeScriptClientGuide(t *testing.T) {
	t.Parallel()

	installation := program.Install(t)
	server := program.Serve(t, installation.Settings)
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"meter-readings.csv": program.Sample(t, "bad/meter-readings.csv")})
	offered := ofLanguage(blocksOf(t, "docs/guides/clients.md"), "ts")
	programs := make(map[string]string)
	for _, b := range offered {
		programs[programName(b)] = b.code
	}
	compiled := compileTypeScript(t, programs)
	for _, b := range offered {
		cmd := exec.CommandContext(t.Context(), "node", compiled.program(programName(b)))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "URL="+server.URL(), "TOKEN="+installation.Harbour.Tokens.Executor)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", b, err, output)
		}
		t.Logf("%s said %q", b, output)
	}
	if runs := program.Count(t, installation.DB, "SELECT count(*) FROM validation_runs"); runs != 1 {
		t.Errorf("runs = %d, want one of each program that starts one, 1", runs)
	}
	program.CheckAtRest(t, installation.DB)
}
