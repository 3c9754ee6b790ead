package table_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/enginetest"
)

// oneColumn is a table step with the column v of a type.
func oneColumn(kind, constraints string) string {
	return `{"schema": {"fields": [{"name": "n", "type": "string"},
		{"name": "v", "type": "` + kind + `", "constraints": {` + constraints + `}}]}}`
}

func TestTableTypesAndConstraints(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, kind, constraints string
		good                    []string
		bad                     string
		code, message           string
	}{
		{
			"Number", "number", ``,
			[]string{"1", "-1.5", "+.5", "1e3", ""},
			"0x10", "csv.type.number",
			`v "0x10" is not a number`,
		},
		{
			"NumberNaN", "number", ``,
			[]string{"0"},
			"NaN", "csv.type.number",
			`v "NaN" is not a number; list it in "missingValues" if it stands for a missing value`,
		},
		{
			"NumberTooLarge", "number", ``,
			[]string{"1e308"},
			"1e400", "csv.type.number",
			`v "1e400" is outside the range of numbers, about ±1.8e308`,
		},
		{
			"Integer", "integer", ``,
			[]string{"1", "-5", "+7", "9223372036854775807"},
			"1.5", "csv.type.integer",
			`v "1.5" is not an integer`,
		},
		{
			"DatetimeWithShortHour", "datetime", ``,
			[]string{"2026-03-01T01:00:00Z", "2026-03-01T01:00:00.5+01:00"},
			"2026-03-01T1:00:00Z", "csv.type.datetime",
			`v "2026-03-01T1:00:00Z" is not a valid date-time`,
		},
		{
			"IntegerTooLarge", "integer", ``,
			[]string{"0"},
			"9223372036854775808", "csv.type.integer",
			`v "9223372036854775808" does not fit into a 64-bit integer; the type number accepts it`,
		},
		{
			"Boolean", "boolean", ``,
			[]string{"true", "False", "1"},
			"yes", "csv.type.boolean",
			`v "yes" is not true or false`,
		},
		{
			"Date", "date", ``,
			[]string{"2024-02-29"},
			"2026-02-29", "csv.type.date",
			`v "2026-02-29" is not a valid date`,
		},
		{
			"Datetime", "datetime", ``,
			[]string{"2026-03-01T00:00:00Z", "2026-03-01T00:00:00.5+02:00"},
			"2026-03-01",
			"csv.type.datetime", `v "2026-03-01" is not a valid date-time`,
		},
		{"Required", "string", `"required": true`, []string{"x"}, "", "csv.required", "v is missing"},
		{"Minimum", "number", `"minimum": 0.5`, []string{"0.5"}, "0.49", "csv.minimum", "v 0.49 is less than 0.5"},
		{
			"Maximum", "integer", `"maximum": 9007199254740992`,
			[]string{"9007199254740992"},
			"9007199254740993",
			"csv.maximum", "v 9007199254740993 is more than 9007199254740992",
		},
		{
			"MaximumBeyondDoubles", "number", `"maximum": 9007199254740992`,
			[]string{"9007199254740992", "9007199254740992.0", "9.007199254740992e15"},
			"9007199254740993",
			"csv.maximum", "v 9007199254740993 is more than 9007199254740992",
		},
		{
			"EnumBeyondDoubles", "number", `"enum": ["0.1", "0.30000000000000001"]`,
			[]string{"0.10", "1e-1", "0.300000000000000010"},
			"0.1000000000000000055",
			"csv.enum", `v "0.1000000000000000055" is not one of 0.1, 0.30000000000000001`,
		},
		{
			"MinimumDate", "date", `"minimum": "2026-01-01"`,
			[]string{"2026-01-01"},
			"2025-12-31", "csv.minimum",
			"v 2025-12-31 is less than 2026-01-01",
		},
		{
			"MaximumDatetime", "datetime", `"maximum": "2026-01-01T00:00:00Z"`,
			[]string{"2026-01-01T01:00:00+01:00"},
			"2026-01-01T00:00:01Z", "csv.maximum", "v 2026-01-01T00:00:01Z is more than 2026-01-01T00:00:00Z",
		},
		{
			"MinLength", "string", `"minLength": 2`,
			[]string{"éé", ""},
			"é", "csv.min_length",
			`v "é" has 1 character, at least 2 needed`,
		},
		{
			"MaxLength", "string", `"maxLength": 2`,
			[]string{"éé"},
			"abc", "csv.max_length",
			`v "abc" has 3 characters, at most 2 allowed`,
		},
		{"Pattern", "string", `"pattern": "^a+$"`, []string{"aa"}, "b", "csv.pattern", `v "b" does not match ^a+$`},
		{
			"PatternIsOfTheWholeValue", "string", `"pattern": "[0-9]{2}|x"`,
			[]string{"12", "x"},
			"x12y", "csv.pattern",
			`v "x12y" does not match [0-9]{2}|x`,
		},
		{"Enum", "string", `"enum": ["A", "B"]`, []string{"A"}, "C", "csv.enum", `v "C" is not one of A, B`},
		{
			"EnumOfNumbers", "number", `"enum": [1, 2.5]`,
			[]string{"1.0", "2.50"},
			"2", "csv.enum",
			`v "2" is not one of 1, 2.5`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, oneColumn(tt.kind, tt.constraints))
			table := "n,v\n" + "ok," + strings.Join(tt.good, "\nok,") + "\n"
			same(t, []brief{}, briefs(run(t, engine, []byte(table), "text/csv")))
			report := run(t, engine, []byte("n,v\nbäd,"+tt.bad+"\n"), "text/csv")
			same(t, []brief{{tt.code, "v", 2, 5, 1, tt.message}}, briefs(report))
		})
	}
}

