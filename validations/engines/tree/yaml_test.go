package tree

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
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

func TestYAMLIsReadAsOthersWriteIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": "\ud83d\ude1c", "b": "\\ud83d\\ude1c"}`: `{"a":"\U0001F61C","b":"\\ud83d\\ude1c"}`,
		`{"a": "\\\uD83D\uDE1C!"}`:                     `{"a":"\\\U0001F61C!"}`,
		"a: '\\ud83d\\ude1c'":                          `{"a":"\\ud83d\\ude1c"}`,
		"%YAML 1.2\n---\na: '%YAML 1.2'\n":             `{"a":"%YAML 1.2"}`,
		"# by 1.2\n\n%YAML 1.2 # new\n---\na: 1.2\n":   `{"a":1.2}`,
		"%YAML 1.1\n---\na: 1\n":                       `{"a":1}`,
	} {
		want = strings.ReplaceAll(want, `\U0001F61C`, "\U0001F61C")
		read, fault := ReadYAML([]byte(text), engine.DefaultLimits())
		if fault != nil || string(read.JSON) != want {
			t.Errorf("%s is read as %s with %+v, want %s", text, read.JSON, fault, want)
		}
	}
	if _, fault := ReadYAML([]byte("%YAML 2.0\n---\na: 1\n"), engine.DefaultLimits()); fault == nil {
		t.Error("YAML 2.0 is read, want a finding")
	}
}

func countNodes(node *yaml.Node) int {
	count := 1
	for _, below := range node.Content {
		count += countNodes(below)
	}
	return count
}
