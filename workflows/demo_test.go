package workflows

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the samples anew")

// The samples are the demonstration's workflows as files.
func TestSampleFiles(t *testing.T) {
	t.Parallel()
	drafts, err := DemoDrafts()
	if err != nil {
		t.Fatal(err)
	}
	for _, draft := range drafts {
		if !draft.IsActive {
			continue
		}
		file := Version{
			Workflow:   Workflow{Slug: draft.Slug, Name: draft.Name, Description: draft.Description},
			Definition: draft.Definition,
		}.File()
		want, err := file.YAML("../../workflow-file.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("..", "docs", "samples", "workflows", draft.Slug+".yaml")
		if *update {
			if err := os.WriteFile(name, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", name, diff)
		}
	}
}
