package engines

import (
	"os"
	"strings"
	"testing"
)

// TestKindsAreDocumented holds the table of kinds against the pages, the contracts and the clients that list them.
func TestKindsAreDocumented(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for file, mention := range map[string]string{
			"docs/guides/validators/" + k.name + ".md": "`" + k.name + "`",
			"docs/guides/validators.md":                "[`" + k.name + "`](validators/" + k.name + ".md)",
			"docs/openapi.yaml":                        "* `" + k.name + "`: ",
			"docs/workflow-file.schema.json":           `"` + k.name + `"`,
			"core/client/typescript/src/types.ts":      `"` + k.name + `"`,
		} {
			content, err := os.ReadFile("../../" + file)
			if err != nil || !strings.Contains(string(content), mention) {
				t.Errorf("%s does not mention %s (%v)", file, mention, err)
			}
		}
		if k.title == "" {
			t.Errorf("the kind %s has no title", k.name)
		}
	}
}
