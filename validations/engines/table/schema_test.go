package table_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// oneField is a table step with the column v, described by the members of its field.
func oneField(members string) string {
	return `{"schema": {"fields": [{"name": "v", ` + members + `}]}}`
}

// column is a table with the column v.
func column(t *testing.T, values ...string) []byte {
	t.Helper()
	var text strings.Builder
	writer := csv.NewWriter(&text)
	for _, value := range append([]string{"v"}, values...) {
		if err := writer.Write([]string{value}); err != nil {
			t.Fatalf("write a row: %v", err)
		}
	}
	writer.Flush()
	return []byte(text.String())
}

func TestTableSchemaTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, field string
		good, bad   []string
		words       string
	}{
		{
			"DatetimeWithoutZone", `"type": "datetime"`,
			[]string{
				"2026-01-01T00:15:00", "2026-01-01T00:15:00.25", "2026-01-01T00:15:00-05:00",
				"2026-01-01T00:15:00+23:59",
			},
			[]string{
				"2026-01-01 00:15:00", "2026-01-01T24:15:00", "2026-01-01T1:15:00", "2026-01-01T00:15",
				"2026-01-01T00:15:00-24:00", "2026-01-01T00:15:00+01:60", "2026-01-01T00:15:00,5",
			},
			"is not a valid date-time",
		},
		{
			"DatetimeByPattern", `"type": "datetime", "format": "%Y-%m-%d %H:%M:%S"`,
			[]string{"2026-01-01 00:15:00", "2026-1-1 0:15:00"},
			[]string{
				"2026-01-01T00:15:00", "2026-02-30 00:15:00", "2026-01-01 00:15:00.5", "2026-01-01 00:15:00Z",
				"2026-01-01 00:15:00.000", "2026-01-01 00:15:60", "2026-01-01 00:60:00", "2026-01-01 24:00:00",
				"2026-01-01 00:15:00 ", "2026-01-01", "2026-00-01 00:15:00",
			},
			"is not a valid date-time such as 2026-03-01 06:00:00",
		},
		{
			"DatetimeOfLogs", `"type": "datetime", "format": "%Y-%m-%d %H:%M:%S,%f"`,
			[]string{"2026-01-01 00:15:00,123", "2026-01-01  00:15:00,123456"},
			[]string{"2026-01-01 00:15:00.123", "2026-01-01 00:15:00"},
			"is not a valid date-time such as 2026-03-01 06:00:00,000000",
		},
		{
			"DatetimeWithZoneAndFraction", `"type": "datetime", "format": "%d/%b/%Y:%H:%M:%S.%f %z"`,
			[]string{"01/Jan/2026:00:15:00.5 +0100", "01/Jan/2026:00:15:00.25 -05:00", "01/Jan/2026:00:15:00.1 Z"},
			[]string{
				"01/Jan/2026:00:15:00.5", "01/01/2026:00:15:00.5 +0100", "01/Jan/2026:00:15:00 Z",
				"01/Jan/2026:00:15:00,5 Z", "01/Jan/2026:00:15:00.5 +2400", "01/Jan/2026:00:15:00.5 +01:60",
				"01/Jan/2026:00:15:00.5 +1", "01/Jan/2026:00:15:00.5 +01:0", "01/Jan/2026:00:15:00. Z",
			},
			"is not a valid date-time such as 01/Mar/2026:06:00:00.000000 +0000",
		},
		{
			"DatetimeAny", `"type": "datetime", "format": "any"`,
			[]string{
				"2026-01-01 00:15", "2026/1/1 12:15 pm", "2026-01-01T00:15:00+01:00", "1 January 2026 00:15:00",
				"2026-01-01T00:15:00.5Z",
			},
			[]string{"01/02/2026 00:15", "yesterday", "2026-01-01 00:5", "2026-01-01 00:15:5", "2026-01-01 0:15 AM"},
			"is not a valid date-time",
		},
		{
			"DateByPattern", `"type": "date", "format": "%d.%m.%y"`,
			[]string{"31.12.26", "1.2.99"},
			[]string{"12.31.26", "31.12.2026", "2026-12-31"},
			"is not a valid date such as 01.03.26",
		},
		{
			"DateWithoutSeparators", `"type": "date", "format": "%Y%m%d"`,
			[]string{"20261231"},
			[]string{"2026123", "2026-12-31"},
			"is not a valid date such as 20260301",
		},
		{
			"DateOfYear", `"type": "date", "format": "%Y-%j"`,
			[]string{"2024-366", "2026-1", "2026-365"},
			[]string{"2026-366", "2024-367", "2026-0", "2026"},
			"is not a valid date such as 2026-060",
		},
		{
			"DateWithNames", `"type": "date", "format": "%a, %d %b %Y"`,
			[]string{"Mon, 02 Jan 2026", "mon, 2 JAN 2026"},
			[]string{"Monday, 2 Jan 2026", "Mon, 2 January 2026", "Mon, 29 Feb 2026", "Mon 2 Jan 2026"},
			"is not a valid date such as Sun, 01 Mar 2026",
		},
		{
			"DateWithUnderscores", `"type": "date", "format": "%Y_%m_%d"`,
			[]string{"2026_12_31"},
			[]string{"2026_12_ 1", "2026-12-31"},
			"is not a valid date such as 2026_03_01",
		},
		{
			"DateAny", `"type": "date", "format": "any"`,
			[]string{"2026-01-02", "2026/1/2", "20260102", "2 January 2026", "2 Jan 2026", "January 2, 2026"},
			[]string{"01/02/2026", "2.1.2026"},
			"is not a valid date",
		},
		{
			"Time", `"type": "time"`,
			[]string{"00:00:00", "23:59:59.5"},
			[]string{"24:00:00", "7:00:00", "07:00"},
			"is not a valid time",
		},
		{
			"TimeByPattern", `"type": "time", "format": "%I:%M %p"`,
			[]string{"7:00 AM", "12:30 PM", "07:00 am"},
			[]string{"13:00 PM", "07:00", "0:00 AM", "7:00AM", "7:00 XM"},
			"is not a valid time such as 06:00 AM",
		},
		{
			"TimeAny", `"type": "time", "format": "any"`,
			[]string{"07:00", "7:00 PM"},
			[]string{"7 h"},
			"is not a valid time",
		},
		{
			"Year", `"type": "year"`,
			[]string{"2026", "-0044", "12026"},
			[]string{"26", "2026.5", "+2026", "02026"},
			"is not a valid year",
		},
		{
			"YearMonth", `"type": "yearmonth"`,
			[]string{"2026-12"},
			[]string{"2026-13", "2026", "2026-1"},
			"is not a valid month of a year",
		},
		{
			"Object", `"type": "object"`,
			[]string{`{"a": [1]}`, "{}"},
			[]string{"[]", `{"a": 1`, "{a: 1}", `{"a": 1, "a": 2}`},
			"is not a JSON object",
		},
		{"Array", `"type": "array"`, []string{"[1, {}]", " []"}, []string{"{}", "[1,]", "1"}, "is not a JSON array"},
		{
			"Geopoint", `"type": "geopoint"`,
			[]string{"-122.4, 37.8", "180,-90"},
			[]string{"180.1, 0", "0, 90.1", "1", "a, b"},
			"is not a valid point",
		},
		{
			"GeopointArray", `"type": "geopoint", "format": "array"`,
			[]string{"[-122.4, 37.8]"},
			[]string{"[1]", "-122.4, 37.8", `["x", 1]`},
			"is not a valid point",
		},
		{
			"GeopointObject", `"type": "geopoint", "format": "object"`,
			[]string{`{"lon": -122.4, "lat": 37.8}`},
			[]string{`{"lon": 1}`, "[1, 2]"},
			"is not a valid point",
		},
		{
			"EuropeanNumber", `"type": "number", "decimalChar": ",", "groupChar": "."`,
			[]string{"1.234.567,5", "1234,5", "-0,5", "1.234"},
			[]string{"1.5", "1,234,567", "12.34", "1.2345"},
			"is not a number such as 1.234,5",
		},
		{
			"NumberWithUnit", `"type": "number", "bareNumber": false`,
			[]string{"€ 95", "95%", "-5.5 kWh", "1.5"},
			[]string{"kWh", "1 to 2"},
			"is not a number such as 20.5",
		},
		{
			"IntegerWithGroups", `"type": "integer", "groupChar": " "`,
			[]string{"1 000 000", "1000", "1 00 000"},
			[]string{"10 00", "1 000.5"},
			"is not an integer such as 1 234",
		},
		{
			"Boolean", `"type": "boolean", "trueValues": ["ja"], "falseValues": ["nein", "n"]`,
			[]string{"ja", "n"},
			[]string{"true", "0"},
			"is not true or false",
		},
		{
			"Email", `"type": "string", "format": "email"`,
			[]string{"a@b.c"},
			[]string{"a", "A <a@b.c>"},
			"is not a valid email",
		},
		{
			"URI", `"type": "string", "format": "uri"`,
			[]string{"https://example.com/a?b", "urn:x:y"},
			[]string{"/a", "http://a b"},
			"is not a valid uri",
		},
		{
			"UUID", `"type": "string", "format": "uuid"`,
			[]string{"01890a5d-ac96-774b-bcce-b302099a8057"},
			[]string{"01890a5d"},
			"is not a valid uuid",
		},
		{"Binary", `"type": "string", "format": "binary"`, []string{"aGk="}, []string{"aGk"}, "is not a valid binary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, oneField(tt.field))
			same(t, []brief{}, briefs(run(t, engine, column(t, tt.good...), "text/csv")))
			report := run(t, engine, column(t, tt.bad...), "text/csv")
			same(t, len(tt.bad), len(report.Findings))
			for i, f := range report.Findings {
				same(t, `v "`+tt.bad[i]+`" `+tt.words, f.Message)
			}
		})
	}
}

