package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const clients = ".."

// TestFilesAreCurrent compares what is generated with what the repository has.
func TestFilesAreCurrent(t *testing.T) {
	t.Parallel()
	files, err := generate(clients)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(clients, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("core/client/%s is not that of docs/openapi.yaml: run go generate ./core/client", name)
		}
	}
}

// TestEveryOperationIsInEveryClient looks for the method of each operation, also of those that are written by hand.
func TestEveryOperationIsInEveryClient(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(clients, "..", "..", "docs", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	model, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range d.Paths {
		switch {
		case strings.HasPrefix(path.name, "/api/v1/"):
		case slices.Contains([]string{"/api/schema/", "/api/docs/", "/livez", "/readyz"}, path.name):
		default:
			count += len(path.value)
		}
	}
	if count == 0 || len(model.Operations) != count {
		t.Errorf("operations = %d, want all %d of the document", len(model.Operations), count)
	}
	sources := map[string]string{
		"Go": sourcesOf(t, "*.go"), "Python": sourcesOf(t, "python/src/simplevalidations/*.py"),
		"TypeScript": sourcesOf(t, "typescript/src/*.ts"),
	}
	for _, o := range model.Operations {
		method := methodName(o.ID)
		for _, signature := range []struct {
			client, pattern string
			count           int
		}{
			{"Go", `(?m)^func \(c \*Client\) ` + strings.ToUpper(method[:1]) + method[1:] + `\(`, 1},
			{"Python", `(?m)^    (async )?def ` + snake(method) + `\(\s*self`, 2}, // One blocks, and one is awaited.
			{"TypeScript", `(?m)^  (async )?` + method + `\(`, 1},
		} {
			found := regexp.MustCompile(signature.pattern).FindAllString(sources[signature.client], -1)
			if len(found) < signature.count {
				t.Errorf("%s has %d methods for %s, want %d", signature.client, len(found), o.ID, signature.count)
			}
		}
	}
}

// TestReleasesAgree compares the releases of the packages.
func TestReleasesAgree(t *testing.T) {
	t.Parallel()
	project := version.FindStringSubmatch(sourcesOf(t, "python/pyproject.toml"))
	if want := `"version": "` + project[1] + `"`; !strings.Contains(sourcesOf(t, "typescript/package.json"), want) {
		t.Errorf("package.json has another release than pyproject.toml, want %s", want)
	}
	for _, name := range []string{"python", "typescript"} {
		if want := "\n## " + project[1]; !strings.Contains(sourcesOf(t, name+"/CHANGELOG.md"), want) {
			t.Errorf("%s/CHANGELOG.md has no entry %q", name, want)
		}
	}
}

func sourcesOf(tb testing.TB, pattern string) string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(clients, pattern))
	if err != nil || len(names) == 0 {
		tb.Fatalf("files like %s: %v and error %v, want some", pattern, names, err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
