package xml_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// bundleStep is the configuration of a step with a schema in several files.
func bundleStep(t *testing.T, schema string, schemas map[string]string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"schema": schema, "schemas": schemas})
	if err != nil {
		t.Fatalf("write step: %v", err)
	}
	return string(text)
}

// inNamespace wraps declarations into a schema of a namespace, which has the prefix t.
func inNamespace(namespace, declarations string) string {
	return `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified" targetNamespace="` +
		namespace + `" xmlns:t="` + namespace + `">` + declarations + `</xs:schema>`
}

// signed is a document with a signature, which need not be right.
func signed(language string) string {
	return `<a xml:lang="` + language + `" xmlns:l="http://www.w3.org/1999/xlink" l:type="simple" l:href="b">
		<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"><SignedInfo><CanonicalizationMethod Algorithm="c"/>
		<SignatureMethod Algorithm="s"/><Reference URI=""><DigestMethod Algorithm="d"/><DigestValue/>
		</Reference></SignedInfo><SignatureValue/><KeyInfo><KeyName>k</KeyName></KeyInfo></Signature></a>`
}

func TestSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	const percent = `<xs:simpleType name="percent"><xs:restriction base="xs:int">` +
		`<xs:maxInclusive value="100"/></xs:restriction></xs:simpleType>`
	importedBack := inNamespace("urn:a", `<xs:import namespace="urn:b" schemaLocation="b.xsd"/>`+percent+
		`<xs:element name="a"><xs:complexType><xs:sequence xmlns:b="urn:b"><xs:element ref="b:b"/></xs:sequence>
		</xs:complexType></xs:element>`)
	tests := []struct {
		name, schema string
		schemas      map[string]string
		good, bad    string
		message      string
	}{
		{
			"Include", xsd(`<xs:include schemaLocation="types/percent.xsd"/><xs:element name="a" type="percent"/>`),
			map[string]string{"types/percent.xsd": xsd(percent)},
			"<a>7</a>", "<a>700</a>", "<a> 700 is more than 100",
		},
		{
			"RelativeToTheIncludingFile",
			xsd(`<xs:include schemaLocation="./types/all.xsd"/><xs:element name="a" type="percent"/>`),
			map[string]string{
				"types/all.xsd":       xsd(`<xs:include schemaLocation="../basic/percent.xsd"/>`),
				"basic/percent.xsd":   xsd(percent),
				"types/not-asked.xsd": xsd(``),
			},
			"<a>7</a>", "<a>700</a>", "<a> 700 is more than 100",
		},
		{
			"ChameleonInTwoNamespaces",
			inNamespace("urn:a", `<xs:import namespace="urn:b" schemaLocation="http://x.example/b.xsd"/>
				<xs:include schemaLocation="http://x.example/percent.xsd"/>
				<xs:element name="a"><xs:complexType><xs:sequence xmlns:b="urn:b">
				<xs:element name="own" type="t:percent"/><xs:element ref="b:b"/></xs:sequence>
				</xs:complexType></xs:element>`),
			map[string]string{
				"http://x.example/b.xsd": inNamespace("urn:b", `<xs:include schemaLocation="percent.xsd"/>
					<xs:element name="b" type="t:percent"/>`),
				"http://x.example/percent.xsd": xsd(percent),
			},
			`<a xmlns="urn:a"><own>1</own><b xmlns="urn:b">7</b></a>`,
			`<a xmlns="urn:a"><own>1</own><b xmlns="urn:b">700</b></a>`, "<b> 700 is more than 100",
		},
		{
			"ImportsOfOneNamespaceFromSeveralFiles",
			inNamespace("urn:a", `<xs:import namespace="urn:b" schemaLocation="b1.xsd"/>
				<xs:import namespace="urn:b" schemaLocation="b2.xsd"/>
				<xs:element name="a"><xs:complexType><xs:sequence xmlns:b="urn:b"><xs:element ref="b:one"/>
				<xs:element ref="b:two"/></xs:sequence></xs:complexType></xs:element>`),
			map[string]string{
				"b1.xsd": inNamespace("urn:b", `<xs:element name="one" type="xs:int"/>`),
				"b2.xsd": inNamespace("urn:b", `<xs:element name="two" type="xs:int"/>`),
			},
			`<a xmlns="urn:a"><one xmlns="urn:b">1</one><two xmlns="urn:b">7</two></a>`,
			`<a xmlns="urn:a"><one xmlns="urn:b">1</one><two xmlns="urn:b">x</two></a>`, `<two> "x" is not a valid int`,
		},
		{
			"ImportByTheNamespaceAlone",
			inNamespace("urn:a", `<xs:import namespace="urn:b"/>
				<xs:element name="a"><xs:complexType><xs:sequence xmlns:b="urn:b"><xs:element ref="b:one"/>
				</xs:sequence></xs:complexType></xs:element>`),
			map[string]string{"any-name": inNamespace("urn:b", `<xs:element name="one" type="xs:int"/>`)},
			`<a xmlns="urn:a"><one xmlns="urn:b">1</one></a>`,
			`<a xmlns="urn:a"><one xmlns="urn:b">x</one></a>`, `<one> "x" is not a valid int`,
		},
		{
			"Redefine",
			xsd(`<xs:redefine schemaLocation="percent.xsd"><xs:simpleType name="percent"><xs:restriction base="percent">
				<xs:minInclusive value="5"/></xs:restriction></xs:simpleType></xs:redefine>
				<xs:element name="a" type="percent"/>`),
			map[string]string{"percent.xsd": xsd(percent)},
			"<a>7</a>", "<a>3</a>", "<a> 3 is less than 5",
		},
		{
			"TheFirstSchemaByItsName", importedBack,
			map[string]string{"a.xsd": importedBack, "b.xsd": inNamespace("urn:b", `
				<xs:import namespace="urn:a" schemaLocation="a.xsd"/>
				<xs:element name="b" xmlns:a="urn:a" type="a:percent"/>`)},
			`<a xmlns="urn:a"><b xmlns="urn:b">7</b></a>`, `<a xmlns="urn:a"><b xmlns="urn:b">700</b></a>`,
			"<b> 700 is more than 100",
		},
		{
			"OneFileByTwoAddresses",
			xsd(`<xs:include schemaLocation="../types/a.xsd"/><xs:include schemaLocation="../types/b.xsd"/>
				<xs:element name="a" type="percent"/>`),
			map[string]string{
				"../types/a.xsd":                 xsd(`<xs:include schemaLocation="percent.xsd"/>`),
				"../types/b.xsd":                 xsd(`<xs:include schemaLocation="../../folder/types/percent.xsd"/>`),
				"../types/percent.xsd":           xsd(`<xs:include schemaLocation="no.xsd"/>` + percent),
				"../../folder/types/percent.xsd": xsd(`<xs:include schemaLocation="no.xsd"/>` + percent),
				"../types/no.xsd":                xsd(``),
				"../../folder/types/no.xsd":      xsd(``),
			},
			"<a>7</a>", "<a>700</a>", "<a> 700 is more than 100",
		},
		{
			"EqualTextsThatReferToOthers",
			xsd(`<xs:include schemaLocation="a/all.xsd"/><xs:include schemaLocation="b/all.xsd"/>
				<xs:element name="a" type="percent"/><xs:element name="other" type="flag"/>`),
			map[string]string{
				"a/all.xsd":  xsd(`<xs:include schemaLocation="type.xsd"/>`),
				"b/all.xsd":  xsd(`<xs:include schemaLocation="type.xsd"/>`),
				"a/type.xsd": xsd(percent),
				"b/type.xsd": xsd(`<xs:simpleType name="flag"><xs:restriction base="xs:boolean"/></xs:simpleType>`),
			},
			"<a>7</a>", "<a>700</a>", "<a> 700 is more than 100",
		},
		{
			"ImportsOfTheNamespaceOfTheSchemaItself",
			inNamespace("urn:a", `<xs:import namespace="urn:b" schemaLocation="b.xsd"/><xs:element name="a">
				<xs:complexType><xs:sequence xmlns:b="urn:b"><xs:element ref="b:b"/></xs:sequence>
				</xs:complexType></xs:element>`),
			map[string]string{
				"percent.xsd": inNamespace("urn:a", percent),
				"b.xsd": inNamespace("urn:b", `<xs:import namespace="urn:a" schemaLocation="percent.xsd"/>
					<xs:element name="b" xmlns:a="urn:a" type="a:percent"/>`),
			},
			`<a xmlns="urn:a"><b xmlns="urn:b">7</b></a>`, `<a xmlns="urn:a"><b xmlns="urn:b">700</b></a>`,
			"<b> 700 is more than 100",
		},
		{
			"CopiesOfOneFile",
			inNamespace("urn:a", `<xs:import namespace="urn:b" schemaLocation="b.xsd"/>
				<xs:import namespace="urn:c" schemaLocation="c.xsd"/><xs:element name="a" xmlns:c="urn:c"
				type="c:percent"/>`),
			map[string]string{
				"b.xsd": inNamespace("urn:b", percent),
				"c.xsd": inNamespace("urn:c", `<xs:import namespace="urn:b" schemaLocation="http://x.example/b.xsd"/>
					<xs:simpleType name="percent"><xs:restriction xmlns:b="urn:b" base="b:percent"/></xs:simpleType>`),
				"http://x.example/b.xsd": inNamespace("urn:b", "<!-- a copy -->"+percent),
			},
			`<a xmlns="urn:a">7</a>`, `<a xmlns="urn:a">700</a>`, "<a> 700 is more than 100",
		},
		{
			"FilesThatIncludeEachOther",
			xsd(`<xs:include schemaLocation="b.xsd"/><xs:element name="a" type="percent"/>`),
			map[string]string{
				"b.xsd": xsd(`<xs:include schemaLocation="c.xsd"/>` + percent),
				"c.xsd": xsd(`<xs:include schemaLocation="b.xsd"/><xs:element name="c" type="percent"/>`),
			},
			"<a>7</a>", "<a>700</a>", "<a> 700 is more than 100",
		},
		{
			"KnownNamespaces",
			xsd(`<xs:import namespace="http://www.w3.org/XML/1998/namespace"
					schemaLocation="http://www.w3.org/2001/xml.xsd"/>
				<xs:import namespace="http://www.w3.org/1999/xlink"/>
				<xs:import namespace="http://www.w3.org/2000/09/xmldsig#" schemaLocation="../xmldsig-core-schema.xsd"/>
				<xs:element name="a"><xs:complexType><xs:sequence xmlns:d="http://www.w3.org/2000/09/xmldsig#">
				<xs:element ref="d:Signature"/></xs:sequence><xs:attribute ref="xml:lang"/>
				<xs:attributeGroup xmlns:l="http://www.w3.org/1999/xlink" ref="l:simpleAttrs"/></xs:complexType>
				</xs:element>`),
			nil, signed("de"), signed("?"), `attribute lang of <a> "?" is not a valid value`,
		},
		{
			"OwnSchemaOfAKnownNamespace",
			xsd(`<xs:import namespace="http://www.w3.org/XML/1998/namespace" schemaLocation="xml.xsd"/>
				<xs:element name="a"><xs:complexType><xs:attribute ref="xml:lang"/></xs:complexType></xs:element>`),
			map[string]string{"xml.xsd": `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
				targetNamespace="http://www.w3.org/XML/1998/namespace"><xs:attribute name="lang" type="xs:int"/>
				</xs:schema>`},
			`<a xml:lang="1"/>`, `<a xml:lang="de"/>`, `attribute lang of <a> "de" is not a valid int`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			step := bundleStep(t, tt.schema, tt.schemas)
			faults, err := engines.Check(t.Context(), engines.KindXML, json.RawMessage(step), engines.DefaultLimits())
			if err != nil || len(faults) > 0 {
				t.Fatalf("faults = %v with %v, want none", faults, err)
			}
			engine := compile(t, engines.KindXML, step)
			same(t, []brief{}, briefs(run(t, engine, []byte(tt.good), xmlType)))
			report := run(t, engine, []byte(tt.bad), xmlType)
			same(t, 1, report.Errors)
			same(t, tt.message, report.Findings[0].Message)
		})
	}
}

func TestFaultsOfSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	including := xsd(`<xs:include schemaLocation="types.xsd"/><xs:element name="a" type="b"/>`)
	tests := []struct {
		name, schema string
		schemas      map[string]string
		want         engines.ConfigError
	}{
		{
			"NotThere", including,
			map[string]string{"type.xsd": xsd("")},
			engines.ConfigError{
				Pointer: "/schema", Code: "schema.ref",
				Detail: `line 1, column 56: <xs:include> names "types.xsd", ` +
					`which is not among the "schemas" of this step; did you mean type.xsd?`,
			},
		},
		{
			"OfAnotherFile", including,
			map[string]string{"types.xsd": xsd("\n" + `<xs:include schemaLocation="file:///etc/passwd"/>`)},
			engines.ConfigError{
				Pointer: "/schemas/types.xsd", Code: "schema.ref",
				Detail: `types.xsd, line 2, column 1: <xs:include> names "file:///etc/passwd", ` +
					`which is not among the "schemas" of this step`,
			},
		},
		{
			"FoundByTheProgram", including,
			map[string]string{"types.xsd": xsd("\n\n" +
				`<xs:complexType name="b"><xs:attribute name="c" type="d"/></xs:complexType>`)},
			engines.ConfigError{
				Pointer: "/schemas/types.xsd", Code: "schema.invalid",
				Detail: "types.xsd, line 3: attribute decl. 'c', attribute 'type': " +
					"The QName value 'd' does not resolve to a(n) simple type definition.",
			},
		},
		{
			"Malformed", including,
			map[string]string{"types.xsd": "<a>\n</b>"},
			engines.ConfigError{
				Pointer: "/schemas/types.xsd", Code: "xml.malformed",
				Detail: "types.xsd, line 2, column 1: </b> appears where <a> of line 1 must be closed",
			},
		},
		{
			"OneAddressTwice", including,
			map[string]string{"types.xsd": xsd(""), "./types.xsd": xsd("")},
			engines.ConfigError{
				Pointer: "/schemas/types.xsd", Code: "schema.address",
				Detail: `"types.xsd" is the address of another schema of this step`,
			},
		},
		{
			"Override", xsd(`<xs:override schemaLocation="types.xsd"/>`),
			map[string]string{"types.xsd": xsd("")},
			engines.ConfigError{
				Pointer: "/schema", Code: "schema.ref",
				Detail: "line 1, column 56: <xs:override> is a feature of XML Schema 1.1; only 1.0 is supported",
			},
		},
		{
			"WithoutASchema", "",
			map[string]string{"types.xsd": xsd("")},
			engines.ConfigError{
				Pointer: "/schema", Code: "schema.missing", Detail: "a schema that refers to these schemas is needed",
			},
		},
	}
	many := map[string]string{}
	for i := range 100 {
		many[strconv.Itoa(i)] = xsd("")
	}
	tests = append(tests, struct {
		name, schema string
		schemas      map[string]string
		want         engines.ConfigError
	}{"TooMany", including, many, engines.ConfigError{
		Pointer: "/schemas", Code: "schema.too_large", Detail: "the schema has 101 files, at most 100 are allowed",
	}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			step := json.RawMessage(bundleStep(t, tt.schema, tt.schemas))
			faults, err := engines.Check(t.Context(), engines.KindXML, step, engines.DefaultLimits())
			if err != nil || len(faults) == 0 {
				t.Fatalf("faults = %v with %v, want one", faults, err)
			}
			faults[0].Inside = engines.TextPlace{} // Its detail says the same.
			same(t, tt.want, faults[0])
		})
	}
}
