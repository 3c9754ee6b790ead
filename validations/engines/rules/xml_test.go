package rules_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const buildingXML = `<?xml version="1.0" encoding="UTF-8"?>
<building xmlns="urn:b" xmlns:x="urn:x" id="B-1" x:year = '2062'>
  <!-- zones -->
  <zone id="Z1"><area unit="m2"> 320.0 </area></zone>
  <zone id="Z2"><area unit="ft2">740.5</area><note>big &amp; <![CDATA[<old>]]></note></zone>
  <zone id="Z2"/>
  <site><x:city>Kiel</x:city></site>
  <open>true</open>
  <empty/>
  <size>+7.50</size><size>007</size><size>.5</size>
</building>`

func TestRulesOnXML(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rule string
		want       []brief
	}{
		{"Attribute", `"path": "/building/@id", "operator": "eq", "value": "B-2"`, []brief{
			{"rule.r", "/building/@id", 2, 41, 0, `"B-1" is not "B-2"`},
		}},
		{"AttributeWithPrefix", `"path": "/building/@x:year", "operator": "le", "value": 2030`, []brief{
			{"rule.r", "/building/@x:year", 2, 50, 0, `2062 is more than 2030`},
		}},
		{"Declarations", `"path": "/building/@xmlns", "operator": "not_null"`, []brief{
			{"rule.r", "/building/@xmlns", 2, 1, 0, "missing"},
		}},
		{"TextWithAttributes", `"path": "/building/zone/*/area/#text", "operator": "lt", "value": 500`, []brief{
			{"rule.r", "/building/zone/1/area/#text", 5, 34, 0, "740.5 is not less than 500"},
			{"rule.r", "/building/zone/2/area", 6, 3, 0, "missing"},
		}},
		{"TextOfALeaf", `"path": "/building/zone/1/note", "operator": "eq", "value": "big"`, []brief{
			{"rule.r", "/building/zone/1/note", 5, 46, 0, `"big & <old>" is not "big"`},
		}},
		{"NumberAsItIsWritten", `"path": "/building/zone/0/area/#text", "operator": "eq", "value": 3.2e2`, []brief{}},
		{"TextAsItIsWritten", `"path": "/building/zone/0/area/#text", "operator": "ne", "value": "320.0"`, []brief{
			{"rule.r", "/building/zone/0/area/#text", 4, 34, 0, "320.0 is not allowed"},
		}},
		{"NumberWithASign", `"path": "/building/size/0", "operator": "eq", "value": 7.5`, []brief{}},
		{"NumberWithZeros", `"path": "/building/size/1", "operator": "gt", "value": 7`, []brief{
			{"rule.r", "/building/size/1", 10, 21, 0, "007 is not more than 7"},
		}},
		{"NumberWithoutWholes", `"path": "/building/size/2", "operator": "between", "value": [0.5, 0.5]`, []brief{}},
		{"NumberInExpressions", `"path": "/building/size", "assert": "value.sum() == 15"`, []brief{}},
		{"NoNumber", `"path": "/building/site/x:city", "operator": "gt", "value": 1`, []brief{{
			"rule.r", "/building/site/x:city", 7, 9, 0, `not evaluated: wants a number, found the string "Kiel"`,
		}}},
		{"Truth", `"path": "/building/open", "operator": "eq", "value": true`, []brief{}},
		{"TypeOfText", `"path": "/building/open", "operator": "type_is", "value": "boolean"`, []brief{}},
		{"TypeOfNumber", `"path": "/building/@x:year", "operator": "type_is", "value": "integer"`, []brief{}},
		{"OnlyOneIsEach", `"path": "/building/site/*/x:city/*", "operator": "eq", "value": "Kiel"`, []brief{}},
		{"OnlyOneIsAList", `"path": "/building/site", "operator": "all",
			"value": {"path": "/x:city", "operator": "eq", "value": "Kiel"}`, []brief{}},
		{"Empty", `"path": "/building/empty", "operator": "is_empty"`, []brief{}},
		{"Unique", `"path": "/building/zone", "operator": "unique", "value": "/@id"`, []brief{
			{"rule.r", "/building/zone/2/@id", 6, 9, 0, "element 2 equals element 1"},
		}},
		{"Members", `"path": "/building", "operator": "len_eq", "value": 0`, []brief{
			{"rule.r", "/building", 2, 1, 0, "has 7 members, not 0"},
		}},
		{"Expression", `"path": "/building",
			"assert": "sum(value.zone.map(z, double(z.?area[?'#text'].orValue('0')))) < 1.0",
			"message": "{sum(value.zone.map(z, double(z.?area[?'#text'].orValue('0'))))} m2"`, []brief{
			{"rule.r", "/building", 2, 1, 0, "1060.5 m2"},
		}},
		{"ExpressionOnOne", `"assert": "each(doc.building.site).all(s, s['x:city'] == 'Kiel')"`, []brief{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindRules, oneRule(tt.rule))
			same(t, tt.want, briefs(run(t, engine, []byte(buildingXML), "application/xml")))
		})
	}
	t.Run("ByTheNameOfTheFile", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindRules, oneRule(`"path": "/a", "operator": "eq", "value": "b"`))
		doc := engines.NewDocument([]byte("<a>b</a>"), "application/octet-stream", "A.XML")
		report, err := engine.Run(t.Context(), doc)
		if err != nil || len(report.Findings) > 0 {
			t.Errorf("report = %+v with %v, want no findings", report, err)
		}
	})
	t.Run("SchemasDoNotReadIt", func(t *testing.T) {
		t.Parallel()
		report := run(t, compile(t, engines.KindJSONSchema, `{"schema": {}}`), []byte("<a/>"), "application/xml")
		same(t, "json.malformed", report.Findings[0].Code)
	})
}

