package xml_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// plan declares elements whose values are IDs and references in all ways that schemas have.
const plan = `
	<xs:simpleType name="name"><xs:restriction base="xs:ID"/></xs:simpleType>
	<xs:simpleType name="link"><xs:restriction base="xs:IDREF"/></xs:simpleType>
	<xs:simpleType name="links"><xs:list itemType="link"/></xs:simpleType>
	<xs:attributeGroup name="named"><xs:attribute name="id"><xs:simpleType><xs:restriction base="name"/>
		</xs:simpleType></xs:attribute></xs:attributeGroup>
	<xs:complexType name="thing"><xs:sequence>
		<xs:element name="to" type="xs:IDREF" minOccurs="0"/>
		<xs:element name="code" type="xs:ID" minOccurs="0" maxOccurs="2"/>
	</xs:sequence><xs:attributeGroup ref="named"/><xs:attribute name="all" type="links"/></xs:complexType>
	<xs:complexType name="door"><xs:complexContent><xs:extension base="thing">
		<xs:attribute name="zone" type="link"/></xs:extension></xs:complexContent></xs:complexType>
	<xs:complexType name="short"><xs:complexContent><xs:restriction base="thing"><xs:sequence/></xs:restriction>
		</xs:complexContent></xs:complexType>
	<xs:complexType name="label"><xs:simpleContent><xs:extension base="link"/></xs:simpleContent></xs:complexType>
	<xs:element name="head" type="thing"/>
	<xs:element name="other" substitutionGroup="head"/>
	<xs:group name="parts"><xs:choice>
		<xs:element name="thing" type="thing"/><xs:element name="door" type="door"/><xs:element ref="head"/>
		<xs:element name="short" type="short"/><xs:element name="label" type="label"/>
		<xs:element name="free"><xs:complexType><xs:attribute name="id" type="xs:string"/></xs:complexType></xs:element>
		<xs:element name="lax"><xs:complexType><xs:sequence><xs:any processContents="lax"/></xs:sequence>
			</xs:complexType></xs:element>
		<xs:element name="skip"><xs:complexType><xs:sequence><xs:any processContents="skip"/></xs:sequence>
			</xs:complexType></xs:element>
	</xs:choice></xs:group>
	<xs:element name="plan"><xs:complexType><xs:group ref="parts" minOccurs="0" maxOccurs="unbounded"/>
	</xs:complexType></xs:element>`

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(plan)))
	const thing = `<thing id="a"/>`
	tests := []struct {
		name, second, third string
		// where and what are the path and the message of the finding, if there is one.
		where, what string
	}{
		{"Good", thing, `<door id="b" zone=" a " all="a b"/>`, "", ""},
		{"Forward", `<thing all="b"/>`, `<thing id="b"/>`, "", ""},
		{"Attribute", thing, `<door zone="b"/>`, "/door/@zone", "attribute zone of <door> refers to b"},
		{"List", thing, `<thing all="a b"/>`, "/thing[2]/@all", "attribute all of <thing> refers to b"},
		{"Text", thing, `<thing><to>b</to></thing>`, "/thing[2]/to", "<to> refers to b"},
		{"Extended", thing, `<door all="b"/>`, "/door/@all", "attribute all of <door> refers to b"},
		{"ExtendedText", thing, `<door><to>b</to></door>`, "/door/to", "<to> refers to b"},
		{"Restricted", thing, `<short all="b"/>`, "/short/@all", "attribute all of <short> refers to b"},
		{"SimpleContent", thing, `<label>b</label>`, "/label", "<label> refers to b"},
		{"Substituted", thing, `<other all="b"/>`, "/other/@all", "attribute all of <other> refers to b"},
		{"Lax", thing, `<lax><head all="b"/></lax>`, "/lax/head/@all", "attribute all of <head> refers to b"},
		{"Skipped", thing, `<skip><head all="b"/></skip>`, "", ""},
		{
			"TypeOfTheInstance", thing,
			`<thing xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="door" zone="b"/>`,
			"/thing[2]/@zone", "attribute zone of <thing> refers to b",
		},
		{"SameNameOfAnotherType", `<free id="a"/>`, `<free id="a"/>`, "", ""},
		{"NotAnID", `<free id="b"/>`, `<thing all="b"/>`, "/thing/@all", "attribute all of <thing> refers to b"},
		{"TextRepeatsAttribute", thing, `<thing><code>a</code></thing>`, "/thing[2]/code", "<code> repeats a"},
		{
			"AttributeRepeatsText", `<thing><code>a</code></thing>`, thing,
			"/thing[2]/@id", "attribute id of <thing> repeats a",
		},
		{
			"TextRepeatsText", `<thing><code>a</code></thing>`, `<thing><code>a</code></thing>`,
			"/thing[2]/code", "<code> repeats a",
		},
		{
			"AttributeRepeatsAttribute", thing, thing,
			"/thing[2]/@id", "attribute id of <thing> repeats a",
		},
	}
	words := strings.NewReplacer("refers to b", `refers to the ID "b", which no element has`,
		"repeats a", `repeats the ID "a" of line 2`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := run(t, engine, []byte("<plan>\n"+tt.second+"\n"+tt.third+"\n</plan>"), xmlType)
			got := briefs(report)
			for i := range got {
				got[i].Column = 0
			}
			want := []brief{}
			if tt.where != "" {
				want = append(want, brief{"xml.schema", "/plan" + tt.where, 3, 0, 0, words.Replace(tt.what)})
			}
			same(t, want, got)
		})
	}
}

func TestIdentifiersOfSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	schema := inNamespace("urn:a", `<xs:import namespace="urn:b" schemaLocation="b.xsd"/>
		<xs:include schemaLocation="names.xsd"/>
		<xs:redefine schemaLocation="thing.xsd"><xs:complexType name="thing"><xs:complexContent>
			<xs:extension base="t:thing"><xs:attribute name="more" type="t:link"/></xs:extension>
		</xs:complexContent></xs:complexType></xs:redefine>
		<xs:element name="plan"><xs:complexType><xs:sequence xmlns:b="urn:b">
			<xs:element name="thing" type="t:thing" maxOccurs="9"/></xs:sequence></xs:complexType></xs:element>`)
	engine := compile(t, engines.KindXML, bundleStep(t, schema, map[string]string{
		"b.xsd": inNamespace("urn:b", `<xs:attribute name="key" type="xs:ID"/>`),
		"names.xsd": xsd(`<xs:simpleType name="far"><xs:restriction base="xs:IDREF"/></xs:simpleType>
			<xs:simpleType name="link"><xs:restriction base="far"/></xs:simpleType>`),
		"thing.xsd": inNamespace("urn:a", `<xs:import namespace="urn:b" schemaLocation="b.xsd"/>
			<xs:complexType name="thing" xmlns:b="urn:b"><xs:attribute ref="b:key"/>
			<xs:attribute name="to" type="xs:IDREF"/></xs:complexType>`),
	}))
	document := `<plan xmlns="urn:a" xmlns:b="urn:b"><thing b:key="x" to="x" more="x"/>` + "\n" +
		`<thing to="y"/>` + "\n" + `<thing more="z"/></plan>`
	same(t, []brief{
		{
			"xml.schema", "/plan/thing[2]/@to", 2, 1, 0,
			`attribute to of <thing> refers to the ID "y", which no element has`,
		},
		{
			"xml.schema", "/plan/thing[3]/@more", 3, 1, 0,
			`attribute more of <thing> refers to the ID "z", which no element has`,
		},
	}, briefs(run(t, engine, []byte(document), xmlType)))
}

func TestTooManyReferences(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.MaxValues = 1000
	engine := compileWithin(t, engines.KindXML, xmlStep(t, xsd(plan)), limits)
	document := func(references int) []byte {
		return []byte(`<plan><thing all="` + strings.Repeat("a ", references) + `"/><thing id="a"/></plan>`)
	}
	same(t, []brief{}, briefs(run(t, engine, document(1000), xmlType)))
	same(t, "refers more than 1000 times to IDs that follow", exhausted(t, engine, document(1001)))
}
