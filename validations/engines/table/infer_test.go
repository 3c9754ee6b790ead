package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/table"
)

func TestInfer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, mediaType, config string }{
		"Types": {
			"id,n,x,ok,day,at,clock,note\n007,1,1.5,true,2026-03-01,2026-03-01T06:00:00Z,06:00:00,\n" +
				"008,2,2,false,2026-03-02,2026-03-01T06:00:00,07:00:00,x\n",
			"text/csv",
			`{"schema":{"fields":[{"name":"id","type":"string","constraints":{"required":true}},` +
				`{"name":"n","type":"integer","constraints":{"required":true}},` +
				`{"name":"x","type":"number","constraints":{"required":true}},` +
				`{"name":"ok","type":"boolean","constraints":{"required":true}},` +
				`{"name":"day","type":"date","constraints":{"required":true}},` +
				`{"name":"at","type":"datetime","constraints":{"required":true}},` +
				`{"name":"clock","type":"time","constraints":{"required":true}},{"name":"note","type":"string"}]}}`,
		},
		"Semicolons": {
			"wert;tag\n1.234,5;01.03.2026\n", "text/csv",
			`{"schema":{"fields":[{"name":"wert","type":"number","decimalChar":",","groupChar":".",` +
				`"constraints":{"required":true}},{"name":"tag","type":"date","format":"%d.%m.%Y",` +
				`"constraints":{"required":true}}]},"dialect":{"delimiter":";"}}`,
		},
		"Quotes": {
			"\"a\",\"b; c\"\n\"1\",\"x\"\n", "text/csv",
			`{"schema":{"fields":[{"name":"a","type":"integer","constraints":{"required":true}},` +
				`{"name":"b; c","type":"string","constraints":{"required":true}}]}}`,
		},
		"QuotesAndSemicolons": {
			"\"a\";\"b, c\"\n\"1,5\";\"x\"\n", "text/csv",
			`{"schema":{"fields":[{"name":"a","type":"number","decimalChar":",",` +
				`"constraints":{"required":true}},{"name":"b, c","type":"string","constraints":{"required":true}}]},` +
				`"dialect":{"delimiter":";"}}`,
		},
		"Objects": {
			"{\"a\": 1, \"b\": [2]}\n{\"a\": 2.5, \"c\": null}\n", mediatype.JSONLines,
			`{"schema":{"fields":[{"name":"a","type":"number","constraints":{"required":true}},` +
				`{"name":"b","type":"array"},{"name":"c","type":"any"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := engines.NewDocument([]byte(tt.text), tt.mediaType, "")
			inferred, err := table.Infer(t.Context(), document, engines.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			same(t, tt.config, string(inferred.Config))
			same(t, []brief{}, briefs(run(t, compile(t, engines.KindTable, tt.config), []byte(tt.text), tt.mediaType)))
		})
	}
}

func TestInferFaults(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]string{
		"":                     "it has no columns",
		"a,b,a\n1,2,3\n":       "line 1: every column needs a unique name",
		"a;b;\n1;2;3\n":        "line 1: every column needs a unique name",
		"a,\"b\"c\n1,2\n":      "line 1: text follows the end of a quoted field",
		"a,b\n1,2\n3,\"4\"5\n": "line 3: text follows the end of a quoted field",
		"a,b\n1,2\n3\n":        "line 3 has 1 fields, the header has 2",
	} {
		document := engines.NewDocument([]byte(text), "text/csv", "")
		_, err := table.Infer(t.Context(), document, engines.DefaultLimits())
		if err == nil || err.Error() != "read the sample: "+fault {
			t.Errorf("%q is said to have the fault %v", text, err)
		}
	}
}

func TestInferNotes(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat("A,5,x\nE,7,\n", 10) + "A,11,y\n"
	document := engines.NewDocument([]byte("quality,count,note\n"+rows), "text/csv", "")
	inferred, err := table.Infer(t.Context(), document, engines.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	same(t, map[string]string{
		"/schema/fields/0/name": "one of A, E",
		"/schema/fields/1/name": "from 5 to 11",
		"/schema/fields/2/name": "missing in 10 of 21 rows",
	}, inferred.Notes)
}

func TestInferWorkbook(t *testing.T) {
	t.Parallel()
	when := time.Date(2026, time.March, 1, 6, 0, 0, 0, time.UTC)
	content := workbook(t, [][]any{{"at", "kwh", "ok"}, {when, 1.5, true}, {when, 2, false}}, nil)
	document := engines.NewDocument(content, mediatype.XLSX, "")
	inferred, err := table.Infer(t.Context(), document, engines.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"schema":{"fields":[{"name":"at","type":"datetime","constraints":{"required":true}},`+
		`{"name":"kwh","type":"number","constraints":{"required":true}},`+
		`{"name":"ok","type":"boolean","constraints":{"required":true}}]}}`, string(inferred.Config))
}

// FuzzInfer checks that a sample passes what was inferred from it.
func FuzzInfer(f *testing.F) {
	f.Add("a,b\n1,x\n2.5,\n", false)
	f.Add("a;b\n1,5;01.02.2026\n01;true\n", false)
	f.Add("a\n-0\n0\n1e3\nfalse\n06:00:00\n", false)
	f.Add("{\"a\": 1}\n{\"a\": \"2026-03-01\", \"b\": {}}", true)
	f.Fuzz(func(t *testing.T, text string, isLines bool) {
		mediaType := "text/csv"
		if isLines {
			mediaType = mediatype.JSONLines
		}
		document := engines.NewDocument([]byte(text), mediaType, "")
		inferred, err := table.Infer(t.Context(), document, engines.DefaultLimits())
		if err != nil {
			return
		}
		engine := compile(t, engines.KindTable, string(inferred.Config))
		for _, found := range run(t, engine, []byte(text), mediaType).Findings {
			if found.Code != "csv.row.blank" {
				t.Errorf("%q is refused by what was inferred from it, %s: %+v", text, inferred.Config, found)
			}
		}
	})
}
