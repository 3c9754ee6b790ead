package config_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/docs"
)

// statedLimit is a constant of the code, or a member of a literal, with the sentence of a guide that states its value.
type statedLimit struct {
	file, name, value string
	page, text        string
}

// A bound that a request or a document meets stands in a guide, and must change there with its constant. A row fails
// when the constant has another value, and when the guide does not say what the row says.
func TestGuidesStateTheBounds(t *testing.T) {
	t.Parallel()
	const limits, http = "validations/engines/engine/limits.go", "validations/engines/http.go"
	const sheet = "validations/engines/table/tablefile/xlsx.go"
	for _, row := range []statedLimit{
		{"core/idempotency/key.go", "MaxKeyLength", "255", "idempotency", "A key has 1 to 255 ASCII characters"},
		{"workflows/start/prefer.go", "maxWait", "60 * time.Second", "idempotency", "after 20 seconds (60 at most)"},
		{
			"workflows/start/body/body.go", "maxStructuredBytes", "1 << 20", "idempotency",
			"JSON document of up to 1 MiB",
		},
		{limits, "MaxFindings", "1000", "validators", "A step lists at most 1,000 findings"},
		{limits, "MaxPerCheck", "100", "validators", "fails repeatedly is listed 100 times"},
		{limits, "MaxTreeBytes", "16 * mebibyte", "validators", "More than 16 MiB (YAML: 4 MiB)"},
		{limits, "MaxYAMLBytes", "4 * mebibyte", "validators", "More than 16 MiB (YAML: 4 MiB)"},
		{limits, "MaxDepth", "200", "validators", "Nested deeper than 200 levels"},
		{limits, "MaxValues", "1_000_000", "validators", "or 1,000,000 values"},
		{limits, "MaxAttributes", "1000", "validators/xml", "more than 1,000 attributes of one element"},
		{limits, "MaxSchemaBytes", "mebibyte", "validators/json_schema", "at most 1 MiB and 10,000 sub-schemas"},
		{limits, "MaxSubSchemas", "10_000", "validators/json_schema", "at most 1 MiB and 10,000 sub-schemas"},
		{limits, "MaxSchemaWork", "100_000_000", "validators/json_schema", "100,000,000 evaluations of keywords"},
		{limits, "MaxPatternTime", "2 * time.Second", "validators/json_schema", "more than two seconds"},
		{limits, "MaxRows", "5_000_000", "validators/table", "| 1 GiB, 5,000,000, 1,000 |"},
		{limits, "MaxColumns", "1000", "validators/table", "| 1 GiB, 5,000,000, 1,000 |"},
		{limits, "MaxRecordBytes", "mebibyte", "validators/table", "| one row | 1 MiB |"},
		{limits, "MaxCells", "100_000_000", "validators/table", "| rows times columns | 100,000,000 |"},
		{limits, "MaxUniqueBytes", "24 * mebibyte", "validators/table", "| 24 MiB: 1,000,000 unique values"},
		{limits, "MaxSharedBytes", "64 * mebibyte", "validators/table", "| 64 MiB, and 4 MiB and 16 times the size"},
		{limits, "MaxRules", "100", "validators/rules", "at most 100 rules"},
		{limits, "MaxRuleChars", "2000", "validators/expressions", "at most 2,000 characters"},
		{limits, "MaxPatternChars", "2000", "validators/rules", "or a pattern has at most 2,000 characters"},
		{limits, "MaxPlainPatternChars", "1 << 16", "validators/rules", "without repetition 65,536"},
		{limits, "MaxTableBytes", "1024 * mebibyte", "validators/table", "| 1 GiB, 5,000,000, 1,000 |"},
		{sheet, "maxSheetRows", "1 << 20", "validators/table", "| 1,048,576 rows; unpacked"},
		{sheet, "expansion", "32", "validators/table", "unpacked 32 MiB and 32 times the size"},
		{sheet, "least", "32 << 20", "validators/table", "unpacked 32 MiB and 32 times the size"},
		{http, "maxAttemptTimeout", "300", "validators/http", "Timeout of one attempt, 1 to 300"},
		{http, "maxParameterBytes", "64 << 10", "validators/http", "up to 64 KiB"},
		{http, "maxCallbackTimeout", "7 * 24 * 3600", "validators/http", "up to 7 days"},
	} {
		if values := valuesOf(t, row.file, row.name); !slices.Contains(values, row.value) {
			t.Errorf("%s has %s = %q, want %s: change this row and guide %s, which says %q",
				row.file, row.name, values, row.value, row.page, row.text)
		}
		page, _ := docs.Page("guides/" + row.page)
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), row.text) {
			t.Errorf("guide %s does not say %q, which states %s = %s of %s",
				row.page, row.text, row.name, row.value, row.file)
		}
	}
}

// valuesOf returns the values of the constants and variables of the name, and of the members of literals, as they are
// written in the file.
func valuesOf(tb testing.TB, file, name string) []string {
	tb.Helper()
	source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
	if err != nil {
		tb.Fatal(err)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ValueSpec:
			for i, ident := range n.Names {
				if ident.Name == name && i < len(n.Values) {
					values = append(values, written(tb, files, n.Values[i]))
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == name {
				values = append(values, written(tb, files, n.Value))
			}
		}
		return true
	})
	return values
}

// written is an expression as it is written, in one line.
func written(tb testing.TB, files *token.FileSet, expression ast.Expr) string {
	tb.Helper()
	var text bytes.Buffer
	if err := format.Node(&text, files, expression); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// A guide that names a test, a file or a folder of the source names one that is there.
func TestGuidesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	names, err := docs.Pages()
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```.*?\n```")
	test := regexp.MustCompile("`(Test[A-Z][A-Za-z]+)`")
	path := regexp.MustCompile("`((?:config|core|docs|migrations|tasks|users|validations|workflows)/[a-z0-9_./-]+)`")
	for _, name := range names {
		page, _ := docs.Page(name)
		text := block.ReplaceAllString(string(page), "")
		for _, match := range test.FindAllStringSubmatch(text, -1) {
			if !isDeclared(t, match[1]) {
				t.Errorf("page %s names %s, which no test file declares", name, match[1])
			}
		}
		for _, match := range path.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(match[1]))); err != nil {
				t.Errorf("page %s names %s: %v", name, match[1], err)
			}
		}
	}
}
