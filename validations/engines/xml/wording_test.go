package xml_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestComplaintsAboutLongTexts checks that a message says what is wrong with a value of several lines, or a long one.
func TestComplaintsAboutLongTexts(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"><xs:complexType><xs:sequence>
		<xs:element name="b" minOccurs="0" maxOccurs="unbounded"><xs:simpleType><xs:restriction base="xs:string">
		<xs:enumeration value="x&#10;y"/><xs:enumeration value="z"/></xs:restriction></xs:simpleType></xs:element>
		<xs:element name="c" type="xs:int" minOccurs="0"/></xs:sequence></xs:complexType></xs:element>`)))
	thousand := strings.Repeat("1234567890", 100)
	tests := map[string]struct{ text, want string }{
		"Lines":     {"<a><c>5\n6\n\n7</c></a>", `<c> "5 6  7" is not a valid int`},
		"Choices":   {"<a><b>z\nx</b><b>z</b></a>", `<b> "z x" is not one of 'x y', 'z'`},
		"LikeAnEnd": {"<a><c>5\n- fails to validate\n</c></a>", `<c> "5 - fails to validate " is not a valid int`},
		"LongLine": {
			"<a><c>" + thousand + "</c></a>",
			`<c> "` + thousand[:200] + `…" is not a valid int`,
		},
		"LongerLine": {
			"<a><c>" + strings.Repeat(thousand, 50) + "</c></a>", `<c> "` + thousand[:200] + `…" is not a valid int`,
		},
		"ManyLines": {
			"<a><c>" + strings.Repeat(thousand+"\n", 50) + thousand + "</c></a>",
			`<c> "` + thousand[:200] + `…" is not a valid int`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := run(t, engine, []byte(tt.text), xmlType)
			same(t, 1, len(report.Findings))
			same(t, tt.want, report.Findings[0].Message)
		})
	}
}

func TestElementsOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, inNamespace("urn:a", `<xs:element name="a"><xs:complexType>
		<xs:sequence><xs:element name="b"/><xs:element name="c"/></xs:sequence></xs:complexType></xs:element>`)))
	tests := map[string]string{
		`<a xmlns="urn:a"><b xmlns="urn:b"/></a>`: "" +
			"<b> of the namespace urn:b is not expected here, but {urn:a}b",
		`<p:a xmlns:p="urn:a"><b/><p:c/></p:a>`:           "<b> of no namespace is not expected here, but {urn:a}b",
		`<a xmlns="urn:a"><c xmlns="urn:b"/><b/></a>`:     "<c> is not expected here, but b",
		`<a xmlns="urn:a"><c/></a>`:                       "before <c> an element b is missing",
		`<a xmlns="urn:a"><b/></a>`:                       "<a> lacks an element: c",
		`<a xmlns="urn:a"><b/><c/><b xmlns="urn:b"/></a>`: "<b> is not expected here",
	}
	for text, want := range tests {
		report := run(t, engine, []byte(text), xmlType)
		same(t, want, report.Findings[0].Message)
	}
}

// TestElementsThatAreMissing holds that only what every valid document has here is called missing.
func TestElementsThatAreMissing(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"><xs:complexType><xs:sequence>
		<xs:element name="sku"/><xs:element name="qty"/><xs:element name="note" minOccurs="0"/>
		<xs:sequence minOccurs="0" maxOccurs="2"><xs:element name="x"/><xs:element name="y"/></xs:sequence>
		<xs:element name="z" maxOccurs="2"/></xs:sequence></xs:complexType></xs:element>`)))
	for _, tt := range []struct{ text, want string }{
		{"<a><qty/></a>", "before <qty> an element sku is missing"},
		{"<a><sku/><x/></a>", "before <x> an element qty is missing"},
		{"<a><skuu/></a>", "<skuu> is not expected here, but sku"},
		{"<a><sku/><qty/><x/><y/><x/><y/><x/></a>", "<x> is not expected here, but z"},
		{"<a><sku/><qty/><x/><z/></a>", "<z> is not expected here, but y"},
		{"<a><sku/><qty/><sku/></a>", "<sku> is not expected here, but note, x, z"},
		{"<a><sku/><qty/><z/><z/><z/></a>", "<z> is not expected here"},
	} {
		report := run(t, engine, []byte(tt.text), xmlType)
		same(t, tt.want, report.Findings[0].Message)
	}
}
