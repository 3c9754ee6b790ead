//go:build slow

package api

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// loadNodeTools installs the programs that judge the OpenAPI document and generate clients from it.
var loadNodeTools = sync.OnceValues(func() (coretest.Folder, error) {
	return coretest.InstallNPM(context.Background(), os.DirFS(filepath.Join("testdata", "openapi", "npm")), "openapi")
})

// toolFolder is a copy of a folder with a program that is generated from the OpenAPI document, and of the document.
type toolFolder string

func setupTools(tb testing.TB, name string) toolFolder {
	tb.Helper()
	folder := tb.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "openapi", name))); err != nil {
		tb.Fatal(err)
	}
	writeText(tb, filepath.Join(folder, "openapi.yaml"), string(docs.OpenAPI()))
	return toolFolder(folder)
}

// run runs a program in the folder, which has to succeed, and returns its standard output.
func (f toolFolder) run(tb testing.TB, environ []string, name string, args ...string) string {
	tb.Helper()
	var output, message bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Dir = string(f)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stdout, cmd.Stderr = &output, &message
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s%s", cmd, err, message.String(), output.String())
	}
	return output.String()
}

// nodeFolder is a toolFolder in which programs find the installed packages.
type nodeFolder struct {
	toolFolder

	tools coretest.Folder
}

func setupNode(tb testing.TB) nodeFolder {
	tb.Helper()
	tools, err := loadNodeTools()
	if err != nil {
		tb.Fatalf("install the tools: %v", err)
	}
	folder := nodeFolder{toolFolder: setupTools(tb, "npm"), tools: tools}
	link := filepath.Join(string(folder.toolFolder), "node_modules")
	if err := os.Symlink(tools.Path("node_modules"), link); err != nil {
		tb.Fatal(err)
	}
	return folder
}

// execute runs an installed program, which has to succeed.
func (f nodeFolder) execute(tb testing.TB, program string, args ...string) {
	tb.Helper()
	environ := []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true"}
	f.run(tb, environ, f.tools.Node(), f.tools.Program(program, args...)...)
}

// TestGeneratedClients has clients that public generators make from the document start runs, wait and page.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()

	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		folder := setupTools(t, "go")
		if err := os.Mkdir(filepath.Join(string(folder), "api"), 0o700); err != nil {
			t.Fatal(err)
		}
		// The flags of the tests are not those of another module.
		plain := []string{"GOFLAGS=", "GOWORK=off"}
		folder.run(t, plain, "go", "tool", "oapi-codegen", "-config", "generate.yaml", "openapi.yaml")
		folder.run(t, plain, "go", "build", "-buildvcs=false", "-o", "generated", ".")
		checkClient(t, folder, "./generated")
	})
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		folder := setupNode(t)
		var generators sync.WaitGroup
		generators.Go(func() { folder.execute(t, "openapi-typescript", "openapi.yaml", "-o", "api.ts") })
		folder.execute(t, "openapi-ts", "-s", "-i", "openapi.yaml", "-o", "hey", "-c", "@hey-api/client-fetch")
		generators.Wait()
		folder.execute(t, "tsc")
		for name, program := range map[string]string{"OpenAPIFetch": "dist/fetch.js", "HeyAPI": "dist/hey.js"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				checkClient(t, folder.toolFolder, folder.tools.Node(), program)
			})
		}
	})
}

// TestOpenAPIByItsLinters holds the document to the rules that others have for such documents.
func TestOpenAPIByItsLinters(t *testing.T) {
	t.Parallel()

	t.Run("Redocly", func(t *testing.T) {
		t.Parallel()
		setupNode(t).execute(t, "redocly", "lint", "--max-problems=100", "openapi.yaml")
	})
	t.Run("Spectral", func(t *testing.T) {
		t.Parallel()
		setupNode(t).execute(t, "spectral", "lint", "--fail-severity=hint", "openapi.yaml")
	})
}

// checkClient has a client start runs, wait for them and list them, and looks whether the service has those runs.
func checkClient(tb testing.TB, folder toolFolder, name string, args ...string) {
	tb.Helper()
	const starts = 3
	s := setup(tb)
	s.WorksOn(tb)
	token := s.Harbour.Tokens.Executor
	environ := []string{"ADDRESS=http://" + s.Address, "TOKEN=" + token, "KEY=generated"}
	first := folder.run(tb, environ, name, args...)
	ids := strings.Split(first, "\n")
	if len(ids) != starts {
		tb.Fatalf("the client printed %q, want the ids of %d runs", first, starts)
	}
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			tb.Fatalf("the client printed %q, want ids of runs", first)
		}
		got := s.Must(tb, http.StatusOK, call{Path: validations.RunAddress(id.String()), Token: token})
		if run := fixture.Decoded[api.Run](tb, got); !strings.HasPrefix(string(run.IdempotencyKey),
			"generated-") {
			tb.Errorf("key of the run = %q, want that of the client", run.IdempotencyKey)
		}
	}
	if again := folder.run(tb, environ, name, args...); again != first {
		tb.Errorf("the same keys started runs %s, want %s again", again, first)
	}
	if got := s.RowCounts(tb); got.Keys != starts || got.Runs != starts || got.Used != starts {
		tb.Errorf("rows = %+v, want %d keys, runs and charges", got, starts)
	}
}

func writeText(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
