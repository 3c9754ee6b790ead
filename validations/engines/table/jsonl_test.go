package table_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestJSONLines(t *testing.T) {
	t.Parallel()
	engine := step(t, `[{"name": "id", "constraints": {"required": true}}, {"name": "kwh", "type": "number"},
		{"name": "count", "type": "integer"}, {"name": "at", "type": "datetime"}, {"name": "ok", "type": "boolean"},
		{"name": "tags", "type": "array"}, {"name": "site", "type": "object"}]`)
	for name, tt := range map[string]struct {
		text string
		want []brief
	}{
		"Good": {
			`{"id": "a", "kwh": 1.5, "count": 5.0, "at": "2026-03-01T00:00:00Z", "ok": true, "tags": [1],` +
				` "site": {"a": 1}}`,
			[]brief{},
		},
		"MissingAndNull":     {`{"id": "a", "kwh": null}`, []brief{}},
		"TextOfANumber":      {`{"id": "a", "kwh": "1.5", "count": "7"}`, []brief{}},
		"LargeInteger":       {`{"id": "a", "count": 9007199254740993}`, []brief{}},
		"CarriageReturns":    {"{\"id\": \"a\"}\r\n{\"id\": \"b\"}\r\n", []brief{}},
		"EscapedName":        {`{"\u0069d": "a"}`, []brief{}},
		"ByteOrderMark":      {"\xef\xbb\xbf" + `{"id": "a"}`, []brief{}},
		"BlankLinesAtTheEnd": {"{\"id\": \"a\"}\n\n\n", []brief{}},
		"NoValue":            {`{"kwh": 1}`, []brief{{"csv.required", "id", 1, 1, 1, "id is missing"}}},
		"NumberForText":      {`{"id": 5}`, []brief{{"csv.type.string", "id", 1, 8, 1, `id "5" is not a string`}}},
		"TextForTruth": {
			`{"id": "a", "ok": "maybe"}`,
			[]brief{{"csv.type.boolean", "ok", 1, 19, 1, `ok "maybe" is not true or false`}},
		},
		"TruthForNumber": {
			`{"id": "a", "kwh": true}`,
			[]brief{{"csv.type.number", "kwh", 1, 20, 1, `kwh "true" is not a number`}},
		},
		"ObjectForArray": {
			`{"id": "a", "tags": {}}`,
			[]brief{{"csv.type.array", "tags", 1, 21, 1, `tags "{}" is not a JSON array`}},
		},
		"UnknownMemberOnce": {
			"{\"id\": \"a\", \"kwhh\": 1}\n{\"id\": \"b\", \"kwhh\": 1}",
			[]brief{{"csv.header.unknown", "kwhh", 1, 13, 1, `kwhh is not allowed; did you mean kwh?`}},
		},
		"BlankLine": {
			"{\"id\": \"a\"}\n\n{\"id\": \"b\"}",
			[]brief{{"csv.row.blank", "", 2, 1, 0, "1 blank line among the rows"}},
		},
		"NoObject": {
			"{\"id\": \"a\"}\n[1]\n{\"id\": 1}",
			[]brief{
				{"csv.malformed", "", 2, 1, 2, "the line is not a JSON object"},
				{"csv.type.string", "id", 3, 8, 3, `id "1" is not a string`},
			},
		},
		"Empty": {"", []brief{{"csv.empty", "", 0, 0, 0, "the table is empty"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, tt.want, briefs(run(t, engine, []byte(tt.text), mediatype.JSONLines)))
		})
	}
}

// A line that is no JSON object is an error at its line, and the lines after it are checked.
func TestMalformedJSONLines(t *testing.T) {
	t.Parallel()
	engine := step(t, `[{"name": "a"}]`)
	for _, line := range []string{
		`{"a": 1`, `{"a": "x"} {"a": "y"}`, `{"a": "x", "a": "y"}`, `{a: 1}`, `"a"`, `{"a": 01}`, `{"a": "\ud800"}`,
		"{\"a\": \"\xff\"}",
		`{"a": ` + strings.Repeat("[", 20_000), `{"b": {"c": 1, "c": 2}}`,
	} {
		report := run(t, engine, []byte(line+"\n{\"a\": 5}\n"), mediatype.JSONLines)
		if len(report.Findings) != 2 || report.Findings[0].Line != 1 || report.Findings[1].Line != 2 {
			t.Errorf("findings of %.60s = %+v, want one for each line", line, report.Findings)
		}
	}
	limits := engines.DefaultLimits()
	limits.MaxRecordBytes = 100
	bounded := compileWithin(t, engines.KindTable, `{"schema": {"fields": [{"name": "a"}]}}`, limits)
	long := run(t, bounded, []byte(`{"a": "`+strings.Repeat("x", 200)+`"}`), mediatype.JSONLines)
	same(t, []brief{{"csv.limit.record", "", 1, 1, 1, "row is longer than 100 bytes"}}, briefs(long))
}

func FuzzJSONLines(f *testing.F) {
	f.Add("{\"a\": \"x\"}\n\n[1]\n{\"b\": {}}")
	f.Add("\xef\xbb\xbf{\"a\": 1e400}\r\n{")
	engine := step(f, `[{"name": "a", "type": "number"}, {"name": "b", "type": "object"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, found := range run(t, engine, []byte(text), mediatype.JSONLines).Findings {
			if found.Line > strings.Count(text, "\n")+1 {
				t.Errorf("finding at line %d of %q", found.Line, text)
			}
		}
	})
}
