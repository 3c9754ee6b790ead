//go:build slow

package config_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/validations"
)

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

// TestGeneratedClients starts runs with clients that public generators make of the document.
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
		folder.run(t, nil, "npm", "run", "generate")
		folder.run(t, nil, "npm", "run", "build")
		checkClient(t, folder, "node", "dist/start.js")
	})
}

// TestOpenAPIByItsLinter holds the document to the rules that others have for such documents.
func TestOpenAPIByItsLinter(t *testing.T) {
	t.Parallel()
	setupNode(t).run(t, []string{"REDOCLY_TELEMETRY=off"}, "npm", "run", "lint")
}

func setupNode(tb testing.TB) toolFolder {
	tb.Helper()
	const oldest = 20
	if _, err := exec.LookPath("npm"); err != nil {
		tb.Skip("npm is not installed")
	}
	folder := setupTools(tb, "typescript")
	version, _, _ := strings.Cut(strings.TrimPrefix(folder.run(tb, nil, "node", "--version"), "v"), ".")
	if major, err := strconv.Atoi(version); err != nil || major < oldest {
		tb.Skipf("Node.js is of version %s, and the tools need %d", version, oldest)
	}
	folder.run(tb, nil, "npm", "ci", "--no-audit", "--no-fund")
	return folder
}

// checkClient has a client start a run and read it, and looks whether the service has that run.
func checkClient(tb testing.TB, folder toolFolder, name string, args ...string) {
	tb.Helper()
	s := setup(tb)
	token := s.Harbour.Tokens.Executor
	environ := []string{"ADDRESS=http://" + s.address, "TOKEN=" + token, "KEY=generated"}
	first := folder.run(tb, environ, name, args...)
	id, err := uuid.Parse(first)
	if err != nil {
		tb.Fatalf("the client printed %q, want the id of a run", first)
	}
	got := s.must(tb, http.StatusOK, call{path: "/api/runs/" + id.String() + "/", token: token})
	if run := decoded[validations.RunBody](tb, got); run.IdempotencyKey != "generated" {
		tb.Errorf("key of the run = %q, want that of the client", run.IdempotencyKey)
	}
	if again := folder.run(tb, environ, name, args...); again != first {
		tb.Errorf("the same key started run %s, want %s again", again, first)
	}
}

func writeText(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
