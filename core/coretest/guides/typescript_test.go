package guides

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/clients"
)

// typeScript is a folder in which the package of the TypeScript client is installed.
type typeScript struct {
	dir, compiler string
}

func installTypeScript(tb testing.TB) typeScript {
	tb.Helper()
	dir := tb.TempDir()
	writeFiles(tb, dir, map[string][]byte{"package.json": []byte(`{"private": true}`)})
	return typeScript{dir: dir, compiler: clients.InstallTypeScript(tb, dir)}
}

// compile compiles programs, named without an ending, and checks all of their types. One call for many saves time,
// because the compiler reads the types of Node.js in each.
func (s typeScript) compile(tb testing.TB, programs map[string]string) {
	tb.Helper()
	command := []string{
		s.compiler, "--strict", "--target", "es2022", "--module", "node16", "--lib", "es2022", "--types", "node",
	}
	for name, code := range programs {
		writeFiles(tb, s.dir, map[string][]byte{name + ".mts": []byte(code)})
		command = append(command, name+".mts")
	}
	cmd := exec.CommandContext(tb.Context(), "node", command...)
	cmd.Dir = s.dir
	if output, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, output)
	}
}

// program is the path of a compiled program. It finds the client from any working directory.
func (s typeScript) program(name string) string { return filepath.Join(s.dir, name+".mjs") }

// programName names the program of a block.
func programName(b block) string {
	return strings.NewReplacer("/", "-", ".md:", "-").Replace(b.String())
}
