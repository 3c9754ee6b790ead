package table_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestTableRules(t *testing.T) {
	t.Parallel()
	const fields = `"schema": {"fields": [{"name": "low", "type": "number"}, {"name": "high", "type": "number"},
		{"name": "on", "type": "date"}, {"name": "ok", "type": "boolean"}, {"name": "n", "type": "integer"}]}`
	const table = "low,high,on,ok,n\n1,2,2026-01-01,true,1\n" +
		"3,2,2026-01-02,false,2\nx,2,2026-01-03,true,3\n4,,2026-01-04,true,4\n"
	broken := brief{"csv.type.number", "low", 4, 1, 3, `low "x" is not a number`}
	tests := []struct {
		name, rules string
		want        []brief
	}{
		{
			"BrokenCellsAreNotJudged", `"row_rules": [{"id": "order", "when": "row.high != null",
				"assert": "row.low <= row.high",
				"message": "{row.low} is above {row.high} on {row.on} {{n}}", "severity": "INFO"}]`,
			[]brief{{"rule.order", "", 3, 1, 2, "3 is above 2 on 2026-01-02T00:00:00Z {n}"}, broken},
		},
		{
			"WhatCannotBeEvaluatedIsNoPass", `"row_rules": [{"id": "order",
				"assert": "row.low <= row.high", "column": "high",
				"severity": "INFO"}]`,
			[]brief{
				{"rule.order", "high", 3, 3, 2, "the rule order does not hold: 3 is more than 2"},
				broken,
				{
					"rule.order", "high", 5, 3, 4,
					"not evaluated: it does not fit the types of the values, or a value is missing",
				},
			},
		},
		{
			"Types",
			`"row_rules": [{"id": "types",
				"assert": "row['ok'] || row.on < timestamp('2026-01-02T00:00:00Z') || row.n == 2"}]`,
			[]brief{broken},
		},
		{
			"Aggregates", `"dataset_rules": [{"id": "sums", "assert": "columns.low.sum == 9.0 && rows == 4",
				"message":
				"{columns['low'].sum} {columns.low.min} {columns.low.max} {columns.n.mean} {rows}"}]`,
			[]brief{broken, {"rule.sums", "", 0, 0, 0, "8 1 4 2.5 4"}},
		},
		{
			"AggregatesCompareWithWholeNumbers",
			`"dataset_rules": [{"id": "sums", "assert": "columns.low.sum > 8 && columns.n.count >= 4"}]`,
			[]brief{broken, {"rule.sums", "", 0, 0, 0, "the rule sums does not hold: 8 is not more than 8"}},
		},
		{
			"SumsAndTimesCompare",
			`"dataset_rules": [{"id": "sums", "assert": "columns.low.sum > 1 && columns.n.min >= 1 && ` +
				`columns.on.min > timestamp('2025-12-31') && columns.on.max < timestamp('2026-02-01T00:00:00Z')"}]`,
			[]brief{broken},
		},
		{
			"FunctionsOnRows",
			`"row_rules": [{"id": "sums", "assert": "row.high == null || sum([row.low, row.high]) < 5 && ` +
				`math.round(row.low) == row.low && row.on.getFullYear() == 2026 && string(row.n).matches('^[1-4]$')"}]`,
			[]brief{{"rule.sums", "", 3, 1, 2, "the rule sums does not hold"}, broken},
		},
		{
			"Counts", `"dataset_rules": [{"id": "most", "counts": {"yes": "row.ok", "late": "row.n > 2"},
				"assert": "share(counts.yes, count) < 0.5",
				"message": "{counts.yes} or {percent(counts.yes, rows)} %, {counts.late} late"}]`,
			[]brief{broken, {"rule.most", "", 0, 0, 0, "3 or 75.0 %, 2 late"}},
		},
		{
			"CountThatCannotBeEvaluated",
			`"dataset_rules": [{"id": "most", "counts": {"some": "row.high > 1.0"}, "assert": "true"}]`,
			[]brief{broken, {
				"rule.most", "", 0, 0, 0,
				"not evaluated: count some: it does not fit the types of the values, or a value is missing",
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, `{`+fields+`, `+tt.rules+`}`)
			same(t, tt.want, briefs(run(t, engine, []byte(table), "text/csv")))
		})
	}
	t.Run("NotEvaluatedIsAnErrorWhateverTheSeverity", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{`+fields+`,
			"row_rules": [{"id": "r", "assert": "row.low < row.high", "severity": "INFO"}]}`)
		report := run(t, engine, []byte("low,high,on,ok,n\n1,,,,\n"), "text/csv")
		same(t, engines.SeverityError, report.Findings[0].Severity)
		same(t, "r", report.Findings[0].AssertionID)
	})
}

// Which expressions are refused is shown by rules.TestRuleConfigurations.
func TestTableConfigurations(t *testing.T) {
	t.Parallel()
	const schema = `"schema": {"fields": [{"name": "a", "type": "number"}, {"name": "s", "type": "string"}]}`
	rule := func(body string) string { return `{` + schema + `, "row_rules": [{"id": "r", ` + body + `}]}` }
	dataset := func(body string) string { return `{` + schema + `, "dataset_rules": [{"id": "r", ` + body + `}]}` }
	tests := []struct{ name, config, pointer string }{
		{"NoFields", `{"schema": {"fields": []}}`, "/schema/fields"},
		{"UnknownType", `{"schema": {"fields": [{"name": "a", "type": "geography"}]}}`, "/schema/fields/0/type"},
		{"UnknownMember", `{"schema": {"fields": [], "foreignKey": []}}`, "/schema/foreignKey"},
		{
			"SameNameTwice",
			`{"schema": {"fields": [{"name": "a", "type": "date"}, {"name": "a", "type": "date"}]}}`,
			"/schema/fields/1/name",
		},
		{"MinimumOfStrings", oneColumn("string", `"minimum": 1`), "/schema/fields/1/constraints/minimum"},
		{"MinimumOfOtherType", oneColumn("date", `"minimum": 1`), "/schema/fields/1/constraints/minimum"},
		{"LengthOfNumbers", oneColumn("number", `"minLength": 1`), "/schema/fields/1/constraints"},
		{"EnumOfOtherType", oneColumn("number", `"enum": [1, "x"]`), "/schema/fields/1/constraints/enum/1"},
		{"Pattern", oneColumn("string", `"pattern": "("`), "/schema/fields/1/constraints/pattern"},
		{
			"LongPattern", oneColumn("string", `"pattern": "`+strings.Repeat("a", 2000)+`+"`),
			"/schema/fields/1/constraints/pattern",
		},
		{
			"KeyOfNothing", `{"schema": {"fields": [{"name": "a", "type": "date"}], "primaryKey": ["b"]}}`,
			"/schema/primaryKey",
		},
		{"Delimiter", `{` + schema + `, "dialect": {"delimiter": "::"}}`, "/dialect/delimiter"},
		{"Quote", `{` + schema + `, "dialect": {"delimiter": ";", "quote": ";"}}`, "/dialect/quote"},
		{"Encoding", `{` + schema + `, "dialect": {"encoding": "ebcdic"}}`, "/dialect/encoding"},
		{"RuleID", `{` + schema + `, "row_rules": [{"id": "A b", "assert": "true"}]}`, "/row_rules/0/id"},
		{
			"RuleIDTwice",
			`{` + schema + `, "row_rules": [{"id": "r", "assert": "true"}],
				"dataset_rules": [{"id": "r", "assert": "true"}]}`,
			"/dataset_rules/0/id",
		},
		{"RuleSeverity", rule(`"assert": "true", "severity": "FATAL"`), "/row_rules/0/severity"},
		{"RuleSyntax", rule(`"assert": "row.a >"`), "/row_rules/0/assert"},
		{"RuleVariable", rule(`"assert": "rows > 1"`), "/row_rules/0/assert"},
		{"RuleField", rule(`"assert": "row.b > 1"`), "/row_rules/0/assert"},
		{"RuleFieldByIndex", rule(`"assert": "row['b'] > 1"`), "/row_rules/0/assert"},
		{"RuleWhen", rule(`"assert": "true", "when": "row.zz"`), "/row_rules/0/when"},
		{"RuleColumn", rule(`"assert": "true", "column": "zz"`), "/row_rules/0/column"},
		{"RuleMessage", rule(`"assert": "true", "message": "{row.zz}"`), "/row_rules/0/message"},
		{
			"RuleTooCostly",
			rule(`"assert": "row.all(x, row.all(y, row[x] != row[y]) && row.s.matches('a*b*c*d*e*f*'))"`),
			"/row_rules/0/assert",
		},
		{"RulePattern", rule(`"assert": "row.s.matches('((a{1,100}){1,100}){1,100}')"`), "/row_rules/0/assert"},
		{"Count", dataset(`"assert": "counts.x > 1"`), "/dataset_rules/0/assert"},
		{"CountSyntax", dataset(`"assert": "true", "counts": {"x/y": "row."}`), "/dataset_rules/0/counts/x~1y"},
		{"Aggregate", dataset(`"assert": "columns.s.sum > 1.0"`), "/dataset_rules/0/assert"},
		{"AllAggregates", dataset(`"assert": "columns.size() > 1"`), "/dataset_rules/0/assert"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fault := refused(t, engines.KindTable, tt.config)
			if fault.Pointer != tt.pointer || fault.Code == "" || fault.Detail == "" {
				t.Errorf("fault = %+v, want one at %s", fault, tt.pointer)
			}
		})
	}
}
