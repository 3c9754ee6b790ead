package xml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// valued is a step for a root a with elements b and c and attributes b of a built-in type, and what follows them.
func valued(t *testing.T, kind, constraint string) string {
	t.Helper()
	return xmlStep(t, xsd(fmt.Sprintf(`<xs:element name="a"><xs:complexType><xs:sequence>
		<xs:element name="b" maxOccurs="unbounded"><xs:complexType><xs:simpleContent>
		<xs:extension base="xs:%[1]s"><xs:attribute name="b" type="xs:%[1]s"/></xs:extension>
		</xs:simpleContent></xs:complexType></xs:element><xs:element name="c" type="xs:%[1]s" minOccurs="0"/>
		</xs:sequence></xs:complexType>%[2]s</xs:element>`, kind, constraint)))
}

func TestSpaceAroundValuesOfBuiltInTypes(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{
		"date": "2024-02-29", "time": "12:00:00", "dateTime": "2024-02-29T12:00:00Z", "gYear": "2024",
		"gYearMonth": "2024-02", "gMonth": "--02", "gMonthDay": "--02-29", "gDay": "---29", "duration": "P1D",
		"byte": "-5", "short": "5", "int": "+5", "long": "5", "unsignedByte": "5", "unsignedShort": "5",
		"unsignedInt": "5", "unsignedLong": "5", "boolean": "true", "decimal": "1.5", "integer": "5", "double": "1e3",
	}
	for kind, value := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindXML, valued(t, kind, ""))
			for _, around := range []string{" %s ", "\n\t%s\n", "\r\n%s", "%s\t", "  %s"} {
				written := fmt.Sprintf(around, value)
				text := fmt.Sprintf("<a>\n<b b=\"%[1]s\">%[1]s</b\n><c\n>%[1]s</c></a>", written)
				same(t, []brief{}, briefs(run(t, engine, []byte(text), xmlType)))
			}
			text := fmt.Sprintf("<a>\n<b b='\n%[1]s&#10;'>\n%[1]s\n\n</b>\n<c>\n x \n</c>\n<d/></a>", value)
			same(t, []brief{
				{"xml.schema", "/a/c", 7, 1, 0, `<c> "x" is not a valid ` + kind},
				{"xml.schema", "/a/d", 10, 1, 0, "<d> is not expected here"},
			}, briefs(run(t, engine, []byte(text), xmlType)))
		})
	}
}

// TestSpaceThatCounts checks values that are equal but for their types, in one line.
func TestSpaceThatCounts(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"><xs:complexType><xs:sequence>
		<xs:element name="n"><xs:complexType><xs:sequence><xs:element name="v" type="xs:int"/></xs:sequence>
		</xs:complexType></xs:element>
		<xs:element name="s"><xs:complexType><xs:sequence><xs:element name="v"><xs:simpleType>
		<xs:restriction base="xs:string"><xs:maxLength value="3"/></xs:restriction></xs:simpleType></xs:element>
		</xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element>`)))
	same(t, []brief{}, briefs(run(t, engine, []byte("<a><n><v> 5   </v></n><s><v>5</v></s></a>"), xmlType)))
	same(t, 2, run(t, engine, []byte("<a><n><v> 5   </v></n><s><v> 5   </v></s></a>"), xmlType).Errors)
	report := run(t, engine, []byte("<a><n><v> 5   </v></n>\n<s><v> 5   </v></s></a>"), xmlType)
	same(t, []brief{{"xml.schema", "/a/s/v", 2, 4, 0, "<v> has a length of 5, at most 3 allowed"}}, briefs(report))
}

func TestSpaceAroundValuesOfDerivedTypes(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:simpleType name="day"><xs:restriction base="xs:date"/>
		</xs:simpleType><xs:element name="a"><xs:complexType><xs:sequence><xs:element name="b" type="day"/>
		<xs:element name="c"><xs:complexType><xs:simpleContent><xs:extension base="day"/></xs:simpleContent>
		</xs:complexType></xs:element><xs:element name="d"><xs:simpleType><xs:restriction base="day"/></xs:simpleType>
		</xs:element></xs:sequence></xs:complexType></xs:element>`)))
	text := "<a><b>\n2024-02-29\n</b><c> 2024-02-29</c><d>2024-02-29\n</d></a>"
	same(t, []brief{}, briefs(run(t, engine, []byte(text), xmlType)))
	text = "<a><b>\n2024-02-30\n</b><c> 2024-02-29</c><d>2024-02-29\n</d></a>"
	same(t, 1, run(t, engine, []byte(text), xmlType).Errors)
}

func TestNumbersOfManyDigits(t *testing.T) {
	t.Parallel()
	const key = `<xs:key name="k"><xs:selector xpath="b"/><xs:field xpath="@b"/></xs:key>`
	long := strings.Repeat("9876543210", 5)
	tests := map[string]struct{ kind, first, second, want string }{
		"Serial":   {"integer", long, "-" + long, ""},
		"Fraction": {"decimal", "0.1000000000000000055511151231257827", "-." + long, ""},
		"Spaced":   {"positiveInteger", " " + long, "+" + long + "1\n", ""},
		"Repeated": {
			"integer", long, "+00" + long,
			"<b> repeats '" + long + "', which the key k allows once",
		},
		"Negative": {
			"nonNegativeInteger", "1", "-" + long,
			`attribute b of <b> "-` + long + `" is not a valid nonNegativeInteger`,
		},
		"NotInteger": {
			"integer", "1", long + ".5",
			`attribute b of <b> "` + long + `.5" is not a valid integer`,
		},
		"NotSized": {
			"long", "1", long,
			`attribute b of <b> "` + long + `" is not a valid long`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindXML, valued(t, tt.kind, key))
			text := `<a><b b="` + tt.first + `">1</b><b b="` + tt.second + `">1</b></a>`
			report := run(t, engine, []byte(text), xmlType)
			if tt.want == "" {
				same(t, []brief{}, briefs(report))
				return
			}
			same(t, tt.want, report.Findings[0].Message)
		})
	}
}
