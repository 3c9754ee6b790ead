package table_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestKeysOfTables(t *testing.T) {
	t.Parallel()
	const fields = `"fields": [{"name": "id"}, {"name": "parent"}, {"name": "site"}]`
	for name, tt := range map[string]struct {
		schema, rows string
		want         []brief
	}{
		"UniqueKeys": {
			`"uniqueKeys": ["id", ["parent", "site"]]`, "1,a,x\n1,a,y\n2,a,x\n",
			[]brief{
				{"csv.unique_key", "id", 3, 1, 2, "duplicate of row 1 (id)"},
				{"csv.unique_key", "parent", 4, 3, 3, "duplicate of row 1 (parent, site)"},
			},
		},
		"UniqueKeysWithoutAValue": {`"uniqueKeys": [["parent", "site"]]`, "1,,x\n2,,x\n", []brief{}},
		"OwnRows": {
			`"foreignKeys": [{"fields": "parent", "reference": {"resource": "", "fields": "id"}}]`,
			"1,2,x\n2,,x\n3,9,x\n4,9,x\n5,5,x\n",
			[]brief{{"csv.foreign_key", "parent", 4, 1, 3, `parent "9" is not a value of id in any row`}},
		},
		"OwnRowsOfTwo": {
			`"foreignKeys": [{"fields": ["parent", "site"], "reference": {"fields": ["id", "site"]}}]`,
			"1,,x\n2,1,x\n3,1,y\n",
			[]brief{{"csv.foreign_key", "parent", 4, 1, 3, `parent, site "1" is not a value of id, site in any row`}},
		},
		"OtherTable": {
			`"foreignKeys": [{"fields": "site", "reference": {"resource": "sites", "fields": "id"}}]`, "1,,x\n",
			[]brief{{
				"csv.foreign_key.not_checked", "site", 0, 0, 0,
				`references of site to the table "sites" are not checked: a step has one table`,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, `{"schema": {`+fields+`, `+tt.schema+`}}`)
			same(t, tt.want, briefs(run(t, engine, []byte("id,parent,site\n"+tt.rows), "text/csv")))
		})
	}
}

func TestFieldsMatch(t *testing.T) {
	t.Parallel()
	for match, want := range map[string]map[string]string{
		"":         {"a,b": "", "b,a": "", "a": "csv.header.missing", "a,b,c": "csv.header.unknown"},
		"equal":    {"a,b": "", "b,a": "", "a": "csv.header.missing", "a,b,c": "csv.header.unknown"},
		"exact":    {"a,b": "", "b,a": "csv.header.order", "a": "csv.header.missing", "a,b,c": "csv.header.unknown"},
		"subset":   {"a,b": "", "b,a": "", "a": "csv.header.missing", "c,a,b": ""},
		"superset": {"a,b": "", "b,a": "", "b": "", "a,b,c": "csv.header.unknown"},
		"partial":  {"a,b": "", "c,b": "", "a": "", "c,d": "csv.header.missing"},
	} {
		schema := `{"schema": {"fields": [{"name": "a"}, {"name": "b"}]}}`
		if match != "" {
			schema = strings.Replace(schema, `{"fields"`, `{"fieldsMatch": ["`+match+`"], "fields"`, 1)
		}
		engine := compile(t, engines.KindTable, schema)
		for header, code := range want {
			got := ""
			for _, f := range run(t, engine, []byte(header+"\n"), "text/csv").Findings {
				got = f.Code
			}
			if got != code {
				t.Errorf("fieldsMatch %q: finding of the header %s = %q, want %q", match, header, got, code)
			}
		}
	}
	fault := refused(t, engines.KindTable, `{"schema": {"fields": [{"name": "a"}], "fieldsMatch": "any"}}`)
	same(t, "/schema/fieldsMatch", fault.Pointer)
}

