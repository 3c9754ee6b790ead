package schema_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	// CUE ships the official JSON Schema Test Suite among its test data. Nothing else of it is used.
	_ "cuelang.org/go/cue/token"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// suiteGroup is a schema of the suite with documents.
type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// TestJSONSchemaTestSuite holds the engine against the suite: it differs in exactly the listed cases.
func TestJSONSchemaTestSuite(t *testing.T) {
	t.Parallel()
	suites := moduleFolder(t, "cuelang.org/go") + filepath.FromSlash("/encoding/jsonschema/testdata/external/tests")
	// How many cases the module ships, so that none is lost unnoticed.
	for draft, want := range map[string]int{"2020-12": 1882, "2019-09": 1845, "7": 1447, "6": 1140, "4": 861} {
		t.Run(draft, func(t *testing.T) {
			t.Parallel()
			files := os.DirFS(filepath.Join(suites, "draft"+draft))
			found, cases := []string{}, 0
			for _, name := range suiteFiles(t, files) {
				for _, group := range suiteGroups(t, files, name) {
					cases += len(group.Tests)
					for _, difference := range differing(t, draft, group) {
						found = append(found, name+": "+difference)
					}
				}
			}
			slices.Sort(found)
			same(t, differencesIn(draft), found)
			same(t, want, cases)
		})
	}
}

// differing names the group where its schema is refused, else the tests whose verdict differs.
func differing(t *testing.T, draft string, group suiteGroup) []string {
	t.Helper()
	config, err := json.Marshal(map[string]any{"schema": group.Schema, "draft": draft})
	if err != nil {
		t.Fatalf("make configuration: %v", err)
	}
	engine, faults := engines.Compile(engines.KindJSONSchema, config, engines.DefaultLimits())
	if len(faults) > 0 {
		return []string{group.Description}
	}
	found := []string{}
	for _, test := range group.Tests {
		if report := run(t, engine, test.Data, "application/json"); (report.Errors == 0) != test.Valid {
			found = append(found, group.Description+": "+test.Description)
		}
	}
	return found
}

func suiteFiles(t *testing.T, files fs.FS) []string {
	t.Helper()
	names := []string{}
	err := fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".json" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatalf("list suite: %v", err)
	}
	return names
}

func suiteGroups(t *testing.T, files fs.FS, name string) []suiteGroup {
	t.Helper()
	text, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatalf("read suite: %v", err)
	}
	var groups []suiteGroup
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return groups
}

// moduleFolder returns where the sources of a module are.
func moduleFolder(t *testing.T, module string) string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find module %s: %v", module, err)
	}
	return strings.TrimSpace(string(folder))
}
