package xml_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const xmlType = "application/xml"

// listOfNumbers declares an element a that holds numbers in elements b.
const listOfNumbers = `<xs:element name="a"><xs:complexType><xs:sequence>
	<xs:element name="b" type="xs:integer" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>`

// xsd wraps declarations into a schema.
func xsd(declarations string) string {
	return `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">` + declarations + `</xs:schema>`
}

func TestSampleMeters(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, string(sample(t, "schemas/meters.xml-step.json")))

	t.Run("GoodHasNoFindings", func(t *testing.T) {
		t.Parallel()
		same(t, []brief{}, briefs(run(t, engine, sample(t, "good/meters.xml"), xmlType)))
	})

	t.Run("BadHasNineErrors", func(t *testing.T) {
		t.Parallel()
		report := run(t, engine, sample(t, "bad/meters.xml"), xmlType)
		same(t, []brief{
			{"xml.schema", "/meters", 2, 1, 0, "<meters> lacks the attribute site"},
			{"xml.schema", "/meters/meter/installed", 5, 5, 0, `<installed> "2021-02-30" is not a valid date`},
			{"xml.schema", "/meters/meter/digits", 6, 5, 0, "<digits> 16 is more than 12"},
			{
				"xml.schema", "/meters/meter[2]/@id", 8, 3, 0,
				`attribute id of <meter> "MTR-77" does not match MTR-[0-9]{4}`,
			},
			{
				"xml.schema", "/meters/meter[2]/medium", 9, 5, 0,
				`<medium> "steam" is not one of 'electricity', 'gas', 'heat'`,
			},
			{"xml.schema", "/meters/meter[2]", 8, 3, 0, "<meter> has no valid value for the key meter_id"},
			{"xml.schema", "/meters/meter[3]/installed", 13, 5, 0, "before <installed> an element medium is missing"},
			{
				"xml.schema", "/meters/meter[3]", 12, 3, 0,
				"<meter> repeats 'MTR-1001', which the key meter_id allows once",
			},
			{"xml.schema", "/meters/meter[4]", 16, 3, 0, "<meter> lacks an element: installed"},
		}, briefs(report))
		same(t, `    <digits>16</digits>`, report.Findings[2].Excerpt)
		same(t, 9, report.Errors)
	})

	t.Run("TheStepHoldsTheSchema", func(t *testing.T) {
		t.Parallel()
		var step struct {
			Schema string `json:"schema"`
		}
		if err := json.Unmarshal(sample(t, "schemas/meters.xml-step.json"), &step); err != nil {
			t.Fatalf("read step: %v", err)
		}
		same(t, string(sample(t, "schemas/meters.xsd")), step.Schema)
	})
}

