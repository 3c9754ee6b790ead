//go:build slow

package table_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

// DuckDB writes the files with code of its own, so what the library both writes and reads wrongly shows here.
func TestParquetOfDuckDB(t *testing.T) {
	t.Parallel()
	// A lock file would name the packages of all platforms, of which a registry need not have each.
	files := os.DirFS(filepath.Join("testdata", "duckdb"))
	folder, err := coretest.KeepFolder(files, "duckdb", func(folder coretest.Folder) error {
		cmd := exec.CommandContext(t.Context(), "npm", "install", "--ignore-scripts", "--no-audit", "--no-package-lock")
		cmd.Dir = string(folder)
		return cmd.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	checks := step(t, `[{"name": "id", "constraints": {"required": true, "unique": true, "pattern": "r[0-9]+"}},
		{"name": "kwh", "type": "number", "constraints": {"minimum": 0}},
		{"name": "count", "type": "integer", "constraints": {"minimum": 9007199254740993, "unique": true}},
		{"name": "price", "type": "number", "constraints": {"maximum": 0}},
		{"name": "small_price", "type": "number", "constraints": {"minimum": 0}},
		{"name": "day", "type": "date", "constraints": {"minimum": "2026-03-01", "unique": true}},
		{"name": "at", "type": "datetime", "constraints": {"minimum": "2026-03-01T00:00:01Z", "unique": true}},
		{"name": "zoned", "type": "datetime", "constraints": {"enum": ["2026-03-01T00:00:01Z"]}},
		{"name": "clock", "type": "time", "constraints": {"minimum": "12:30:00", "maximum": "12:30:01"}},
		{"name": "ok", "type": "boolean"}, {"name": "tags", "type": "array"}, {"name": "site", "type": "object"},
		{"name": "pairs", "type": "object"}, {"name": "meter", "format": "uuid"},
		{"name": "note", "constraints": {"pattern": "ö[0-9]+"}},
		{"name": "tiny", "type": "integer", "constraints": {"maximum": 255}},
		{"name": "quarter", "type": "number"}, {"name": "bytes", "constraints": {"enum": ["abc"]}}]`,
		`, "row_rules": [
			{"id": "price", "assert": "row.price == row.small_price * -1.0"},
			{"id": "third", "assert": "(row.note == null) == (int(row.quarter * 4.0) % 3 == 0)"},
			{"id": "even", "assert": "row.ok == (int(row.quarter * 4.0) % 2 == 0)"}]`)
	for _, compression := range []string{"uncompressed", "snappy", "gzip", "zstd", "brotli"} {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "table.parquet")
			program := filepath.Join(string(folder), "write.mjs")
			cmd := exec.CommandContext(t.Context(), "node", program, file, "5000", compression)
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("write the file: %v\n%s", err, output)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			same(t, briefs(run(t, checks, content, mediatype.Parquet)), []brief{})
		})
	}
}
