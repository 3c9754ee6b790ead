package tree

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestNodesOfYAMLAreBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a", "[a,b,c]", "{a,b}", "{a}", "[{a},{b}]", "{{a}}", "- - - a", "-\n-\n-\n", "- a: b\n  c: d\n", "? a",
		"? [a]\n: b", "[a: b, c: d]", `{"a":1,"b":2}`, `{'a':[]}`, "a:\n b:\n  c:\n", "a: &x {b: c}\nd: *x\n",
		"[a,[b,[c]],]", "{a: ,b:}",
	} {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatalf("parse %q: %v", text, err)
		}
		if nodes, most := countNodes(document.Content[0]), 2*countIndicators([]byte(text))+1; nodes > most {
			t.Errorf("%q has %d nodes, at most %d were expected", text, nodes, most)
		}
	}
}

func countNodes(node *yaml.Node) int {
	count := 1
	for _, below := range node.Content {
		count += countNodes(below)
	}
	return count
}