func TestWellFormedness(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, `{}`)

	good := map[string]string{
		"Declaration":   "\ufeff<?xml version='1.0' encoding=\"utf-8\" standalone='yes'?>\r\n<a/>\n<!-- e --><?p x?>",
		"Latin1":        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><stra\xdfe>\xe4</stra\xdfe>",
		"Namespaces":    `<p:a xmlns:p="urn:p" p:x="1" x="2" xml:lang="de"><b xmlns="urn:b"><p:c/></b></p:a>`,
		"References":    `<a b="&lt;&#65;&#x42;">&amp;&quot;<![CDATA[<b>&nothing;]]></a>`,
		"QuotesInside":  "<a b='\"' c=\"'>\"\n/>",
		"ProcessingMid": "<a><?php echo '<b>' ?></a>",
	}
	for _, unit := range utf16.Encode([]rune("\ufeff<?xml version=\"1.0\" encoding=\"UTF-16\"?><straße>ä</straße>")) {
		good["UTF16"] = string(binary.LittleEndian.AppendUint16([]byte(good["UTF16"]), unit))
		good["UTF16BigEndian"] = string(binary.BigEndian.AppendUint16([]byte(good["UTF16BigEndian"]), unit))
	}
	for name, document := range good {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{}, briefs(run(t, engine, []byte(document), xmlType)))
		})
	}

	bad := []struct {
		name, document, code string
		line, column         int
		message              string
	}{
		{"Mismatch", "<a>\n <b>\n</a>", "xml.malformed", 3, 1, "</a> appears where <b> of line 2 must be closed"},
		{"Unclosed", "<a>\n<b/>\n", "xml.malformed", 3, 1, "the document ends too early: <a> of line 1 is not closed"},
		{"Stray", "<a/></b>", "xml.malformed", 1, 5, "</b> closes nothing"},
		{"TwoRoots", "<a/>\n<b/>", "xml.malformed", 2, 1, "a second root element: a document has one"},
		{"TextOutside", "<a/>\n x", "xml.malformed", 2, 2, "text stands outside of the root element"},
		{"Empty", "", "xml.malformed", 1, 1, "the document has no element"},
		{"OnlyComment", "<!-- -->", "xml.malformed", 1, 9, "the document has no element"},
		{"EndsInTag", "<a>\n  <b c=", "xml.malformed", 2, 3, "the document ends in the middle of this"},
		{"TwiceTheAttribute", `<a><b c="1" c="2"/></a>`, "xml.malformed", 1, 4, "<b> has the attribute c twice"},
		{
			"TwiceByNamespace", `<a xmlns:p="u" xmlns:q="u" p:c="1" q:c="2"/>`, "xml.malformed", 1, 1,
			"<a> has the attribute q:c twice",
		},
		{"NoSpace", `<a b="1"c="2"/>`, "xml.malformed", 1, 1, "a space is missing between two attributes of <a>"},
		{"Prefix", "<a><p:b/></a>", "xml.namespace", 1, 4, "the prefix of p:b is not declared"},
		{"AttributePrefix", `<a p:b="1"/>`, "xml.namespace", 1, 1, "the prefix of p:b is not declared"},
		{
			"LateDeclaration", " <?xml version=\"1.0\"?><a/>", "xml.malformed", 1, 2,
			"the XML declaration must be the first thing in the file",
		},
		{"Version", `<?xml version="1.1"?><a/>`, "xml.malformed", 1, 1, "the XML declaration is not one of XML 1.0"},
		{
			"Ampersand", "<a>\nR & D</a>", "xml.entity", 2, 3,
			"& is not an entity of XML: use &lt; &gt; &amp; &apos; &quot; or a number as in &#228;",
		},
		{"LessThan", "<a>1 < 2</a>", "xml.malformed", 1, 6, "not valid XML: expected element name after <"},
		{
			"Encoding", `<?xml version="1.0" encoding="EBCDIC"?><a/>`, "xml.encoding", 1, 1,
			`the encoding "EBCDIC" is not supported; use utf-8, utf-16, iso-8859-1 or windows-1252`,
		},
		{"InvalidUTF8", "<a>\n\xff</a>", "xml.encoding", 2, 1, "the text is not valid in its encoding, or " +
			"contains NUL"},
		{"NUL", "<a>\x00</a>", "xml.encoding", 1, 4, "the text is not valid in its encoding, or contains NUL"},
		{
			"UTF16WithoutMark", `<?xml version="1.0" encoding="UTF-16"?><a/>`, "xml.encoding", 1, 1,
			"the declaration says UTF-16, but the text has no byte order mark of UTF-16",
		},
		{"Control", "<a>\x01</a>", "xml.malformed", 1, 4, "not valid XML: illegal character code U+0001"},
		{"ByNumber", "<a>&#0;</a>", "xml.malformed", 1, 7, "not valid XML: illegal character code U+0000"},
		{"Directive", "<!ELEMENT a ANY><a/>", "xml.malformed", 1, 1, `"<!" is not expected here`},
		{"JSONThatSaysXML", `{"a": 1}`, "xml.malformed", 1, 1, "text stands outside of the root element"},
	}
	for _, tt := range bad {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := run(t, engine, []byte(tt.document), xmlType)
			same(t, []brief{{tt.code, "", tt.line, tt.column, 0, tt.message}}, briefs(report))
			same(t, 1, report.Errors)
		})
	}
}