// What is refused of XML is the same as xml.TestHostileXML and xml.TestWellFormedness show.
func TestHostileXMLOfRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, document string
		want           brief
	}{
		{
			"BillionLaughs", `<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>`,
			brief{
				"xml.dtd", "", 1, 1, 0,
				"a document type declaration is refused: no entity is expanded and no other file is read",
			},
		},
		{
			"Open", "<a>\n<b>",
			brief{"xml.malformed", "", 2, 4, 0, "the document ends too early: <b> of line 2 is not closed"},
		},
		{"TypeIsALie", "{}", brief{"xml.malformed", "", 1, 1, 0, "text stands outside of the root element"}},
	}
	engine := compile(t, engines.KindRules, oneRule(`"operator": "not_null"`))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{tt.want}, briefs(run(t, engine, []byte(tt.document), "text/xml")))
		})
	}
	t.Run("ManyElements", func(t *testing.T) {
		t.Parallel()
		limits := engines.DefaultLimits()
		limits.MaxValues = manyValues
		bounded := compileWithin(t, engines.KindRules, oneRule(`"operator": "not_null"`), limits)
		report := run(t, bounded, []byte("<a>"+strings.Repeat("<b/>", manyValues+1)+"</a>"), "text/xml")
		same(t, "xml.too_large", report.Findings[0].Code)
	})
	t.Run("OtherEncodingKeepsPlaces", func(t *testing.T) {
		t.Parallel()
		latin := "<?xml version='1.0' encoding='iso-8859-1'?>\n<a>\xe4\xe4<b>\xf6</b></a>"
		engine := compile(t, engines.KindRules, oneRule(`"path": "/a/b", "operator": "is_empty"`))
		report := run(t, engine, []byte(latin), "text/xml")
		same(t, []brief{{"rule.r", "/a/b", 2, 6, 0, `"ö" is not empty`}}, briefs(report))
		same(t, "<a>ää<b>ö</b></a>", report.Findings[0].Excerpt)
	})
}