func TestRulesOverRows(t *testing.T) {
	t.Parallel()
	const fields = `"schema": {"fields": [{"name": "meter"}, {"name": "at", "type": "datetime"},
		{"name": "total", "type": "number"}]}`
	const head = "meter,at,total\n"
	rows := "A,2026-03-01T00:00:00,1\nB,2026-03-01T00:00:00,50\nA,2026-03-01T00:15:00,2\n" +
		"B,2026-03-01T00:15:00,49\nA,2026-03-01T00:45:00,3\nB,2026-03-01T00:30:00,x\nB,2026-03-01T00:45:00,60\n"
	for name, tt := range map[string]struct {
		rules string
		want  []brief
	}{
		"Monotone": {
			`"row_rules": [{"id": "grows", "group": ["meter"], "assert": "row.total >= previous.total",
				"message": "{row.total} after {previous.total}", "column": "total"}]`,
			[]brief{{"rule.grows", "total", 5, 23, 4, "49 after 50"}},
		},
		"GapsInIntervals": {
			`"row_rules": [{"id": "gap", "group": ["meter"], "assert": "row.at - previous.at == duration('15m')",
				"column": "at"}]`,
			[]brief{{"rule.gap", "at", 6, 3, 5, "the rule gap does not hold: 1800s is not 900s"}},
		},
		"WithoutGroup": {
			`"row_rules": [{"id": "other", "assert": "row.meter != previous.meter", "column": "meter"}]`,
			[]brief{{"rule.other", "meter", 8, 1, 7, `the rule other does not hold: "B" equals "B"`}},
		},
		"SumsOfGroups": {
			`"dataset_rules": [{"id": "sum", "group": ["meter"], "assert": "columns.total.sum < 100.0 && rows == 3",
				"message": "{group.meter}: {columns.total.sum} of {rows}"}]`,
			[]brief{{"rule.sum", "", 0, 0, 0, "B: 159 of 4"}},
		},
		"CountsOfGroups": {
			`"dataset_rules": [{"id": "low", "group": ["meter"], "counts": {"low": "row.total < 10.0"},
				"assert": "counts.low == 0"}]`,
			[]brief{{"rule.low", "", 0, 0, 0, "the rule low does not hold: 3 is not 0"}},
		},
		"SpanOfTimes": {
			`"dataset_rules": [{"id": "span", "assert": "columns.at.max - columns.at.min <= duration('30m')",
				"message": "{columns.at.min} to {columns.at.max}"}]`,
			[]brief{{"rule.span", "", 0, 0, 0, "2026-03-01T00:00:00Z to 2026-03-01T00:45:00Z"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, `{`+fields+`, `+tt.rules+`}`)
			report := run(t, engine, []byte(head+rows), "text/csv")
			found := []brief{}
			for _, f := range briefs(report) {
				if f.Code != "csv.type.number" {
					found = append(found, f)
				}
			}
			same(t, tt.want, found)
		})
	}
}

// More groups than memory is allowed for are no verdict, and never a pass.
func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxUniqueBytes = 64 << 10
	var rows strings.Builder
	rows.WriteString("id,parent\n")
	for i := range 2000 {
		fmt.Fprintf(&rows, "k%d,m%d\n", i, i)
	}
	for id, rule := range map[string]string{
		"row":  `"row_rules": [{"id": "row", "group": ["id"], "assert": "row.id == previous.id"}]`,
		"sums": `"dataset_rules": [{"id": "sums", "group": ["id"], "assert": "rows == 1"}]`,
	} {
		config := `{"schema": {"fields": [{"name": "id"}, {"name": "parent"}]}, ` + rule + `}`
		engine := compileWithin(t, engines.KindTable, config, limits)
		message := "not evaluated: the table has too many groups: the memory for them is used up"
		report := run(t, engine, []byte(rows.String()), "text/csv")
		same(t, []brief{{Code: "rule." + id, Message: message}}, briefs(report))
	}
	keys := compileWithin(t, engines.KindTable, `{"schema": {"fields": [{"name": "id"}, {"name": "parent"}],
		"foreignKeys": [{"fields": "parent", "reference": {"fields": "id"}}]}}`, limits)
	report := run(t, keys, []byte(rows.String()), "text/csv")
	if len(report.Findings) != 1 || report.Findings[0].Code != "csv.limit.unique" {
		t.Errorf("findings = %+v, want the limit", report.Findings)
	}
}