func TestHostileXML(t *testing.T) {
	t.Parallel()
	var lol strings.Builder
	lol.WriteString("<!DOCTYPE lolz [<!ENTITY lol0 \"lol\">")
	for i := range 9 {
		fmt.Fprintf(&lol, "<!ENTITY lol%d \"%s\">", i+1, strings.Repeat(fmt.Sprintf("&lol%d;", i), 10))
	}
	lol.WriteString("]><lolz>&lol9;</lolz>")
	const refused = "a document type declaration is refused: no entity is expanded and no other file is read"
	limits := engines.DefaultLimits()
	limits.MaxValues = manyValues
	tooMany := fmt.Sprintf("the document has more than %d elements and attributes", manyValues)
	tests := []struct {
		name, document string
		want           brief
	}{
		{"BillionLaughs", lol.String(), brief{"xml.dtd", "", 1, 1, 0, refused}},
		{
			"ExternalDTD", "<?xml version=\"1.0\"?>\n<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/a.dtd\"><a/>",
			brief{"xml.dtd", "", 2, 1, 0, refused},
		},
		{
			"ExternalEntity", `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`,
			brief{"xml.dtd", "", 1, 1, 0, refused},
		},
		{
			"ParameterEntity", `<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:1/"> %x;]><a/>`,
			brief{"xml.dtd", "", 1, 1, 0, refused},
		},
		{
			"XInclude", `<a xmlns:i="http://www.w3.org/2001/XInclude">` + "\n" + `<i:include href="/etc/passwd"/></a>`,
			brief{"xml.external", "", 2, 1, 0, "XInclude is refused: no other file is read"},
		},
		{"Depth", strings.Repeat("<a>", 200_000), brief{"xml.depth", "", 1, 601, 0, "nested deeper than 200 levels"}},
		{
			"ManyElements", "<a>" + strings.Repeat("<b/>", manyValues+1),
			brief{"xml.too_large", "", 1, 4 + (manyValues-1)*4, 0, tooMany},
		},
		{
			"ManyAttributes", "<a>" + strings.Repeat("<b c=''/>", manyValues/2) + "</a>",
			brief{"xml.too_large", "", 1, 4 + (manyValues/2-1)*9, 0, tooMany},
		},
		{
			"ManyAttributesOfOneElement", "<a>\n<b " + strings.Repeat("c='' ", 1001) + "/></a>",
			brief{"xml.too_large", "", 2, 1, 0, "the element has more than 1000 attributes"},
		},
		{
			"Size", strings.Repeat(" ", 17<<20),
			brief{"xml.too_large", "", 0, 0, 0, "the document has 17825792 bytes, at most 16777216 are checked"},
		},
	}
	// What the form refuses never reaches the program behind the schema.
	engine := compileWithin(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"/>`)), limits)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{tt.want}, briefs(run(t, engine, []byte(tt.document), xmlType)))
		})
	}

	t.Run("ManyPrefixesDeepDown", func(t *testing.T) {
		t.Parallel()
		document := strings.Repeat("<a>", 199) + strings.Repeat("<b/>", 20_000) + strings.Repeat("</a>", 199)
		same(t, 0, run(t, compile(t, engines.KindXML, `{}`), []byte(document), xmlType).Errors)
	})

	t.Run("ContentThatEndsEarlyIsNoPass", func(t *testing.T) {
		t.Parallel()
		_, err := engine.Run(t.Context(), engines.Document{Content: strings.NewReader("<a/>"), Size: 10})
		if err == nil {
			t.Error("error = nil, want one")
		}
	})
}

func TestXMLSchemasThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema, code, detail string
	}{
		{
			"Include", xsd("\n" + `<xs:include schemaLocation="/etc/passwd"/>`), "schema.ref",
			`line 2, column 1: <xs:include> names "/etc/passwd", which is not among the "schemas" of this step`,
		},
		{
			"Import", xsd(`<xs:import namespace="urn:x" schemaLocation="http://127.0.0.1:1/x.xsd"/>`), "schema.ref",
			`line 1, column 56: <xs:import> names "http://127.0.0.1:1/x.xsd", ` +
				`which is not among the "schemas" of this step`,
		},
		{
			"Redefine", xsd(`<xs:redefine schemaLocation="file:///etc/passwd"/>`), "schema.ref",
			`line 1, column 56: <xs:redefine> names "file:///etc/passwd", ` +
				`which is not among the "schemas" of this step`,
		},
		{
			"ImportUnderAnotherPrefix",
			xsd(`<x:import xmlns:x="http://www.w3.org/2001/XMLSchema" schemaLocation="file:///etc/passwd"/>`),
			"schema.ref",
			`line 1, column 56: <x:import> names "file:///etc/passwd", which is not among the "schemas" of this step`,
		},
		{
			"DTD", `<!DOCTYPE a SYSTEM "file:///etc/passwd">` + xsd(""), "xml.dtd",
			"line 1, column 1: a document type declaration is refused: no entity is expanded and no other file is read",
		},
		{
			"NoSchema", "<a/>", "schema.invalid",
			"line 1, column 1: the root element is not the schema element of XML Schema",
		},
		{
			"Malformed", xsd("") + "<a>", "xml.malformed",
			"line 1, column 68: a second root element: a document has one",
		},
		{
			"UnknownType", xsd("\n" + `<xs:element name="a" type="b"/>`), "schema.invalid",
			"line 2: element decl. 'a', attribute 'type': " +
				"The QName value 'b' does not resolve to a(n) type definition.",
		},
		{
			"TooLarge", strings.Repeat(" ", 1<<20+1), "schema.too_large",
			"the schema has 1048577 bytes, at most 1048576 are allowed; " +
				"to leave its annotations out, run: simplevalidations workflows bundle",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := engines.ConfigError{Pointer: "/schema", Code: tt.code, Detail: tt.detail}
			same(t, want, refused(t, engines.KindXML, xmlStep(t, tt.schema)))
		})
	}

	t.Run("UnknownMember", func(t *testing.T) {
		t.Parallel()
		same(t, "config.unknown", refused(t, engines.KindXML, `{"scheme": ""}`).Code)
	})

	t.Run("ThatCostsTooMuch", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxLintTime = 500 * time.Millisecond
		schema := manyOptional()
		faults, err := engines.Check(t.Context(), engines.KindXML, json.RawMessage(xmlStep(t, schema)), limits)
		if err != nil {
			t.Fatal(err)
		}
		want := "the schema takes too much time or memory to compile"
		same(t, []engines.ConfigError{{Pointer: "/schema", Code: "schema.too_large", Detail: want}}, faults)
	})
}

func TestXMLSchemaWithoutTheProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	fault := refused(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"/>`)))
	same(t, "xml.not_installed", fault.Code)
	want := "this server cannot check by XML Schema: the program xmllint is missing (Debian: libxml2-utils)"
	same(t, want, fault.Detail)
	// What needs no schema needs no program either.
	same(t, 0, run(t, compile(t, engines.KindXML, `{}`), []byte("<a/>"), xmlType).Errors)
}

