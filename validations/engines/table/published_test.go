package table_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestFormatsOfPublishedSchemas has ways of writing values that published tables have.
func TestFormatsOfPublishedSchemas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ field, good, wrong string }{
		{`"type": "date", "format": "%x"`, "09/25/20", "25/09/20"},
		{`"type": "date", "format": "%D"`, "09/25/20", "2020-09-25"},
		{`"type": "date", "format": "%F"`, "2020-09-25", "09/25/20"},
		{`"type": "time", "format": "%X"`, "06:30:00", "06:30"},
		{`"type": "time", "format": "%T"`, "06:30:00", "06:30"},
		{`"type": "time", "format": "%R"`, "06:30", "06:30:00"},
		{`"type": "datetime"`, "2022-10-18T12:35:49+0000", "2022-10-18T12:35:49+00"},
		{`"type": "datetime"`, "2022-10-18T12:35:49-0930", "2022-10-18T12:35:49-9930"},
		{`"type": "year", "format": "any"`, "2020", "20"},
		{`"type": "yearmonth", "format": "any"`, "2020-09", "2020"},
	} {
		engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "v", `+tt.field+`}]}}`)
		for want, value := range []string{tt.good, tt.wrong} {
			if report := run(t, engine, []byte("v\n"+value+"\n"), "text/csv"); report.Errors != want {
				t.Errorf("%s of %s: findings = %+v, want %d", value, tt.field, report.Findings, want)
			}
		}
	}
	for field, want := range map[string]string{
		`"type": "date", "format": "yyyy-mm-dd"`:           `did you mean "%Y-%m-%d"?`,
		`"type": "datetime", "format": "DD.MM.YYYY HH:mm"`: `did you mean "%d.%m.%Y %H:%M"?`,
		`"type": "string", "format": "%Y-%m-%d"`:           "only the types date, datetime and time have patterns",
		`"type": "integer", "format": "any"`:               "this type has the default format only",
	} {
		fault := refused(t, engines.KindTable, `{"schema": {"fields": [{"name": "v", `+field+`}]}}`)
		if fault.Pointer != "/schema/fields/0/format" || !strings.Contains(fault.Detail, want) {
			t.Errorf("fault of %s = %+v, want %q", field, fault, want)
		}
	}
}

// TestReferencesOfPublishedSchemas has references to other packages, with members that nothing checks.
func TestReferencesOfPublishedSchemas(t *testing.T) {
	t.Parallel()
	schema := func(key string) string {
		return `{"schema": {"fields": [{"name": "a"}, {"name": "b"}], "foreignKeys": [` + key + `]}}`
	}
	engine := compile(t, engines.KindTable, schema(`{"fields": "a", "predicate": "is part of", "reference":
		{"datapackage": "https://a.example/datapackage.json", "fields": "id", "title": "x"}}`))
	report := run(t, engine, []byte("a,b\n1,2\n"), "text/csv")
	if len(report.Findings) != 1 || report.Findings[0].Code != "csv.foreign_key.not_checked" {
		t.Errorf("findings = %+v, want that the reference is not checked", report.Findings)
	}
	const tooFew = `{"fields": ["a", "b"], "reference": {"resource": "c", "fields": "id"}}`
	fault := refused(t, engines.KindTable, schema(tooFew))
	same(t, "name as many fields as the key has", fault.Detail)
}

// TestNamesOfFilesAreNoSchemas has the name of a file where its text belongs.
func TestNamesOfFilesAreNoSchemas(t *testing.T) {
	t.Parallel()
	for kind, name := range map[string]string{
		engines.KindTable: "./site.json", engines.KindXML: "./site.xsd", engines.KindSchematron: "site.sch",
		engines.KindJSONSchema: "site.yaml",
	} {
		fault := refused(t, kind, `{"schema": "`+name+`"}`)
		want := `; to put the file "` + name + `" here, run: simplevalidations workflows bundle`
		if fault.Pointer != "/schema" || !strings.HasSuffix(fault.Detail, want) {
			t.Errorf("fault of %s = %+v, want %q", kind, fault, want)
		}
	}
}
