package table_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestHostileTables(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", "type": "string",
		"constraints": {"pattern": "(.{0,500}){0,2}z"}}]}}`)
	tests := []struct {
		name, table string
		want        brief
	}{
		{
			"EndlessQuotedField", "a\nz\n\"" + strings.Repeat("x\n", 5<<20),
			brief{"csv.limit.record", "", 3, 1, 2, "row is longer than 1048576 bytes; is a quote not closed?"},
		},
		{
			"MillionColumns", strings.Repeat("a,", 1_000_000),
			brief{"csv.limit.columns", "", 1, 1, 0, "row has more than 1000 fields; the rest is not read"},
		},
		{
			"CostlyPattern", "a\n" + strings.Repeat("x", 200_000),
			brief{
				"csv.pattern", "a", 2, 1, 1,
				"a was not evaluated: the pattern costs too much on a text of this length",
			},
		},
		{
			"Binary", "\x89PNG\r\n\x1a\n",
			brief{"csv.encoding", "", 1, 1, 0, "the header is not text in the table's encoding"},
		},
		{
			"LoneSurrogate", "\xff\xfea\x00\x00\xd8\n\x00",
			brief{"csv.encoding", "", 1, 2, 0, "the header is not text in the table's encoding"},
		},
		{
			"Spreadsheet", "PK\x03\x04\x14\x00\"\n",
			brief{
				"csv.encoding", "", 1, 1, 0, "the file is not CSV: it looks like a spreadsheet (.xlsx, .ods) " +
					"or a ZIP archive; send .xlsx as such, or export the sheet as CSV",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{tt.want}, briefs(run(t, engine, []byte(tt.table), "text/csv")))
		})
	}

	t.Run("RowsAndBytes", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxRows, limits.MaxTableBytes, limits.MaxCells = 2, 100, 3
		bounded := compileWithin(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", "type": "string"}]},
			"dataset_rules": [{"id": "all", "assert": "count > 0"}]}`, limits)
		same(t, []brief{
			{"csv.limit.rows", "", 4, 1, 2, "the table has more than 2 rows of 1 column; the rest is not checked"},
			{"rule.all", "", 0, 0, 0, "not evaluated: the table was not read to its end"},
		}, briefs(run(t, bounded, []byte("a\n1\n2\n3\n4\n"), "text/csv")))
		wide := compileWithin(t, engines.KindTable, `{"schema": {"fields": [{"name": "a"}, {"name": "b"}]}}`, limits)
		same(t, []brief{
			{"csv.limit.rows", "", 2, 1, 1, "the table has more than 1 row of 2 columns; the rest is not checked"},
		}, briefs(run(t, wide, []byte("{}\n{}\n"), mediatype.JSONLines)))
		report := run(t, bounded, []byte(strings.Repeat("a\n", 51)), "text/csv")
		same(t, []brief{
			{"csv.limit.bytes", "", 0, 0, 0, "the table has 102 bytes, at most 100 are checked"},
		}, briefs(report))
	})

	t.Run("RuleThatBurnsTime", func(t *testing.T) {
		t.Parallel()
		burning := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", "type": "string"}]},
			"row_rules": [{"id": "burn",
				"assert": "row.a.matches('(a*)*(b*)*(c*)*$') && row.a.contains(row.a + row.a) || true"}]}`)
		report := run(t, burning, []byte("a\nx\n"+strings.Repeat("a", 1_000_000)+"\n"), "text/csv")
		same(t, []brief{{"rule.burn", "a", 3, 1, 2, "not evaluated: it costs too much"}}, briefs(report))
	})

	t.Run("ContentThatEndsEarlyIsNoPass", func(t *testing.T) {
		t.Parallel()
		for _, step := range []engines.Engine{engine, compile(t, engines.KindJSONSchema, `{"schema": {}}`)} {
			_, err := step.Run(t.Context(), engines.Document{Content: strings.NewReader("a\nz\n"), Size: 10})
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error = %v, want unexpected EOF", err)
			}
		}
	})
}