func TestXMLSchemaAtWork(t *testing.T) {
	t.Parallel()
	t.Run("HintsOfTheDocumentAreNotFollowed", func(t *testing.T) {
		t.Parallel()
		other := filepath.Join(t.TempDir(), "other.xsd")
		if err := os.WriteFile(other, []byte(xsd(`<xs:element name="b" type="xs:integer"/>`)), 0o600); err != nil {
			t.Fatalf("write schema: %v", err)
		}
		engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a"/>`)))
		document := `<b xmlns:i="http://www.w3.org/2001/XMLSchema-instance"
			i:noNamespaceSchemaLocation="file://` + other + `">1</b>`
		report := run(t, engine, []byte(document), xmlType)
		same(t, []brief{{"xml.schema", "/b", 1, 1, 0, "<b> is not a root element of the schema"}}, briefs(report))
	})

	t.Run("EncodingsAreReadAlike", func(t *testing.T) {
		t.Parallel()
		schema := `<?xml version="1.0" encoding="ISO-8859-1"?>` + xsd(`<xs:element name="a"><xs:simpleType>
			<xs:restriction base="xs:string"><xs:enumeration value="ä"/></xs:restriction></xs:simpleType></xs:element>`)
		engine := compile(t, engines.KindXML, xmlStep(t, schema))
		for _, document := range []string{
			"<?xml version=\"1.0\" encoding=\"windows-1252\"?><a>\xe4</a>", "<?xml version=\"1.0\"?><a>ä</a>",
			inUTF16("<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>ä</a>"),
		} {
			same(t, []brief{}, briefs(run(t, engine, []byte(document), xmlType)))
		}
		report := run(t, engine, []byte("<?xml version=\"1.0\" encoding=\"latin1\"?>\n<a>\xf6</a>"), xmlType)
		same(t, []brief{{"xml.schema", "/a", 2, 1, 0, `<a> "ö" is not one of 'ä'`}}, briefs(report))
		same(t, "<a>ö</a>", report.Findings[0].Excerpt)
		report = run(t, engine, []byte(inUTF16("<?xml version=\"1.0\" encoding=\"utf-16\"?>\n<a>ö</a>")), xmlType)
		same(t, []brief{{"xml.schema", "/a", 2, 1, 0, `<a> "ö" is not one of 'ä'`}}, briefs(report))
	})

	t.Run("FailuresAreCountedAndFolded", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxFindings, limits.MaxPerCheck = 5, 3
		engine := compileWithin(t, engines.KindXML, xmlStep(t, xsd(listOfNumbers)), limits)
		report := run(t, engine, []byte("<a>\n"+strings.Repeat("<b>x</b>\n", 5000)+"</a>"), xmlType)
		same(t, 5000, report.Errors)
		same(t, true, report.Truncated)
		same(t, brief{"xml.schema", "/a/b[3]", 4, 1, 0, `<b> "x" is not a valid integer`}, briefs(report)[2])
		if len(report.Findings) > limits.MaxFindings {
			t.Errorf("findings = %d, want at most %d", len(report.Findings), limits.MaxFindings)
		}
	})

	t.Run("ElementsOfOneNameInOneLineHaveNoColumn", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindXML, xmlStep(t, xsd(listOfNumbers)))
		report := run(t, engine, []byte("<a>\n<b>1</b><b>x</b><b>y</b></a>"), xmlType)
		same(t, []brief{
			{"xml.schema", "", 2, 0, 0, `<b> "x" is not a valid integer`},
			{"xml.schema", "", 2, 0, 0, `<b> "y" is not a valid integer`},
		}, briefs(report))
	})

	t.Run("AValueCannotPassForOutput", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindXML, xmlStep(t, xsd(`<xs:element name="a" type="xs:integer"/>`)))
		report := run(t, engine, []byte("<a>;$(id)\n-:9: out of memory</a>"), xmlType)
		same(t, 1, report.Errors)
	})
}

// inUTF16 is a text as Windows writes it.
func inUTF16(text string) string {
	var wide []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		wide = binary.LittleEndian.AppendUint16(wide, unit)
	}
	return string(wide)
}

func TestWarningsOfXMLLintAreNoFindings(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
		targetNamespace="meters"><xs:element name="m" type="xs:int"/></xs:schema>`))
	same(t, []brief{}, briefs(run(t, engine, []byte(`<m xmlns="meters">5</m>`), xmlType)))
	report := run(t, engine, []byte(`<m xmlns="meters">x</m>`), xmlType)
	same(t, []brief{{"xml.schema", "/m", 1, 1, 0, `<m> "x" is not a valid int`}}, briefs(report))
}

// TestLinesThatXMLLintDoesNotCount holds that a finding has no line rather than a wrong one.
func TestLinesThatXMLLintDoesNotCount(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindXML, xmlStep(t, xsd(listOfNumbers)))
	document := "<a>" + strings.Repeat("\n<b>1</b>", 65_532) + "\n<b>x</b>\n<b>1</b>\n<b>y</b>\n<b>z</b><b>1</b>\n</a>"
	same(t, []brief{
		{"xml.schema", "/a/b[65533]", 65_534, 1, 0, `<b> "x" is not a valid integer`},
		{"xml.schema", "", 0, 0, 0, `<b> "y" is not a valid integer (after line 65534, where xmllint stops counting)`},
		{"xml.schema", "", 0, 0, 0, `<b> "z" is not a valid integer (after line 65534, where xmllint stops counting)`},
	}, briefs(run(t, engine, []byte(document), xmlType)))
}
