package tree

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

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
		"%YAML 1.3\n---\na: 1\n":                       `{"a":1}`,
		`{"a": "b\/c\\/"}`:                             `{"a":"b/c\\/"}`,
		"# c\n\ufeffa: 1\n":                            `{"a":1}`,
		"\ufeff# c\r\n\r\n\ufeff%YAML 1.2\n---\na: 1\n...\n# d\n\ufeff# e\n": `{"a":1}`,
		"a: '#\n\n \ufeffb'\n": "{\"a\":\"#\\n\ufeffb\"}",
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

func TestPlainValuesAreThoseOfTheCoreSchema(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"01234": `1234`, "1_000": `"1_000"`, "0o17": `15`, "0x1F": `31`, "0b11": `"0b11"`, "-012": `-12`, "+12": `12`,
		"-0x1F": `"-0x1F"`, "0o8": `"0o8"`, "08.50": `8.50`, "-.5e3": `-0.5e3`, "1.": `1`, "1.e2": `1e2`,
		"12345678901234567890": `12345678901234567890`, "0.10": `0.10`, "1e5": `1e5`, "12:30": `"12:30"`,
		"2026-01-02": `"2026-01-02"`, "yes": `"yes"`, "off": `"off"`, "y": `"y"`, "True": `true`, "FALSE": `false`,
		"tRUE": `"tRUE"`, "~": `null`, "NULL": `null`, "": `null`, "nULL": `"nULL"`, "'12'": `"12"`, "!!str 12": `"12"`,
		"!!int '12'": `12`, "!!float 3": `3`, "!!bool 'true'": `true`, "!!null x": `null`, "!own 12": `"12"`,
		".": `"."`, "-": `[null]`, "+.inf": ``, ".NaN": ``, "1e400": ``, "!!int x": ``, "!!int 1_0": ``,
		"!!bool yes": ``,
	} {
		read, fault := ReadYAML([]byte(written+"\n"), engine.DefaultLimits())
		if written == "" {
			read, fault = ReadYAML([]byte("a:\n"), engine.DefaultLimits())
			want = `{"a":null}`
		}
		if string(read.JSON) != want || (fault != nil) != (want == "") {
			t.Errorf("%s is read as %s with %+v, want %s", written, read.JSON, fault, want)
		}
	}
}

func TestMergeKeys(t *testing.T) {
	t.Parallel()
	const base = "a: &a {k: 1, l: 2}\nb: &b\n  <<: *a\n  l: 3\nc: "
	for written, want := range map[string]string{
		"{<<: *a}": `{"k":1,"l":2}`, "{l: 9, <<: *a}": `{"l":9,"k":1}`, "{<<: *a, k: 9}": `{"k":9,"l":2}`,
		"{<<: [*a, *b]}": `{"k":1,"l":2}`, "{<<: [*b, *a]}": `{"l":3,"k":1}`,
		"{<<: {m: [*a]}}": `{"m":[{"k":1,"l":2}]}`,
		"{<<: []}":        `{}`, "{'<<': 1}": `{"<<":1}`, "[<<]": `["<<"]`,
	} {
		read, fault := ReadYAML([]byte(base+written+"\n"), engine.DefaultLimits())
		if fault != nil || !strings.HasSuffix(string(read.JSON), `,"c":`+want+`}`) {
			t.Errorf("%s is read as %s with %+v, want %s", written, read.JSON, fault, want)
		}
	}
	for written, want := range map[string]string{
		"{<<: 1}": "yaml.merge", "{<<: [*a, 1]}": "yaml.merge", "{<<: *a, <<: *b}": "yaml.duplicate_name",
		"&c {<<: *c}": "yaml.depth", "&c {<<: [*c, *c]}": "yaml.depth", "{<<: {x: 1, x: 2}}": "yaml.duplicate_name",
	} {
		_, fault := ReadYAML([]byte(base+written+"\n"), engine.DefaultLimits())
		if fault == nil || fault.Code != want || fault.Line != 5 {
			t.Errorf("fault of %s = %+v, want %s in line 5", written, fault, want)
		}
	}
}

func TestMergedValuesHaveThePlacesWhereTheyStand(t *testing.T) {
	t.Parallel()
	const text = "a: &a\n  k: 1\nb:\n  l: 2\n  <<: *a\n"
	read, fault := ReadYAML([]byte(text), engine.DefaultLimits())
	if fault != nil {
		t.Fatalf("read: %+v", fault)
	}
	if line, column := read.Place("/b/k"); line != 2 || column != 6 {
		t.Errorf("place of /b/k = %d:%d, want 2:6", line, column)
	}
	tree, _, err := Read(engine.NewDocument([]byte(text), "application/yaml", ""), engine.DefaultLimits())
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	root := &Spot{}
	spot := root.At([]string{"b", "k"})
	tree.Locate(root)
	if spot.Name.Line != 2 || spot.Value.Column != 6 {
		t.Errorf("spot of b.k = %+v, want line 2, column 6", spot)
	}
}

// TestMergeKeysAreBounded has mappings that merge each other, so that their members multiply.
func TestMergeKeysAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("a0: &a0 {k0: 0}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&text, "a%d: &a%d {<<: [*a%d, *a%d], k%d: 0}\n", i, i, i-1, i-1, i)
	}
	_, fault := ReadYAML([]byte(text.String()), engine.DefaultLimits())
	if fault == nil || fault.Code != "yaml.too_large" {
		t.Errorf("fault = %+v, want that the aliases repeat too much", fault)
	}
}

// TestMergedMembersCountEachTime has one long mapping that another merges many times: only its first time adds
// members, but each time reads all of them.
func TestMergedMembersCountEachTime(t *testing.T) {
	t.Parallel()
	const members, times = 900, 1000
	var text strings.Builder
	text.WriteString("a: &a {k: 0")
	for i := range members {
		fmt.Fprintf(&text, ", k%d: 0", i)
	}
	text.WriteString("}\nb: {<<: [*a" + strings.Repeat(", *a", times) + "]}\n")
	_, fault := ReadYAML([]byte(text.String()), engine.DefaultLimits())
	if fault == nil || fault.Code != "yaml.too_large" || fault.Line != 1 {
		t.Errorf("fault = %+v, want that merge keys repeat too much", fault)
	}
}

func countNodes(node *yaml.Node) int {
	count := 1
	for _, below := range node.Content {
		count += countNodes(below)
	}
	return count
}

// TestLinesOfYAMLAreThoseOfEditors has line ends of YAML 1.1, which editors show within a line.
func TestLinesOfYAMLAreThoseOfEditors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]engine.Position{
		"a: \"x\u2028y\"\nb: 1\n":        {Line: 2, Column: 4},
		"a: \"x\u2029y\u2028z\"\r\nb: 1": {Line: 2, Column: 4},
		"a: x\rb: 1\r":                   {Line: 1, Column: 9},
		"a: x\r\n\r\nb: 1\r\n":           {Line: 3, Column: 4},
	} {
		document, fault := parseYAML([]byte(text), engine.DefaultLimits())
		if fault != nil {
			t.Fatalf("read %q: %+v", text, fault)
		}
		root := &Spot{}
		wanted := root.At([]string{"b"})
		document.Locate(root)
		if wanted.Value != want {
			t.Errorf("place in %q = %+v, want %+v", text, wanted.Value, want)
		}
	}
}