func TestTableSchemaConstraints(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, field string
		good        []string
		bad, words  string
	}{
		{"NoType", `"constraints": {"minLength": 2}`, []string{"ab"}, "a", `"a" has 1 character, at least 2 needed`},
		{
			"ExclusiveMinimum", `"type": "number", "constraints": {"exclusiveMinimum": 0}`,
			[]string{"0.1"},
			"0", "0 is not more than 0",
		},
		{
			"ExclusiveMaximum", `"type": "date", "constraints": {"exclusiveMaximum": "2026-01-01"}`,
			[]string{"2025-12-31"},
			"2026-01-01", "2026-01-01 is not less than 2026-01-01",
		},
		{
			"BoundIsWrittenAsTheValues",
			`"type": "date", "format": "%d.%m.%Y", "constraints": {"minimum": "01.02.2026"}`,
			[]string{"01.02.2026"},
			"31.01.2026", "31.01.2026 is less than 01.02.2026",
		},
		{
			"BoundIsWrittenAsInJSON",
			`"type": "number", "decimalChar": ",", "constraints": {"maximum": 0.5}`,
			[]string{"0,5"},
			"0,6", "0,6 is more than 0.5",
		},
		{
			"EnumOfTimes", `"type": "time", "format": "any", "constraints": {"enum": ["07:00"]}`,
			[]string{"7:00 AM"},
			"07:01", `"07:01" is not one of 07:00`,
		},
		{
			"EnumOfArrays", `"type": "array", "constraints": {"enum": [[1, 2]]}`,
			[]string{"[1.0,2]"},
			"[2]", `"[2]" is not one of [1, 2]`,
		},
		{
			"MaximumYear", `"type": "year", "constraints": {"maximum": 2026}`,
			[]string{"0999"},
			"2027", "2027 is more than 2026",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, oneField(tt.field))
			same(t, []brief{}, briefs(run(t, engine, column(t, tt.good...), "text/csv")))
			report := run(t, engine, column(t, tt.bad), "text/csv")
			same(t, 1, len(report.Findings))
			same(t, "v "+tt.words, report.Findings[0].Message)
		})
	}

	t.Run("SameValuesAreDuplicatesHoweverWritten", func(t *testing.T) {
		t.Parallel()
		for field, values := range map[string][]string{
			`"type": "time", "format": "any"`: {"07:00", "7:00 AM"},
			`"type": "object"`:                {`{"a": 1, "b": 2}`, `{"b":2,"a":1}`},
			`"type": "geopoint"`:              {"1, 2", "1.0,2"},
		} {
			engine := compile(t, engines.KindTable, oneField(field+`, "constraints": {"unique": true}`))
			report := run(t, engine, column(t, values...), "text/csv")
			if len(report.Findings) != 1 || report.Findings[0].Code != "csv.unique" {
				t.Errorf("findings of %s = %+v, want csv.unique", field, report.Findings)
			}
		}
	})

	t.Run("RulesReadTimesOfDayAsTexts", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "v", "type": "time", "format": "any"},
			{"name": "y", "type": "year"}]},
			"row_rules": [{"id": "day", "assert": "row.v < '08:00:00' && row.y > 2000"}]}`)
		report := run(t, engine, []byte("v,y\n7:59 AM,2026\n08:00,2026\n"), "text/csv")
		const message = `the rule day does not hold: "08:00:00" is not less than "08:00:00"`
		same(t, []brief{{"rule.day", "", 3, 1, 2, message}}, briefs(report))
	})

	t.Run("AnnotationsAreIgnored", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindTable, `{"schema": {"$schema": "https://example.com/tableschema.json",
			"name": "n", "title": "T", "description": "D", "homepage": "h", "version": "1", "created": "2026",
			"keywords": [], "sources": [], "licenses": [], "contributors": [],
			"fields": [{"name": "v", "type": "integer", "title": "V",
			"description": "d", "rdfType": "r", "example": 1, "examples": [1]}], "missingValues": ["", "-"]}}`)
		same(t, []brief{}, briefs(run(t, engine, column(t, "1", "-"), "text/csv")))
	})
}

func TestTableSchemasThatAreRefused(t *testing.T) {
	t.Parallel()
	for field, pointer := range map[string]string{
		`"type": "date", "format": "%Q"`:                             "format",
		`"type": "date", "format": "%d.%m.%"`:                        "format",
		`"type": "date", "format": "%d 2026"`:                        "format",
		`"type": "date", "format": "%d Jan"`:                         "format",
		`"type": "date", "format": "fmt:DD"`:                         "format",
		`"type": "string", "format": "phone"`:                        "format",
		`"type": "geopoint", "format": "topojson"`:                   "format",
		`"type": "integer", "format": "hex"`:                         "format",
		`"type": "number", "groupChar": "."`:                         "groupChar",
		`"type": "number", "decimalChar": "1"`:                       "groupChar",
		`"type": "array", "constraints": {"minimum": 1}`:             "constraints/minimum",
		`"type": "year", "constraints": {"exclusiveMaximum": "x"}`:   "constraints/exclusiveMaximum",
		`"type": "date", "requird": true`:                            "requird",
		`"type": "date", "constraints": {"enum": ["2026-02-30"]}`:    "constraints/enum/0",
		`"type": "number", "constraints": {"required": true, "x":1}`: "constraints/x",
	} {
		if fault := refused(t, engines.KindTable, oneField(field)); fault.Pointer != "/schema/fields/0/"+pointer {
			t.Errorf("fault of %s = %+v, want one at %s", field, fault, pointer)
		}
	}
}
