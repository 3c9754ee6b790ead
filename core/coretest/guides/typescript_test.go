package guides

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/clients"
)

// typeScript is a folder with compiled programs. They find the client from any working directory.
type typeScript struct {
	folder coretest.Folder
}

// compileTypeScript compiles programs, named without an ending. One call for many saves time, because the compiler
// reads the types of Node.js in each.
func compileTypeScript(tb testing.TB, programs map[string]string) typeScript {
	tb.Helper()
	return typeScript{folder: clients.CompileTypeScript(tb, programs)}
}

// program is the path of a compiled program.
func (s typeScript) program(name string) string { return s.folder.Path(name + ".mjs") }

// programName names the program of a block.
func programName(b block) string {
	return strings.NewReplacer("/", "-", ".md:", "-").Replace(b.String())
}
