//go:build slow

package xml_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// parts are what a mutation deletes, repeats, moves or replaces: tags with their text, attributes and values.
var parts = regexp.MustCompile(`<(\w+)[^<>]*>[^<]*</\w+>|<\w+[^<>]*/>| \w+="[^"]*"|>[^<>\s][^<>]*<`)

// mutate changes a document in one place or in several.
func mutate(random *rand.Rand, document string) string {
	for range 1 + random.IntN(4) {
		places := parts.FindAllStringIndex(document, -1)
		at, other := places[random.IntN(len(places))], places[random.IntN(len(places))]
		part := document[at[0]:at[1]]
		var with string
		switch random.IntN(4) {
		case 0:
		case 1:
			with = part + part
		case 2:
			with = document[other[0]:other[1]]
		default:
			with = strings.Replace(part, "1", "x", 1)
		}
		document = document[:at[0]] + with + document[at[1]:]
	}
	return document
}

// plainErrors says how many errors xmllint finds by itself, or false if the document is malformed.
func plainErrors(t *testing.T, schema, document string) (int, bool) {
	t.Helper()
	command := exec.CommandContext(
		t.Context(), "sh", "-c", `exec xmllint --noout --schema "$0" "$1" 2>&1`, schema, document)
	output, _ := command.Output()
	errors := strings.Count(string(output), "Schemas validity error") - strings.Count(string(output), ": Warning: ")
	return errors, command.ProcessState.ExitCode() != 1
}

// TestPlainXMLLintFindsTheSame compares the numbers of errors in documents that were made wrong. There are no
// differences.
func TestPlainXMLLintFindsTheSame(t *testing.T) {
	t.Parallel()
	many := string(sample(t, "good/meters.xml"))
	repeated := xsd(`<xs:element name="r"><xs:complexType><xs:choice maxOccurs="unbounded">
		<xs:element name="a" type="xs:int" minOccurs="0" maxOccurs="unbounded"/>
		<xs:element name="b" minOccurs="2" maxOccurs="4"><xs:complexType><xs:attribute name="c" type="xs:int"/>
		</xs:complexType></xs:element><xs:element name="d" type="xs:date" minOccurs="0"/></xs:choice></xs:complexType>
		<xs:unique name="u"><xs:selector xpath="b"/><xs:field xpath="@c"/></xs:unique></xs:element>`)
	tests := map[string]struct{ schema, document string }{
		"Meters": {string(sample(t, "schemas/meters.xsd")), many},
		"Repeated": {repeated, `<r><a>1</a><a>21</a><b c="1"/><b c="2"/><d>2026-01-01</d><b c="3"/><b c="4"/>` +
			`<b c="11"/><a>7</a></r>`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			schema := filepath.Join(folder, "schema.xsd")
			if err := os.WriteFile(schema, []byte(tt.schema), 0o600); err != nil {
				t.Fatalf("write schema: %v", err)
			}
			engine := compile(t, engines.KindXML, xmlStep(t, tt.schema))
			for seed := range uint64(300) {
				document := mutate(rand.New(rand.NewPCG(seed, 2)), tt.document)
				path := filepath.Join(folder, strconv.FormatUint(seed, 10))
				if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
					t.Fatalf("write document: %v", err)
				}
				want, wellFormed := plainErrors(t, schema, path)
				report := run(t, engine, []byte(document), xmlType)
				if wellFormed && report.Errors != want {
					t.Errorf("seed %d: errors = %d, want %d\n%s\n%v", seed, report.Errors, want, document,
						briefs(report))
				}
				if !wellFormed && (report.Errors == 0 || report.Findings[0].Code == "xml.schema") {
					t.Errorf("seed %d: findings = %v, want one on the form\n%s", seed, briefs(report), document)
				}
			}
		})
	}
}
