package engines

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Kinds are the names of all kinds, for the tests that stand outside of the package.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// TestKindsAreComplete fails where the entry of a kind lacks what nothing else would miss.
func TestKindsAreComplete(t *testing.T) {
	t.Parallel()
	// These are what the existing client of /api/v1/ knows; it fails on others.
	known := []string{KindEnergyPlus, KindHTTP, KindJSONSchema, KindRules, KindTable, KindXML}
	for _, k := range kinds {
		if k.title == "" || k.compile == nil || k.describe == nil || k.weigh == nil {
			t.Errorf("the kind %s has no title, compile, describe or weigh", k.name)
		}
		if !slices.Contains(known, k.v1Type) {
			t.Errorf("the kind %s is of the type %q for clients of /api/v1/, want one of %v", k.name, k.v1Type, known)
		}
		if k.schema.Language == 0 || (k.schema.Name == "") != (k.schema.Language == SchemaNone) {
			t.Errorf("the kind %s does not say where a configuration holds a schema: %v", k.name, k.schema)
		}
	}
	isSorted := slices.IsSortedFunc(kinds, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	if !isSorted {
		t.Error("the kinds are not sorted by name")
	}
}

// TestOwnProgramsAreLookedFor holds the programs that the service misses against the folder of their sources.
func TestOwnProgramsAreLookedFor(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Glob("../programs/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, module := range modules {
		programs = append(programs, filepath.Base(filepath.Dir(module)))
	}
	limits := DefaultLimits()
	limits.Programs = t.TempDir()
	if diff := cmp.Diff(programs, MissingPrograms(limits)); diff != "" {
		t.Errorf("missing programs (-want +got):\n%s", diff)
	}
}

// TestKindsAreDocumented holds the table of kinds against the pages, the contracts and the clients that list them.
func TestKindsAreDocumented(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		content, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	rows, v1 := read("docs/guides/validators.md"), read("docs/guides/v1.md")
	// A step has its type in an answer and in a definition.
	lists := strings.Split(read("docs/openapi.yaml"), "The type of the check.")[1:]
	if len(lists) != 2 {
		t.Fatalf("docs/openapi.yaml lists the kinds %d times, want 2", len(lists))
	}
	for _, k := range kinds {
		page := regexp.MustCompile("\\[`" + k.name + "`\\]\\((validators/[a-z_]+\\.md)").FindStringSubmatch(rows)
		if page == nil {
			t.Errorf("docs/guides/validators.md has no link [`%s`](validators/...)", k.name)
			continue
		}
		for file, mention := range map[string]string{
			"docs/guides/" + page[1]:              "`" + k.name + "`",
			"docs/workflow-file.schema.json":      `"` + k.name + `"`,
			"core/client/typescript/src/types.ts": `"` + k.name + `"`,
		} {
			if !strings.Contains(read(file), mention) {
				t.Errorf("%s does not mention %s", file, mention)
			}
		}
		if !strings.Contains(v1, "`"+k.name+"`") {
			t.Errorf("docs/guides/v1.md does not mention %s", k.name)
		}
	}
	for i, list := range lists {
		described, rest, _ := strings.Cut(list, "enum: [")
		enum, _, _ := strings.Cut(rest, "]")
		if want := strings.Join(Kinds(), ", "); enum != want {
			t.Errorf("list %d of docs/openapi.yaml has the enum [%s], want [%s]", i+1, enum, want)
		}
		for _, name := range Kinds() {
			if !strings.Contains(described, "* `"+name+"`: ") {
				t.Errorf("list %d of docs/openapi.yaml does not describe %s", i+1, name)
			}
		}
	}
}