// TestBlankRowOfARequiredColumn has a line that would be a missing key if it had a pair of quotes.
func TestBlankRowOfARequiredColumn(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, `{"schema": {"fields": [
		{"name": "id", "type": "string", "constraints": {"required": true, "unique": true}}]}}`)
	same(t, []brief{{"csv.row.blank", "", 3, 1, 0, "1 blank line among the rows"}},
		briefs(run(t, engine, []byte("id\na\n\nb\n"), "text/csv")))
	same(t, []brief{{"csv.required", "id", 3, 1, 2, "id is missing"}},
		briefs(run(t, engine, []byte("id\na\n\"\"\nb\n"), "text/csv")))
}

// TestRowsOfDelimitersAreBlank has rows as spreadsheets export them from formatted cells without values.
func TestRowsOfDelimitersAreBlank(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "a"}, {"name": "b", "type": "number"}]},
		"dataset_rules": [{"id": "valid", "assert": "rows == 5 && count == 3"}]}`)
	same(t, []brief{
		{"csv.row.blank", "", 3, 1, 2, "the row has no values"},
		{"csv.row.blank", "", 6, 1, 5, "the row has no values"},
	}, briefs(run(t, engine, []byte("a,b\nx,1\n,\n,2\n y,\n\"\",\"\"\n"), "text/csv")))
}

func TestTableUniqueness(t *testing.T) {
	t.Parallel()
	t.Run("ComparesValuesInsteadOfTexts", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, oneColumn("number", `"unique": true`))
		report := run(t, engine, []byte("n,v\na,1\nb,\nc,1.0\nd,\n"), "text/csv")
		same(t, []brief{{"csv.unique", "v", 4, 3, 3, `v "1.0" is a duplicate of row 1`}}, briefs(report))
	})

	t.Run("ComparesEveryDigit", func(t *testing.T) {
		t.Parallel()
		for mediaType, table := range map[string]string{
			"text/csv": "n,v\na,123456789012345678\nb,123456789012345679\nc,1.23456789012345678e17\nd,0.1\n" +
				"e,0.1000000000000000055\nf,-0\ng,0.0000000000000000\n",
			mediatype.JSONLines: `{"n": "a", "v": 123456789012345678}` + "\n" + `{"v": 123456789012345679}` + "\n" +
				`{"v": 123456789012345678.0}` + "\n" + `{}` + "\n{}\n" + `{"v": 0}` + "\n" + `{"v": 0e0}`,
		} {
			engine := compile(t, engines.KindTable, oneColumn("number", `"unique": true`))
			report := run(t, engine, []byte(table), mediaType)
			var duplicates []int
			for _, f := range report.Findings {
				if f.Code == "csv.unique" {
					duplicates = append(duplicates, f.Row)
				}
			}
			same(t, []int{3, 7}, duplicates)
		}
	})

	t.Run("RepeatsTheValueAsItIs", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, oneColumn("string", `"unique": true`))
		report := run(t, engine, []byte("n,v\na,5%d\nb,5%d\n"), "text/csv")
		same(t, []brief{{"csv.unique", "v", 3, 3, 2, `v "5%d" is a duplicate of row 1`}}, briefs(report))
	})

	t.Run("KeyMustBeComplete", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{
			"schema": {"fields": [{"name": "n", "type": "string"}], "primaryKey": "n"}}`)
		report := run(t, engine, []byte("n\na\n\"\"\na\n"), "text/csv")
		same(t, []brief{
			{"csv.primary_key", "n", 3, 1, 2, "n is part of the primary key and is missing"},
			{"csv.primary_key", "n", 4, 1, 3, "duplicate of row 1 (n)"},
		}, briefs(report))
	})

	t.Run("PartsOfTheKeyDoNotRunTogether", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "a", "type": "string"},
			{"name": "b", "type": "string"}], "primaryKey": ["a", "b"]}}`)
		same(t, []brief{}, briefs(run(t, engine, []byte("a,b\nxy,z\nx,yz\n"), "text/csv")))
	})

	t.Run("SaysWhenItsMemoryIsSpent", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxUniqueBytes = 2000
		engine := compileWithin(t, engines.KindTable, oneColumn("integer", `"unique": true`), limits)
		report := run(t, engine, []byte("n,v\n"+strings.Repeat("a,1\nb,2\n", 1)+manyRows(100)), "text/csv")
		codes := map[string]int{}
		for _, f := range report.Findings {
			codes[f.Code]++
		}
		if codes["csv.limit.unique"] != 1 {
			t.Errorf("codes = %v, want one csv.limit.unique", codes)
		}
	})
}

func TestTableHeader(t *testing.T) {
	t.Parallel()
	const step = `{"schema": {"fields": [{"name": "name", "type": "string"}, {"name": "area", "type": "number"}],
		"primaryKey": "name"},
		"row_rules": [{"id": "small", "assert": "row.area < 5.0"}],
		"dataset_rules": [{"id": "sum", "assert": "columns.area.sum < 100.0"}]}`
	tests := []struct {
		name, table string
		want        []brief
	}{
		{"AnyOrder", "area,name\n1,a\n", []brief{}},
		{"MistypedName", "name,aera\na,1\n", []brief{
			{"csv.header.unknown", "aera", 1, 6, 0, "aera is not allowed; did you mean area?"},
			{"csv.header.missing", "area", 1, 1, 0, "the header lacks the column area"},
			{"rule.small", "", 0, 0, 0, "not evaluated: it needs the column area, which is missing"},
			{"rule.sum", "", 0, 0, 0, "not evaluated: it needs the column area, which is missing"},
		}},
		{"TwiceAndEmpty", "name,area,name,\na,1,b,\n", []brief{
			{"csv.header.duplicate", "name", 1, 11, 0, "name occurs twice"},
			{"csv.header.empty", "", 1, 16, 0, "field 4 of the header has no name"},
		}},
		{"NothingAtAll", "", []brief{
			{"csv.empty", "", 0, 0, 0, "the table is empty"},
			{"rule.sum", "", 0, 0, 0, "not evaluated: it needs the column area, which is missing"},
		}},
		{"HeaderOnly", "name,area", []brief{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, tt.want, briefs(run(t, compile(t, engines.KindTable, step), []byte(tt.table), "text/csv")))
		})
	}
}

func TestTableRunsAtOnce(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, string(sample(t, "schemas/meter-readings.table-step.json")))
	enginetest.RunAtOnce(t, engine, "text/csv",
		map[int][]byte{8: sample(t, "bad/meter-readings.csv"), 0: sample(t, "good/meter-readings.csv")})
}

func TestTableFoldsWhatFailsOften(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, oneColumn("integer", ``))
	report := run(t, engine, []byte("n,v\n"+strings.Repeat("a,x\n", 5000)+"a,1\n"), "text/csv")
	if report.Errors != 5000 || !report.Truncated || len(report.Findings) != 101 {
		t.Fatalf("errors = %d, truncated = %t, findings = %d, want 5000, true, 101",
			report.Errors, report.Truncated, len(report.Findings))
	}
	last := report.Findings[100]
	same(t, "v csv.type.integer failed 5000 times in total; 4900 of the failures are not listed "+
		"individually", last.Message)
	same(t, []int{101, 102, 103, 104, 105, 106, 107, 108, 109, 110}, last.SampleRows)
	same(t, 5000, last.Count)
}

func TestTableShowsAnErrorBehindManyWarnings(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "v", "type": "string"}]},
		"row_rules": [{"id": "long", "severity": "WARNING", "assert": "row.v.size() > 1"}]}`)
	report := run(t, engine, []byte("v\n"+strings.Repeat("x\n", 200)+`""`+"\n"), "text/csv")
	errors := slices.DeleteFunc(report.Findings, func(f engines.Finding) bool {
		return f.Severity != engines.SeverityError
	})
	same(t, 1, report.Errors)
	if len(errors) != 1 || errors[0].Line != 202 {
		t.Errorf("findings of severity ERROR = %+v, want the one of line 202", errors)
	}
}

func manyRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "row,%d\n", i+10)
	}
	return b.String()
}
