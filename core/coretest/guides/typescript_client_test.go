package guides

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/clients"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestTypeScriptClientGuide compiles every program of the guide to the TypeScript client, with all types checked, and
// runs it.
func TestTypeScriptClientGuide(t *testing.T) {
	t.Parallel()

	installation := program.Install(t)
	server := program.Serve(t, installation.Settings)
	dir := t.TempDir()
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("package.json", []byte(`{"private": true}`))
	write("meter-readings.csv", program.Sample(t, "bad/meter-readings.csv"))
	offered := ofLanguage(blocksOf(t, "docs/guides/typescript-client.md"), "ts")
	run := func(name string, args ...string) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "URL="+server.URL(), "TOKEN="+installation.Harbour.Tokens.Executor)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", cmd, err, output)
		}
		t.Logf("%s said %q", cmd, output)
	}
	compile := []string{
		clients.InstallTypeScript(t, dir), "--strict", "--target", "es2022", "--module", "node16", "--lib", "es2022",
		"--types", "node",
	}
	for i, b := range offered {
		write(fmt.Sprintf("guide%d.mts", i), []byte(b.code))
		compile = append(compile, fmt.Sprintf("guide%d.mts", i))
	}
	run("node", compile...)
	for i := range offered {
		run("node", fmt.Sprintf("guide%d.mjs", i))
	}
	if runs := program.Count(t, installation.DB, "SELECT count(*) FROM validation_runs"); runs != 2 {
		t.Errorf("runs = %d, want one of each program that starts one, 2", runs)
	}
	program.CheckAtRest(t, installation.DB)
}
