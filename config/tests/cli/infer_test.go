package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// A workflow file that was inferred from a sample is one that check takes, and the sample passes it.
func TestInferredFilesPassTheirSamples(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	b.write(t, "Site 7.json", fixture.SampleText(t, "good/building.json"))
	b.write(t, "meters.xml", fixture.SampleText(t, "good/meters.xml"))
	b.write(t, "lines.jsonl", "{\"id\": \"a\", \"kwh\": 1.5}\n{\"id\": \"b\", \"kwh\": null}\n")
	b.write(t, "odd.json", `{"a": ["line\nbreak", "# no comment", "\u2028"]}`)
	readings, err := os.ReadFile("../../../validations/engines/table/testdata/readings.parquet")
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "readings.parquet", string(readings))
	for sample, step := range map[string]string{
		"readings.parquet": "table", "good.csv": "table", "Site 7.json": "schema", "meters.xml": "xml",
		"lines.jsonl": "table", "odd.json": "schema", "good.idf": "energyplus",
	} {
		inferred := b.run(t.Context(), "infer", b.path(sample))
		if inferred.code != 0 || !strings.HasPrefix(inferred.output, "schema_version: 1\n") ||
			!strings.Contains(inferred.output, "\n  - id: "+step+"\n") {
			t.Errorf("infer %s ended with %+v", sample, inferred)
			continue
		}
		b.write(t, "inferred.yaml", inferred.output)
		checked := b.run(t.Context(), "check", b.path(sample), "--workflow", b.path("inferred.yaml"))
		if checked.code != 0 {
			t.Errorf("check of %s = %+v by\n%s", sample, checked, inferred.output)
		}
	}
}

func TestInferRefuses(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	b.write(t, "broken.json", `{"a": `)
	b.write(t, "empty.csv", "")
	b.write(t, "notes.txt", "x")
	if err := os.Mkdir(b.path("folder.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"notes.txt": "nothing can be inferred", "broken.json": "line 1, column 7", "empty.csv": "it has no columns",
		"folder.csv": "folder.csv", "absent.csv": "absent.csv",
	} {
		if got := b.run(t.Context(), "infer", b.path(name)); got.code != 2 || !strings.Contains(got.message, want) {
			t.Errorf("infer %s = %+v, want code 2 with %q", name, got, want)
		}
	}
}

// Of many documents, --quiet tells only those with findings, and the sum.
func TestQuietCheckOfMany(t *testing.T) {
	t.Parallel()
	b := setupBench(t)
	got := b.run(t.Context(), "check", "@good.csv", "@bad.csv", "@good.csv", "-w", "@table.yaml", "--quiet")
	if got.code != 1 || strings.Contains(got.output, "PASSED") || !strings.Contains(got.output, "FAILED") ||
		!strings.Contains(got.output, "2 of 3 documents passed") {
		t.Errorf("check = %+v, want the failed document and the sum", got)
	}
}
