package files

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsInTextsHaveTheLinesOfTheFile has schemas as texts in a workflow file. Where a text is written line by line,
// a fault in it has its line of the file; otherwise it has that of the value, and says the line of the text.
func TestFaultsInTextsHaveTheLinesOfTheFile(t *testing.T) {
	t.Parallel()
	parser, err := NewParser()
	if err != nil {
		t.Fatalf("make a parser: %v", err)
	}
	const head = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">\n"
	const xsd = head + "\n  <xs:element name=\"a\" type=\"b\"/>\n" +
		"</xs:schema>\n"
	const including = head + "  <xs:include schemaLocation=\"b\"/>\n</xs:schema>\n"
	const sch = "<schema xmlns=\"http://purl.oclc.org/dsdl/schematron\">\n<pattern>\n  <rule context=\"a\">\n" +
		"\t<assert test=\"b +\"/></rule></pattern></schema>"
	block := func(member, text string) string {
		const margin = "\n        "
		return "\n      " + member + ": |" + margin + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", margin)
	}
	const parts = "\n      schema: {$ref: a}\n      schemas:\n        a: |\n          {\n            "
	for name, tt := range map[string]struct{ file, want string }{
		"Block": {
			stepFile("xml", block("schema", xsd)),
			"14:11 /steps/0/config/schema element decl. 'a', attribute 'type': The QName value 'b'",
		},
		"Indicator": {
			stepFile("xml", strings.Replace(block("schema", " \n"+including), "|", "|2- # of two lines", 1)),
			"14:11 /steps/0/config/schema <xs:include> names",
		},
		"Windows": {
			strings.ReplaceAll(stepFile("xml", block("schema", including)), "\n", "\r\n"),
			"13:11 /steps/0/config/schema <xs:include> names",
		},
		"Schemas": {
			stepFile("xml", "\n      schema: <x/>\n      schemas:"+
				strings.ReplaceAll(block("b.xsd", including), "\n", "\n  ")),
			"11:15 /steps/0/config/schema line 1, column 1: ",
		},
		"Schematron": {
			stepFile("schematron", block("schema", sch)),
			`15:10 /steps/0/config/schema "b +": a name or a path is expected instead`,
		},
		"IDS": {
			stepFile("ids", block("ids", "<!-- -->\n<ids xmlns=\"http://standards.buildingsmart.org/IDS\">\n</ids>")),
			"13:9 /steps/0/config/ids <ids> needs",
		},
		"BrokenIDS": {
			stepFile("ids", block("ids", "<ids>\n  <info>\n</ids>")),
			"14:9 /steps/0/config/ids </ids> appears",
		},
		"JSON": {
			stepFile("json_schema", parts+"\"type\": 1\n          }"),
			"15:21 /steps/0/config/schemas/a at /type: ",
		},
		"BrokenJSON": {
			stepFile("json_schema", parts+"\"type\" 1\n          }"),
			"15:20 /steps/0/config/schemas/a ",
		},
		"Quoted": {
			stepFile("schematron", "\n      schema: '"+strings.ReplaceAll(sch, "\n", "\n\n")+"'"),
			`11:15 /steps/0/config/schema line 4: "b +": `,
		},
		"Folded": {
			stepFile("schematron", strings.Replace(block("schema", sch), "|", ">", 1)),
			`11:15 /steps/0/config/schema line 3: "b +": `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults, err := parser.Parse(t.Context(), []byte(tt.file))
			if err != nil || len(faults) == 0 {
				t.Fatalf("faults = %+v with %v, want one of\n%s", faults, err, tt.file)
			}
			got := strings.Replace(strings.TrimPrefix(faults[0].inFile("f"), "f:"), ": ", " ", 1)
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("fault:\n%s\n%s", cmp.Diff(tt.want, got), tt.file)
			}
		})
	}
}
